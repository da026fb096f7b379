// SPDX-License-Identifier: Apache-2.0

//! `mount -o remount`, by the words that `mount(8)` says to our helper.

use nyala_e2e::cluster::text;
use nyala_e2e::run::Outcome;
use nyala_e2e::{Cluster, Mounts, beside_others, run, shared, wait_until};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// As `mount(8)` calls it: the options that the table of mounts shows, and those that are asked for.
fn remount(cluster: &Cluster, point: &Path, options: &str) -> Outcome {
    let helper = cluster.root().join("mount.fuse.nyala");
    if !helper.exists() {
        std::os::unix::fs::symlink(nyala_e2e::binary::nyala(), &helper).unwrap();
    }
    let kernels = "user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576";
    let options = format!("{options},remount,{kernels}");
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let mut command = Command::new(helper);
    run(command.args([&source, &text(point), "-o", &options, "-t", "fuse.nyala"]), Duration::from_secs(30))
}

fn shown(point: &Path) -> String {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let at = format!(" {} ", text(point));
    table.lines().rfind(|line| line.contains(&at)).unwrap().to_owned()
}

/// A file's access time as another mount sees it.
fn access_time(path: &Path) -> (i64, i64) {
    fs::metadata(path).map(|meta| (meta.atime(), meta.atime_nsec())).unwrap()
}

#[test]
fn e2e_remount_access_times_follow_the_flags() {
    let _one = beside_others();
    let cluster = shared();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let point = mounts.add("");
    cluster.test_dir("remount-times");
    let elsewhere = cluster.mount().join("remount-times/f");
    for (flags, renews) in [("rw,noatime", false), ("rw,relatime", true), ("ro,relatime", false), ("rw,relatime", true)]
    {
        fs::write(&elsewhere, flags).unwrap();
        let before = access_time(&elsewhere);
        wait_until(
            Duration::from_secs(5),
            || remount(&cluster, &point, flags).ok(),
            || "nobody writes any more".to_owned(),
        );
        // The kernel tells the client a moment later; the client tells the server when the file is closed.
        let moment = Duration::from_secs(1);
        // sleeps: the kernel tells the client of new flags a moment later
        std::thread::sleep(moment);
        assert_eq!(fs::read(point.join("remount-times/f")).unwrap(), flags.as_bytes());
        let (began, longest) = (Instant::now(), if renews { Duration::from_secs(20) } else { moment });
        while began.elapsed() < longest && access_time(&elsewhere) == before {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(access_time(&elsewhere) != before, renews, "{flags}");
    }
}

#[test]
fn e2e_remount_read_only_holds() {
    let _one = beside_others();
    let cluster = shared();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let point = mounts.add("");
    cluster.test_dir("remount");
    let path = point.join("remount/f");
    fs::write(&path, b"before").unwrap();

    let writer = File::options().write(true).open(&path).unwrap();
    let refused = remount(&cluster, &point, "ro,relatime");
    assert!(!refused.ok() && refused.err.contains("open for writing"), "{}", refused.describe());
    drop(writer);
    fs::write(&path, b"again").unwrap();
    // The kernel counts a writer until the file's release has begun.
    wait_until(
        Duration::from_secs(5),
        || remount(&cluster, &point, "ro,relatime").ok(),
        || "nobody writes any more".to_owned(),
    );
    let error = |result: std::io::Result<()>| result.err().and_then(|error| error.raw_os_error());
    assert_eq!(error(fs::write(&path, b"x")), Some(libc::EROFS));
    assert_eq!(error(fs::create_dir(point.join("remount/d"))), Some(libc::EROFS));
    assert_eq!(error(fs::remove_file(&path)), Some(libc::EROFS));
    assert!(shown(&point).contains(" ro,"), "{}", shown(&point));
    let times = |path: &Path| fs::metadata(path).map(|meta| (meta.atime(), meta.atime_nsec())).unwrap();
    let mut got = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut got).unwrap();
    assert_eq!(got, b"again");

    remount(&cluster, &point, "rw,nodiratime").must();
    assert!(shown(&point).contains(" rw,nodiratime,relatime "), "{}", shown(&point));
    let before = times(&path);
    fs::write(&path, b"after").unwrap();
    File::open(&path).unwrap().read_to_end(&mut got).unwrap();
    assert!(times(&path) > before, "access times of files are kept");
    assert_eq!(fs::read(cluster.mount().join("remount/f")).unwrap(), b"after");

    let unknown = remount(&cluster, &point, "r0");
    assert!(!unknown.ok() && unknown.err.contains("r0"), "{}", unknown.describe());
    let nothing = remount(&cluster, &cluster.root().join("nothing"), "ro");
    assert!(!nothing.ok() && nothing.err.contains("not a nyala mount"), "{}", nothing.describe());
    let added = mounts.add(",nodiratime");
    assert!(shown(&added).contains(" rw,nodiratime,relatime "), "{}", shown(&added));
}

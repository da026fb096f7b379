// SPDX-License-Identifier: Apache-2.0

//! How many requests to metadata programs cost that unpack, copy, list and remove many small files. Each is a round trip that a program
//! waits for, but for the content of closed files, which goes out with that of others.

use nyala_e2e::{Cluster, Mounts, Options, alone};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

const DIRS: u64 = 10;
const FILES: u64 = 400;

type Ops = BTreeMap<String, u64>;

fn make(dir: &Path) {
    for number in 0..FILES {
        let sub = dir.join(format!("d{}", number % DIRS));
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join(format!("f{number}")), vec![number as u8; 500 + number as usize]).unwrap();
    }
}

/// Requests that the metadata servers have answered, by operation.
fn ops(cluster: &Cluster) -> Ops {
    let stats = cluster.json(&["stats", "server"]);
    let servers = stats.as_object().unwrap_or_else(|| panic!("{stats}"));
    let mut all = Ops::new();
    for (_, server) in servers.iter().filter(|(name, _)| name.starts_with("meta")) {
        // One that was asked nothing yet has none.
        for (name, count) in server["ops"].as_object().into_iter().flatten() {
            *all.entry(name.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    all
}

/// Runs a program; the requests that clients waited for meanwhile, and those by operation.
fn requests(cluster: &Cluster, program: &str, args: &[&str]) -> (u64, Ops) {
    requests_of(cluster, program, || {
        let status = Command::new(program).args(args).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{program} {args:?}");
    })
}

fn requests_of(cluster: &Cluster, program: &str, work: impl FnOnce()) -> (u64, Ops) {
    let before = ops(cluster);
    work();
    let mut after = ops(cluster);
    after.retain(|name, count| {
        *count -= before.get(name).copied().unwrap_or(0);
        *count > 0
            && !name.starts_with("delegation")
            && !name.starts_with("session")
            && name != "ping"
            && name != "stats"
    });
    let waited = after.iter().filter(|(name, _)| *name != "put_inlines").map(|(_, count)| count).sum();
    eprintln!("{program}: {:.2} requests a file, {after:?}", waited as f64 / FILES as f64);
    (waited, after)
}

#[test]
fn e2e_round_trips_of_programs_that_make_and_remove_small_files() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 1, ..Options::default() });
    let (local, dir) = (tempfile::tempdir().unwrap(), cluster.test_dir("round_trips"));
    make(&local.path().join("tree"));
    let (archive, tree) = (local.path().join("a.tar"), local.path().join("tree"));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let tar = Command::new("tar").args(["-cf", &path(&archive), "-C", &path(&tree), "."]).status().unwrap();
    assert!(tar.success());
    let names = FILES + DIRS;
    // Directories get their mode and times when all in them is there.
    let (unpacked, by) = requests(&cluster, "tar", &["-xpf", &path(&archive), "-C", &path(&dir)]);
    assert_eq!((by["create"], by.get("put_inline")), (FILES, None), "{by:?}");
    assert!(unpacked <= names * 5 / 4, "{unpacked}: {by:?}");
    let (copied, by) = requests(&cluster, "cp", &["-a", &path(&tree), &path(&dir.join("copy"))]);
    assert!(copied <= names * 5 / 4, "{copied}: {by:?}");
    let same = Command::new("diff").args(["-r", &path(&tree), &path(&dir.join("copy"))]).status().unwrap();
    assert!(same.success());
    programs_that_look(&cluster, &dir);
    let (removed, by) = requests(&cluster, "rm", &["-r", &path(&dir.join("copy"))]);
    assert_eq!((by["unlink"], by["rmdir"]), (FILES, DIRS + 1), "{by:?}");
    assert!(removed <= names * 5 / 4, "{removed}: {by:?}");
}

/// Programs that look through a tree: where it was made, from two mounts that have seen nothing of it, and from one of them again.
/// The attributes of the directory above come with the answer also where two servers had to do it.
#[test]
fn e2e_directories_of_another_server_cost_one_request_each() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 2, ..Options::default() });
    let dir = cluster.test_dir("dirs");
    let each = |work: fn(&Path) -> std::io::Result<()>| {
        for number in 0..200 {
            work(&dir.join(number.to_string())).unwrap();
        }
    };
    let (waited, by) = requests_of(&cluster, "mkdir", || each(|path| fs::create_dir(path)));
    assert!(waited <= 210, "{by:?}");
    let slots = (0..200).map(|number| fs::metadata(dir.join(number.to_string())).unwrap().ino() >> 48);
    let number = slots.collect::<std::collections::BTreeSet<_>>().len();
    assert!(number > 1, "all in one slot");
    // Whoever looks into a directory holds it.
    each(|path| fs::read_dir(path).map(|mut entries| assert!(entries.next().is_none())));
    let returned = || ops(&cluster).get("delegation_return").copied().unwrap_or(0);
    let before = returned();
    let (waited, by) = requests_of(&cluster, "rmdir", || each(|path| fs::remove_dir(path)));
    assert!(waited <= 210, "{by:?}");
    let back = returned() - before;
    assert!(back <= 10, "{back} times something was given back before a directory was removed");
}

fn programs_that_look(cluster: &Cluster, dir: &Path) {
    let mut mounts = Mounts::new(cluster, 1, "");
    let [other, cold] = ["", ""].map(|options| mounts.add(options).join("round_trips"));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    // Of what was made here no listing was asked for yet.
    let dirs = 2 * (DIRS + 1);
    // What the mount that made it holds for itself alone is asked for file by file.
    let files = 2 * FILES + 3 * dirs;
    let all =
        [(dir, "made here", dirs), (&other, "made elsewhere", files), (&cold, "cold", 3 * dirs), (&cold, "again", 0)];
    for (dir, times, most) in all {
        for (program, args) in [
            ("find", vec![path(dir), "-newermt".into(), "2100-01-01".into()]),
            ("du", vec!["-s".into(), path(dir)]),
            ("ls", vec!["-lR".into(), path(dir)]),
        ] {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let (waited, by) = requests(cluster, program, &args);
            let most = if program == "find" { most } else { 0 };
            assert!(waited <= most, "{program}, {times}: {waited} requests, {by:?}");
            assert_eq!(by.get("get_parent"), None, "{program}, {times}: the directory above is known");
        }
    }
    // Known as long as nobody moves the directory.
    let inode = |dir: &Path| fs::metadata(dir).unwrap().ino();
    assert_eq!(above(&cold.join("d0")), inode(&cold));
    fs::rename(dir.join("d0"), dir.join("d1/d0")).unwrap();
    assert_eq!(above(&cold.join("d1/d0")), inode(&cold.join("d1")));
    fs::rename(dir.join("d1/d0"), dir.join("d0")).unwrap();
    assert_eq!(above(&cold.join("d0")), inode(&cold));
}

/// The inode that a directory's listing has for `..`.
fn above(dir: &Path) -> u64 {
    let listing = rustix::fs::Dir::read_from(fs::File::open(dir).unwrap()).unwrap();
    let mut entries = listing.map(Result::unwrap);
    entries.find(|entry| entry.file_name() == c"..").unwrap().ino()
}

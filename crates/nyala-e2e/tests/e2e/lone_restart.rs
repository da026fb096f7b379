// SPDX-License-Identifier: Apache-2.0

//! A metadata server that is not mirrored dies together with a client, and is started again while others work.

use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Mounts, Options, alone, cleanup};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn slot(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino() >> 48
}

/// Directories in slots of their own.
fn apart(parent: &Path) -> [PathBuf; 2] {
    let all: Vec<PathBuf> = (0..20).map(|number| parent.join(format!("d{number}"))).collect();
    all.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let other = all.iter().find(|dir| slot(dir) != slot(&all[0]) && slot(dir) != slot(parent));
    [all[0].clone(), other.unwrap_or_else(|| panic!("all in one slot: {}", text(parent))).clone()]
}

#[test]
fn e2e_a_client_that_dies_with_a_server_is_waited_for_only_where_it_worked() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 1, ..Options::default() });
    let mounts = Mounts::new(&cluster, 2, "");
    let parents = mounts.test_dirs("lone");
    let [mine, its] = apart(&parents[0]);
    let its_name = its.file_name().unwrap().to_owned();
    let mut open = File::create(parents[1].join(&its_name).join("open")).unwrap();
    open.write_all(&[7; 100]).unwrap();
    // sleeps: the server writes down every 5 s that it knows of all that clients hold
    std::thread::sleep(Duration::from_secs(7));

    cleanup::signal(mounts.pid(&cluster.root().join("mnt-1")), libc::SIGKILL);
    cluster.kill("meta1");
    cluster.start_service("meta1");
    let began = Instant::now();
    for number in 0..20 {
        let made = mine.join(format!("made{number}"));
        fs::create_dir(&made).unwrap();
        fs::write(made.join("file"), b"content").unwrap();
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(12), "they waited for the dead one: {took:?}\n{}", cluster.logs(40));
    let size = fs::metadata(its.join("open")).unwrap().len();
    let took = began.elapsed();
    assert!(size == 0 || size == 100, "{size}");
    assert!(took > Duration::from_secs(15), "what it may have written was shown before its session ended: {took:?}");
    drop(open);
    drop(mounts);
    cluster.assert_fsck_clean();
}

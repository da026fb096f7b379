// SPDX-License-Identifier: Apache-2.0

//! What changes by itself: access and birth times, counts of links and blocks.

use super::{Check, pattern};
use crate::sys;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

pub(super) const CHECKS: &[Check] =
    &[("relatime", relatime), ("birth_time", birth_time), ("link_counts", link_counts), ("block_counts", block_counts)];

fn relatime(dir: &Path) {
    let path = dir.join("f");
    fs::write(&path, pattern(1, 100_000)).unwrap();
    let atime = || fs::metadata(&path).unwrap().atime();
    let read = |flags: i32| {
        let mut all = Vec::new();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&path).unwrap();
        file.read_to_end(&mut all).unwrap();
    };
    let two_days_ago = fs::metadata(&path).unwrap().mtime() - 2 * 86_400;
    sys::utimens(&path, (two_days_ago, 0), (0, libc::UTIME_OMIT), true).unwrap();
    read(libc::O_NOATIME);
    // sleeps: nothing is to happen in that time
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(atime(), two_days_ago, "O_NOATIME");
    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let open_atime = |file: &File| file.metadata().map(|meta| (meta.atime(), meta.atime_nsec())).unwrap();
    assert_eq!(file.read(&mut [0; 10]).unwrap(), 10);
    let first = open_atime(&file);
    assert!(first.0 > two_days_ago, "reading sets the access time, and it is seen at once");
    assert_eq!(atime(), first.0, "by path too");
    drop(file);
    assert_eq!(fs::metadata(&path).map(|meta| (meta.atime(), meta.atime_nsec())).unwrap(), first, "it stays");
    // sleeps: nothing is to happen in that time
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(fs::metadata(&path).map(|meta| (meta.atime(), meta.atime_nsec())).unwrap(), first, "for good");
    let hour_ago = fs::metadata(&path).unwrap().mtime() + 5;
    sys::utimens(&path, (hour_ago, 7), (hour_ago - 3600, 0), true).unwrap();
    // sleeps: times before and after differ by more than a clock of the kernel ticks
    std::thread::sleep(Duration::from_millis(20));
    let ctime = fs::metadata(&path).unwrap().ctime();
    if ctime < hour_ago {
        read(0);
        // sleeps: nothing is to happen in that time
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fs::metadata(&path).unwrap().atime_nsec(), 7, "read since it was changed, and today: it stays");
    }
}

fn birth_time(dir: &Path) {
    let (path, moved) = (dir.join("f"), dir.join("g"));
    fs::write(&path, b"x").unwrap();
    let born = fs::metadata(&path).unwrap().created().unwrap();
    assert!(born.elapsed().map_or(0, |age| age.as_secs()) < 60);
    // sleeps: times before and after differ by more than a clock of the kernel ticks
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&path, pattern(1, 50_000)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    sys::utimens(&path, (1, 1), (2, 2), true).unwrap();
    fs::rename(&path, &moved).unwrap();
    assert_eq!(fs::metadata(&moved).unwrap().created().unwrap(), born, "nothing changes the time of birth");
    fs::create_dir(dir.join("d")).unwrap();
    assert!(fs::metadata(dir.join("d")).unwrap().created().unwrap() >= born);
}

fn link_counts(dir: &Path) {
    let links = |path: &Path| fs::metadata(path).unwrap().nlink();
    let own = dir.join("d");
    fs::create_dir(&own).unwrap();
    assert_eq!(links(&own), 2);
    for number in 0..3 {
        fs::create_dir(own.join(format!("d{number}"))).unwrap();
        fs::write(own.join(format!("f{number}")), b"x").unwrap();
    }
    assert_eq!(links(&own), 5, "one for each directory below");
    fs::rename(own.join("d0"), dir.join("away")).unwrap();
    fs::remove_dir(own.join("d1")).unwrap();
    assert_eq!(links(&own), 3);
    let file = File::open(own.join("f0")).unwrap();
    sys::link(&own.join("f0"), &dir.join("other")).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 2, "also across directories");
    fs::remove_file(own.join("f0")).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 1);
    fs::remove_file(dir.join("other")).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 0, "open, without a name");
}

/// `st_blocks` counts what is there, not what the size says.
fn block_counts(dir: &Path) {
    const MIB: u64 = 1 << 20;
    let path = dir.join("f");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let bytes = || fs::metadata(&path).unwrap().blocks() * 512;
    assert_eq!(bytes(), 0);
    file.write_all_at(&pattern(1, 4 * MIB as usize), 0).unwrap();
    file.sync_all().unwrap();
    assert!((4 * MIB..6 * MIB).contains(&bytes()), "{} for 4 MiB", bytes());
    file.set_len(1 << 40).unwrap();
    file.write_all_at(b"end", (1 << 40) - 3).unwrap();
    file.sync_all().unwrap();
    assert!((4 * MIB..7 * MIB).contains(&bytes()), "{} for 4 MiB in a terabyte of holes", bytes());
    sys::fallocate(&file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, 0, 3 * MIB as i64).unwrap();
    file.sync_all().unwrap();
    assert!((MIB..4 * MIB).contains(&bytes()), "{} for 1 MiB left", bytes());
    file.set_len(0).unwrap();
    file.sync_all().unwrap();
    assert!(bytes() < MIB, "{} for nothing", bytes());
}

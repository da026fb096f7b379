// SPDX-License-Identifier: Apache-2.0

//! What changes by itself: setuid and setgid bits, access and birth times, counts of links and blocks.

use super::{Check, as_user, pattern};
use crate::sys;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const CHECKS: &[Check] = &[
    ("setid_bits", setid_bits),
    ("file_capabilities", file_capabilities),
    ("relatime", relatime),
    ("birth_time", birth_time),
    ("link_counts", link_counts),
    ("block_counts", block_counts),
];

const NOBODY: u32 = 65_534;

fn setid_bits(dir: &Path) {
    super::open_the_way(dir);
    let path = dir.join("f");
    fs::write(&path, pattern(1, 50_000)).unwrap();
    fs::write(dir.join("source"), pattern(2, 9000)).unwrap();
    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    let (name, source) = (path.display(), dir.join("source").display().to_string());
    let set = |perm| fs::set_permissions(&path, Permissions::from_mode(perm)).unwrap();
    let now = || fs::metadata(&path).unwrap().mode() & 0o7777;
    // What users do; setgid without the group's right to execute goes only for those outside the group.
    for (what, script) in [
        ("write", format!("echo x >> '{name}'")),
        ("truncate", format!("truncate -s 40000 '{name}'")),
        ("fallocate", format!("fallocate -l 60000 '{name}'")),
        ("punch", format!("fallocate -p -o 100 -l 5000 '{name}'")),
        ("copy", format!("cp '{source}' '{name}'")),
        ("chgrp", format!("chgrp {NOBODY} '{name}'")),
    ] {
        for (before, after) in [(0o6755, 0o755), (0o4711, 0o711)] {
            set(before);
            assert!(as_user(NOBODY, NOBODY, &script), "{what}");
            assert_eq!(now(), after, "{what}: {before:o} became {:o}", now());
        }
        for (gid, before, after) in [(NOBODY, 0o6766, 0o2766), (1, 0o6766, 0o766), (1, 0o2660, 0o660)] {
            // The group's members give it to their group, others cannot.
            if what == "chgrp" {
                continue;
            }
            set(before);
            assert!(as_user(NOBODY, gid, &script), "{what}");
            assert_eq!(now(), after, "{what} by group {gid}: {before:o} became {:o}", now());
        }
    }
    for (before, after) in [(0o6755, 0o755), (0o6745, 0o2745)] {
        set(before);
        chown(&path, None, None).unwrap();
        assert_eq!(now(), after, "a chown that names nobody");
    }
    set(0o6755);
    chown(&path, Some(1), Some(NOBODY)).unwrap();
    assert_eq!(now(), 0o755, "a new owner, given by root");
    set(0o6755);
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 5).unwrap();
    assert_eq!(now(), 0o6755, "root's writes take nothing away");
}

/// Whoever writes, and however: capabilities go.
fn file_capabilities(dir: &Path) {
    const NAME: &str = "security.capability";
    // Version 2, CAP_NET_BIND_SERVICE permitted.
    let mut capability = 0x0200_0001_u32.to_le_bytes().to_vec();
    capability.extend((1_u32 << 10).to_le_bytes());
    capability.extend([0; 12]);
    let path = dir.join("f");
    fs::write(&path, pattern(1, 8192)).unwrap();
    let give = || sys::setxattr(&path, NAME, &capability, 0).unwrap();
    let gone = |what: &str| {
        let error = sys::getxattr(&path, NAME).expect_err(what);
        assert_eq!(error.raw_os_error(), Some(libc::ENODATA), "{what}");
    };
    for (what, read, flags) in [
        ("O_WRONLY", false, 0),
        ("O_RDWR", true, 0),
        ("O_APPEND", false, libc::O_APPEND),
        ("O_RDWR and O_APPEND", true, libc::O_APPEND),
        ("O_SYNC", false, libc::O_SYNC),
    ] {
        give();
        let mut file = OpenOptions::new().read(read).write(true).custom_flags(flags).open(&path).unwrap();
        sys::getxattr(&path, NAME).expect("opening takes nothing away");
        file.write_all(b"x").unwrap();
        gone(what);
        // Given anew while it is open.
        give();
        file.write_all(b"x").unwrap();
        gone(what);
    }
    give();
    fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    gone("truncate");
}

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
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(atime(), two_days_ago, "O_NOATIME");
    read(0);
    let began = Instant::now();
    while atime() == two_days_ago {
        assert!(began.elapsed() < Duration::from_secs(5), "reading sets the access time");
        std::thread::sleep(Duration::from_millis(20));
    }
    let hour_ago = fs::metadata(&path).unwrap().mtime() + 5;
    sys::utimens(&path, (hour_ago, 7), (hour_ago - 3600, 0), true).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let ctime = fs::metadata(&path).unwrap().ctime();
    if ctime < hour_ago {
        read(0);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fs::metadata(&path).unwrap().atime_nsec(), 7, "read since it was changed, and today: it stays");
    }
}

fn birth_time(dir: &Path) {
    let (path, moved) = (dir.join("f"), dir.join("g"));
    fs::write(&path, b"x").unwrap();
    let born = fs::metadata(&path).unwrap().created().unwrap();
    assert!(born.elapsed().map_or(0, |age| age.as_secs()) < 60);
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

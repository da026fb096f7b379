// SPDX-License-Identifier: Apache-2.0

//! Modes, owners, times, permissions, extended attributes.

use super::{Check, as_user, pattern, refused};
use crate::sys;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

pub(super) const CHECKS: &[Check] = &[
    ("chmod_and_chown", chmod_and_chown),
    ("times", times),
    ("set_times", set_times),
    ("permissions_of_others", permissions_of_others),
    ("extended_attributes", extended_attributes),
];

fn chmod_and_chown(dir: &Path) {
    let path = dir.join("f");
    fs::write(&path, b"x").unwrap();
    for mode in [0o777, 0o000, 0o644, 0o4755, 0o2755, 0o1777] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    chown(&path, Some(12_345), Some(23_456)).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid()), (12_345, 23_456));
    chown(&path, None, Some(7)).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid()), (12_345, 7));
    symlink("f", dir.join("s")).unwrap();
    lchown(dir.join("s"), Some(99), Some(98)).unwrap();
    let (link, file) = (fs::symlink_metadata(dir.join("s")).unwrap(), fs::metadata(&path).unwrap());
    assert_eq!((link.uid(), link.gid(), file.uid()), (99, 98, 12_345));
    fs::create_dir(dir.join("shared")).unwrap();
    chown(dir.join("shared"), None, Some(4242)).unwrap();
    fs::set_permissions(dir.join("shared"), Permissions::from_mode(0o2775)).unwrap();
    fs::write(dir.join("shared/f"), b"x").unwrap();
    fs::create_dir(dir.join("shared/d")).unwrap();
    assert_eq!(fs::metadata(dir.join("shared/f")).unwrap().gid(), 4242, "setgid directories give their group");
    let below = fs::metadata(dir.join("shared/d")).unwrap();
    assert_eq!((below.gid(), below.mode() & 0o2000), (4242, 0o2000), "and pass the bit on to directories");
}

/// (modification, change) time in nanoseconds.
fn stamps(path: &Path) -> (i128, i128) {
    let meta = fs::symlink_metadata(path).unwrap();
    let ns = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    (ns(meta.mtime(), meta.mtime_nsec()), ns(meta.ctime(), meta.ctime_nsec()))
}

fn times(dir: &Path) {
    let path = dir.join("f");
    // sleeps: times before and after differ by more than a clock of the kernel ticks
    let pause = || std::thread::sleep(Duration::from_millis(15));
    let before_all = SystemTime::now();
    fs::write(&path, b"x").unwrap();
    let age = fs::metadata(&path).unwrap().modified().unwrap().duration_since(before_all);
    assert!(age.map_or_else(|e| e.duration() < Duration::from_millis(50), |age| age < Duration::from_secs(5)));
    let (mut file, mut parent) = (stamps(&path), stamps(dir));
    let mut after = |what: &str, data: bool, meta: bool, entry: bool| {
        let (now, up) = (stamps(&path), stamps(dir));
        assert_eq!(now.0 > file.0, data, "{what}: modification time of the file");
        assert_eq!(now.1 > file.1, meta, "{what}: change time of the file");
        assert_eq!(up.0 > parent.0 && up.1 > parent.1, entry, "{what}: times of the directory");
        (file, parent) = (now, up);
        pause();
    };
    pause();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    after("write", true, true, false);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    after("chmod", false, true, false);
    sys::link(&path, &dir.join("l")).unwrap();
    after("link", false, true, true);
    fs::rename(dir.join("l"), dir.join("m")).unwrap();
    after("rename", false, true, true);
    fs::remove_file(dir.join("m")).unwrap();
    after("unlink", false, true, true);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(2).unwrap();
    after("truncate", true, true, false);
    fs::create_dir(dir.join("d")).unwrap();
    after("mkdir beside", false, false, true);
    fs::read(&path).unwrap();
    after("read", false, false, false);
    sys::setxattr(&path, "user.a", b"1", 0).unwrap();
    after("setxattr", false, true, false);
}

fn set_times(dir: &Path) {
    let path = dir.join("f");
    fs::write(&path, b"x").unwrap();
    let both = |path: &Path| {
        let meta = fs::symlink_metadata(path).unwrap();
        ((meta.atime(), meta.atime_nsec()), (meta.mtime(), meta.mtime_nsec()))
    };
    for (atime, mtime) in [
        ((1_000_000_000, 123_456_789), (1_500_000_000, 987_654_321)),
        ((0, 1), (2_500_000_000, 999_999_999)),
        ((-5, 7), (-1_000_000, 1)),
    ] {
        sys::utimens(&path, atime, mtime, true).unwrap();
        assert_eq!(both(&path), (atime, mtime));
    }
    sys::utimens(&path, (77, 77), (0, libc::UTIME_OMIT), true).unwrap();
    assert_eq!(both(&path), ((77, 77), (-1_000_000, 1)));
    sys::utimens(&path, (0, libc::UTIME_OMIT), (0, libc::UTIME_NOW), true).unwrap();
    let age = SystemTime::now().duration_since(fs::metadata(&path).unwrap().modified().unwrap());
    assert!(age.map_or_else(|e| e.duration() < Duration::from_millis(50), |age| age < Duration::from_secs(5)));
    symlink("f", dir.join("s")).unwrap();
    sys::utimens(&dir.join("s"), (11, 12), (13, 14), false).unwrap();
    assert_eq!(both(&dir.join("s")), ((11, 12), (13, 14)));
    // Writing and then setting a time: the time stays, whatever the file system had still to write.
    let mut file = File::create(&path).unwrap();
    file.write_all(&pattern(1, 100_000)).unwrap();
    sys::utimens(&path, (21, 22), (23, 24), true).unwrap();
    drop(file);
    assert_eq!(both(&path).1, (23, 24), "a time set after a write is not overwritten by the close");
    // sleeps: nothing is to happen when the client writes out by itself
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(both(&path).1, (23, 24), "nor later");
}

fn permissions_of_others(dir: &Path) {
    let at = |name: &str| dir.join(name).display().to_string();
    super::open_the_way(dir);
    let as_nobody = |script: &str| as_user(65_534, 65_534, script);
    fs::write(at("open"), b"x").unwrap();
    fs::set_permissions(at("open"), Permissions::from_mode(0o644)).unwrap();
    fs::write(at("closed"), b"x").unwrap();
    fs::set_permissions(at("closed"), Permissions::from_mode(0o600)).unwrap();
    assert!(as_nobody(&format!("cat {} >/dev/null", at("open"))), "others may read what is open to them");
    assert!(!as_nobody(&format!("cat {}", at("closed"))), "others may not read what is closed to them");
    assert!(!as_nobody(&format!("echo y > {}", at("open"))), "others may not write");
    assert!(!as_nobody(&format!("echo y > {}", at("new"))), "others may not create");
    assert!(!as_nobody(&format!("rm -f {}", at("open"))), "others may not remove");
    assert!(!as_nobody(&format!("chmod 777 {}", at("open"))), "others may not chmod");
    fs::create_dir(at("tmp")).unwrap();
    fs::set_permissions(at("tmp"), Permissions::from_mode(0o1777)).unwrap();
    assert!(as_nobody(&format!("echo y > {}", at("tmp/theirs"))), "others may create in a directory open to all");
    assert_eq!(fs::metadata(at("tmp/theirs")).unwrap().uid(), 65_534);
    fs::write(at("tmp/ours"), b"x").unwrap();
    assert!(!as_nobody(&format!("rm -f {}", at("tmp/ours"))), "a sticky directory protects the files of others");
    assert!(!as_nobody(&format!("chown 0 {}", at("tmp/theirs"))), "files cannot be given away");
    assert!(as_nobody(&format!("chmod 4755 {}", at("tmp/theirs"))));
    assert!(as_nobody(&format!("echo z >> {}", at("tmp/theirs"))));
    assert_eq!(fs::metadata(at("tmp/theirs")).unwrap().mode() & 0o7777, 0o755, "a user's write takes setuid away");
}

fn extended_attributes(dir: &Path) {
    let (file, sub) = (dir.join("f"), dir.join("d"));
    fs::write(&file, b"x").unwrap();
    fs::create_dir(&sub).unwrap();
    for path in [&file, &sub] {
        sys::setxattr(path, "user.one", b"1", 0).unwrap();
        sys::setxattr(path, "user.two", b"\0binary\xff", 0).unwrap();
        sys::setxattr(path, "user.empty", b"", 0).unwrap();
        sys::setxattr(path, "user.big", &pattern(1, 3000), 0).unwrap();
        assert_eq!(sys::listxattr(path).unwrap(), ["user.big", "user.empty", "user.one", "user.two"]);
        assert_eq!(sys::getxattr(path, "user.two").unwrap(), b"\0binary\xff");
        assert_eq!(sys::getxattr(path, "user.empty").unwrap(), b"");
        assert_eq!(sys::getxattr(path, "user.big").unwrap(), pattern(1, 3000));
        refused(sys::setxattr(path, "user.one", b"2", libc::XATTR_CREATE), &[libc::EEXIST]);
        refused(sys::setxattr(path, "user.none", b"2", libc::XATTR_REPLACE), &[libc::ENODATA]);
        sys::setxattr(path, "user.one", b"2", libc::XATTR_REPLACE).unwrap();
        assert_eq!(sys::getxattr(path, "user.one").unwrap(), b"2");
        sys::removexattr(path, "user.one").unwrap();
        refused(sys::removexattr(path, "user.one"), &[libc::ENODATA]);
        refused(sys::getxattr(path, "user.one"), &[libc::ENODATA]);
    }
    fs::rename(&file, sub.join("g")).unwrap();
    assert_eq!(sys::getxattr(&sub.join("g"), "user.big").unwrap(), pattern(1, 3000), "attributes move with the file");
}

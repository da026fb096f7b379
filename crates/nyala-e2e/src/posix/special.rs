// SPDX-License-Identifier: Apache-2.0

//! Files without names, devices, very long paths, syncing, copying ranges.

use super::{Check, pattern, refused, same};
use crate::sys;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(super) const CHECKS: &[Check] = &[
    ("unnamed_files", unnamed_files),
    ("devices", devices),
    ("longest_paths", longest_paths),
    ("syncing", syncing),
    ("copied_ranges", copied_ranges),
];

fn unnamed(dir: &Path, flags: i32) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).mode(0o640).custom_flags(libc::O_TMPFILE | flags).open(dir)
}

fn unnamed_files(dir: &Path) {
    for len in [100, 100_000] {
        let file = unnamed(dir, 0).unwrap();
        file.write_all_at(&pattern(1, len), 0).unwrap();
        let meta = file.metadata().unwrap();
        assert_eq!((meta.nlink(), meta.len()), (0, len as u64));
        assert_eq!(fs::read_dir(dir).unwrap().count(), 0, "no name");
        let path = dir.join("named");
        sys::link_open(&file, &path).unwrap();
        assert_eq!((file.metadata().unwrap().nlink(), fs::metadata(&path).unwrap().ino()), (1, meta.ino()));
        refused(sys::link_open(&file, &path), &[libc::EEXIST]);
        drop(file);
        same(&fs::read(&path).unwrap(), &pattern(1, len));
        fs::remove_file(&path).unwrap();
    }
    let exclusive = unnamed(dir, libc::O_EXCL).unwrap();
    refused(sys::link_open(&exclusive, &dir.join("never")), &[libc::ENOENT]);
    refused(OpenOptions::new().read(true).custom_flags(libc::O_TMPFILE).open(dir), &[libc::EINVAL]);
    drop(exclusive);
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
}

fn devices(dir: &Path) {
    let null = libc::makedev(1, 3);
    let path = dir.join("null");
    sys::mkdev(&path, libc::S_IFCHR | 0o666, null).unwrap();
    let meta = fs::symlink_metadata(&path).unwrap();
    assert!(meta.file_type().is_char_device() && meta.rdev() == null);
    OpenOptions::new().write(true).open(&path).unwrap().write_all(b"into nothing").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    let block = libc::makedev(0xfff, 0x3_0001);
    sys::mkdev(&dir.join("disk"), libc::S_IFBLK | 0o600, block).unwrap();
    let meta = fs::symlink_metadata(dir.join("disk")).unwrap();
    assert!(meta.file_type().is_block_device() && meta.rdev() == block, "{:x}", meta.rdev());
    fs::rename(dir.join("disk"), dir.join("moved")).unwrap();
    fs::remove_file(dir.join("moved")).unwrap();
}

/// Paths to `PATH_MAX` − 1 bytes work, longer ones are refused, and deeper directories can be reached step by step.
fn longest_paths(dir: &Path) {
    const LONGEST: usize = libc::PATH_MAX as usize - 1;
    let mut deep = PathBuf::from(dir);
    while deep.as_os_str().len() + 1 + 200 < LONGEST - 1 {
        deep.push("d".repeat(200));
        fs::create_dir(&deep).unwrap();
    }
    let room = LONGEST - deep.as_os_str().len() - 1;
    let (longest, longer) = (deep.join("f".repeat(room)), deep.join("f".repeat(room + 1)));
    fs::write(&longest, b"far down").unwrap();
    assert_eq!((longest.as_os_str().len(), fs::read(&longest).unwrap().as_slice()), (LONGEST, b"far down".as_slice()));
    refused(fs::write(&longer, b"x"), &[libc::ENAMETOOLONG]);
    fs::rename(&longest, dir.join("up")).unwrap();
    fs::remove_dir_all(dir.join("d".repeat(200))).unwrap();
}

/// That it is on disk then, crash tests show; here: that every way to ask for it works.
fn syncing(dir: &Path) {
    for (name, flags) in [("data", libc::O_DSYNC), ("all", libc::O_SYNC), ("direct", libc::O_SYNC | libc::O_APPEND)] {
        let path = dir.join(name);
        let file = OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(&path).unwrap();
        for number in 0..4 {
            file.write_all_at(&pattern(number, 3000), 3000 * number).unwrap();
        }
        let want: Vec<u8> = (0..4).flat_map(|number| pattern(number, 3000)).collect();
        same(&fs::read(&path).unwrap(), &want);
        file.sync_data().unwrap();
        file.sync_all().unwrap();
    }
    let own = File::open(dir).unwrap();
    own.sync_all().unwrap();
    own.sync_data().unwrap();
    sys::syncfs(&own).unwrap();
}

fn copied_ranges(dir: &Path) {
    let open = |name: &str| OpenOptions::new().read(true).write(true).create(true).truncate(false).open(dir.join(name));
    for len in [3000, 5_000_000] {
        let (from, to) = (open(&format!("from{len}")).unwrap(), open(&format!("to{len}")).unwrap());
        let bytes = pattern(1, len);
        from.write_all_at(&bytes, 0).unwrap();
        let third = len / 3;
        assert_eq!(sys::copy_file_range(&from, third as i64, &to, 777, len).unwrap(), len - third, "to the end only");
        let mut want = vec![0; 777];
        want.extend_from_slice(&bytes[third..]);
        same(&fs::read(dir.join(format!("to{len}"))).unwrap(), &want);
        assert_eq!(sys::copy_file_range(&from, len as i64, &to, 0, 10).unwrap(), 0, "nothing behind the end");
        refused(sys::copy_file_range(&from, 0, &from, 10, third), &[libc::EINVAL]);
        assert_eq!(sys::copy_file_range(&from, 0, &from, 2 * len as i64, third).unwrap(), third);
        assert_eq!(from.metadata().unwrap().len(), (2 * len + third) as u64);
    }
    let read_only = File::open(dir.join("to3000")).unwrap();
    refused(sys::copy_file_range(&open("from3000").unwrap(), 0, &read_only, 0, 10), &[libc::EBADF]);
}

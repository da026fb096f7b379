// SPDX-License-Identifier: Apache-2.0

//! Space: fallocate, holes, SEEK_DATA and SEEK_HOLE, statfs.

use super::{Check, pattern, refused, same};
use crate::sys;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[
    ("fallocate", fallocate),
    ("punch_hole", punch_hole),
    ("seek_data_and_hole", seek_data_and_hole),
    ("statfs", statfs),
];

fn fallocate(dir: &Path) {
    for start in [100_usize, 1_000_000] {
        let path = dir.join(format!("f{start}"));
        let mut want = pattern(1, start);
        fs::write(&path, &want).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        sys::fallocate(&file, 0, 0, 3_000_000).unwrap();
        want.resize(3_000_000, 0);
        assert_eq!(file.metadata().unwrap().len(), 3_000_000);
        same(&fs::read(&path).unwrap(), &want);
        sys::fallocate(&file, libc::FALLOC_FL_KEEP_SIZE, 0, 4_000_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3_000_000);
        refused(sys::fallocate(&file, 0, 0, 0), &[libc::EINVAL]);
        refused(sys::fallocate(&file, 0, -1, 10), &[libc::EINVAL]);
    }
}

fn punch_hole(dir: &Path) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    for size in [3000_usize, 3_000_000] {
        let path = dir.join(format!("f{size}"));
        let mut want = pattern(2, size);
        fs::write(&path, &want).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        for (at, len) in [(10, 500), (size / 3 + 5, size / 4), (size - 100, 1000)] {
            sys::fallocate(&file, mode, at as i64, len as i64).unwrap();
            want[at..(at + len).min(size)].fill(0);
            assert_eq!(file.metadata().unwrap().len(), size as u64);
            same(&fs::read(&path).unwrap(), &want);
        }
        file.write_all_at(b"in the hole", (size / 3 + 50) as u64).unwrap();
        want[size / 3 + 50..size / 3 + 61].copy_from_slice(b"in the hole");
        file.sync_all().unwrap();
        same(&fs::read(&path).unwrap(), &want);
    }
}

fn seek_data_and_hole(dir: &Path) {
    let path = dir.join("f");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all_at(&pattern(1, 65_536), 1 << 20).unwrap();
    file.write_all_at(&pattern(2, 65_536), 16 << 20).unwrap();
    file.set_len(32 << 20).unwrap();
    file.sync_all().unwrap();
    // A file system may call a hole data, never data a hole, and the end of the file is a hole.
    for (from, data) in [(0, 1 << 20), (1 << 20, 1 << 20), (2 << 20, 16 << 20)] {
        let found = sys::seek(&file, from, libc::SEEK_DATA).unwrap();
        assert!((from..=data).contains(&found), "data from {from}: {found}, at the latest {data}");
    }
    for from in [1 << 20, 16 << 20, (16 << 20) + 100] {
        let found = sys::seek(&file, from, libc::SEEK_HOLE).unwrap();
        assert!(found >= (from & !0xf_ffff) + 65_536 && found <= 32 << 20, "a hole from {from}: {found}");
    }
    refused(sys::seek(&file, 32 << 20, libc::SEEK_DATA), &[libc::ENXIO]);
    refused(sys::seek(&file, 33 << 20, libc::SEEK_HOLE), &[libc::ENXIO]);
    let full = dir.join("full");
    fs::write(&full, pattern(3, 100_000)).unwrap();
    let full = OpenOptions::new().read(true).open(&full).unwrap();
    assert_eq!(sys::seek(&full, 0, libc::SEEK_HOLE).unwrap(), 100_000);
    assert_eq!(sys::seek(&full, 0, libc::SEEK_DATA).unwrap(), 0);
}

fn statfs(dir: &Path) {
    let stats = sys::statvfs(dir).unwrap();
    assert!(stats.f_blocks > 0 && stats.f_bfree > 0 && stats.f_bavail <= stats.f_bfree);
    assert!(stats.f_files > 0 && stats.f_ffree > 0 && stats.f_ffree <= stats.f_files);
    assert!(stats.f_bsize.is_power_of_two() && stats.f_frsize.is_power_of_two());
    assert_eq!(stats.f_namemax, 255);
}

// SPDX-License-Identifier: Apache-2.0

//! Renames: all POSIX cases, within a directory and across directories (which may be on different servers).

use super::{Check, pattern, refused, same};
use crate::sys;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const CHECKS: &[Check] = &[
    ("rename_files", rename_files),
    ("rename_refusals", rename_refusals),
    ("rename_directory_loops", rename_directory_loops),
    ("rename_across_directories", rename_across_directories),
    ("rename_over_open_file", rename_over_open_file),
    ("rename_noreplace", rename_noreplace),
    ("rename_exchange", rename_exchange),
    ("rename_is_atomic", rename_is_atomic),
];

/// Enough directories that some are on different metadata servers.
fn directories(dir: &Path) -> Vec<PathBuf> {
    let dirs: Vec<PathBuf> = (0..6).map(|number| dir.join(format!("d{number}"))).collect();
    for dir in &dirs {
        fs::create_dir(dir).unwrap();
    }
    dirs
}

fn rename_files(dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    fs::write(&a, b"a").unwrap();
    let inode = fs::metadata(&a).unwrap().ino();
    fs::rename(&a, &b).unwrap();
    refused(fs::metadata(&a), &[libc::ENOENT]);
    assert_eq!(fs::metadata(&b).unwrap().ino(), inode);
    fs::write(&a, b"new a").unwrap();
    fs::rename(&a, &b).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"new a");
    fs::rename(&b, &b).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"new a");
    sys::link(&b, &a).unwrap();
    fs::rename(&a, &b).unwrap();
    assert!(a.exists() && b.exists(), "renaming one name of a file to another of the same file does nothing");
    symlink("b", dir.join("s")).unwrap();
    fs::rename(dir.join("s"), dir.join("t")).unwrap();
    assert_eq!(fs::read_link(dir.join("t")).unwrap(), Path::new("b"));
    fs::rename(dir.join("t"), &a).unwrap();
    assert_eq!(fs::metadata(&b).unwrap().nlink(), 1, "the replaced name no longer counts");
    sys::mknod(&dir.join("fifo"), libc::S_IFIFO | 0o600).unwrap();
    fs::rename(dir.join("fifo"), &b).unwrap();
}

fn rename_refusals(dir: &Path) {
    fs::write(dir.join("file"), b"x").unwrap();
    fs::create_dir_all(dir.join("full/sub")).unwrap();
    fs::create_dir(dir.join("empty")).unwrap();
    fs::create_dir(dir.join("source")).unwrap();
    fs::write(dir.join("source/kept"), b"x").unwrap();
    refused(fs::rename(dir.join("none"), dir.join("x")), &[libc::ENOENT]);
    refused(fs::rename(dir.join("file"), dir.join("none/x")), &[libc::ENOENT]);
    refused(fs::rename(dir.join("file"), dir.join("empty")), &[libc::EISDIR]);
    refused(fs::rename(dir.join("source"), dir.join("file")), &[libc::ENOTDIR]);
    refused(fs::rename(dir.join("source"), dir.join("full")), &[libc::ENOTEMPTY, libc::EEXIST]);
    refused(fs::rename(dir.join("file"), dir.join("file/x")), &[libc::ENOTDIR]);
    fs::rename(dir.join("source"), dir.join("empty")).unwrap();
    assert_eq!(fs::read(dir.join("empty/kept")).unwrap(), b"x", "a directory may replace an empty one");
    refused(fs::metadata(dir.join("source")), &[libc::ENOENT]);
    assert_eq!(fs::metadata(dir).unwrap().nlink(), 4);
}

fn rename_directory_loops(dir: &Path) {
    let mut deep = dir.join("top");
    fs::create_dir(&deep).unwrap();
    for level in 0..8 {
        deep.push(format!("l{level}"));
        fs::create_dir(&deep).unwrap();
        refused(fs::rename(dir.join("top"), deep.join("in")), &[libc::EINVAL]);
    }
    refused(fs::rename(dir.join("top"), dir.join("top/in")), &[libc::EINVAL]);
    refused(fs::rename(&deep, dir.join("top")), &[libc::ENOTEMPTY, libc::EEXIST]);
    refused(fs::rename(dir.join("top/l0/l1"), dir.join("top/l0/l1/l2/l3")), &[libc::EINVAL]);
    assert!(deep.is_dir(), "nothing moved");
}

fn rename_across_directories(dir: &Path) {
    let dirs = directories(dir);
    for (from_number, from) in dirs.iter().enumerate() {
        for (to_number, to) in dirs.iter().enumerate().filter(|(number, _)| *number != from_number) {
            let content = pattern((from_number * 10 + to_number) as u64, if to_number % 2 == 0 { 700 } else { 9000 });
            fs::write(from.join("file"), &content).unwrap();
            fs::write(to.join("replaced"), b"old").unwrap();
            fs::rename(from.join("file"), to.join("replaced")).unwrap();
            same(&fs::read(to.join("replaced")).unwrap(), &content);
            refused(fs::metadata(from.join("file")), &[libc::ENOENT]);
            fs::remove_file(to.join("replaced")).unwrap();

            fs::create_dir_all(from.join("tree/below")).unwrap();
            fs::write(from.join("tree/below/leaf"), &content).unwrap();
            fs::create_dir(to.join("moved")).unwrap();
            fs::rename(from.join("tree"), to.join("moved")).unwrap();
            same(&fs::read(to.join("moved/below/leaf")).unwrap(), &content);
            let up = fs::metadata(to.join("moved/..")).unwrap().ino();
            assert_eq!(up, fs::metadata(to).unwrap().ino(), "`..` follows the move");
            let links = |path: &Path| fs::metadata(path).unwrap().nlink();
            assert_eq!((links(from), links(to)), (2, 3), "link counts follow the move");
            fs::remove_dir_all(to.join("moved")).unwrap();
            assert_eq!(links(to), 2);
        }
    }
}

fn rename_over_open_file(dir: &Path) {
    let dirs = directories(dir);
    for (from, to) in dirs.iter().zip(dirs.iter().cycle().skip(1)) {
        for len in [300_usize, 200_000] {
            let (old, new) = (pattern(1, len), pattern(2, len));
            fs::write(to.join("f"), &old).unwrap();
            fs::write(from.join("g"), &new).unwrap();
            let mut open_old = File::open(to.join("f")).unwrap();
            let mut open_new = File::open(from.join("g")).unwrap();
            fs::rename(from.join("g"), to.join("f")).unwrap();
            let mut got = Vec::new();
            open_old.read_to_end(&mut got).unwrap();
            same(&got, &old);
            assert_eq!(open_old.metadata().unwrap().nlink(), 0);
            got.clear();
            open_new.read_to_end(&mut got).unwrap();
            same(&got, &new);
            same(&fs::read(to.join("f")).unwrap(), &new);
        }
    }
}

fn rename_noreplace(dir: &Path) {
    let dirs = directories(dir);
    for (from, to) in dirs.iter().zip(dirs.iter().cycle().skip(1)) {
        fs::write(from.join("a"), b"a").unwrap();
        fs::write(to.join("b"), b"b").unwrap();
        refused(sys::rename2(&from.join("a"), &to.join("b"), libc::RENAME_NOREPLACE), &[libc::EEXIST]);
        assert_eq!((fs::read(from.join("a")).unwrap(), fs::read(to.join("b")).unwrap()), (b"a".into(), b"b".into()));
        sys::rename2(&from.join("a"), &to.join("c"), libc::RENAME_NOREPLACE).unwrap();
        assert_eq!(fs::read(to.join("c")).unwrap(), b"a");
    }
}

fn rename_exchange(dir: &Path) {
    let dirs = directories(dir);
    for (one, two) in dirs.iter().zip(dirs.iter().cycle().skip(1)) {
        fs::write(one.join("x"), b"one").unwrap();
        fs::create_dir_all(two.join("y/sub")).unwrap();
        sys::rename2(&one.join("x"), &two.join("y"), libc::RENAME_EXCHANGE).unwrap();
        assert_eq!(fs::read(two.join("y")).unwrap(), b"one");
        assert!(one.join("x/sub").is_dir());
        assert_eq!(fs::metadata(one.join("x/..")).unwrap().ino(), fs::metadata(one).unwrap().ino());
        assert_eq!((fs::metadata(one).unwrap().nlink(), fs::metadata(two).unwrap().nlink()), (3, 2));
        refused(sys::rename2(&one.join("x"), &two.join("none"), libc::RENAME_EXCHANGE), &[libc::ENOENT]);
        refused(sys::rename2(one, &one.join("x/sub"), libc::RENAME_EXCHANGE), &[libc::EINVAL]);
        refused(sys::rename2(&one.join("x/sub"), one, libc::RENAME_EXCHANGE), &[libc::EINVAL]);
        fs::remove_dir_all(one.join("x")).unwrap();
        fs::remove_file(two.join("y")).unwrap();
    }
}

fn rename_is_atomic(dir: &Path) {
    let dirs = directories(dir);
    let target = dirs[0].join("current");
    fs::write(&target, b"version 0").unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watchers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut looks = 0_u32;
                    while !done.load(Ordering::Relaxed) {
                        let content = fs::read(&target).expect("the name is there at every moment");
                        assert!(content.starts_with(b"version "), "{content:?}");
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        let renames = || {
            for number in 1..=150 {
                let new = dirs[number % dirs.len()].join(format!("new{number}"));
                fs::write(&new, format!("version {number}")).unwrap();
                fs::rename(&new, &target).unwrap();
            }
        };
        let renamed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(renames));
        done.store(true, Ordering::Relaxed);
        for watcher in watchers {
            assert!(watcher.join().unwrap() > 10, "the watchers looked");
        }
        renamed.unwrap();
    });
    assert_eq!(fs::read(&target).unwrap(), b"version 150");
}

// SPDX-License-Identifier: Apache-2.0

//! Files and directories are opened by handle, whatever the kernel still knows of them.

use nyala_e2e::Mounts;
use nyala_e2e::cluster::text;
use nyala_e2e::file_handles::{Handle, forget_unused};
use nyala_e2e::posix::pattern;
use nyala_e2e::{alone, shared};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

fn path_of(file: &File) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

fn content(handle: &Handle, mount: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    handle.open(mount, libc::O_RDONLY).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[track_caller]
fn is_stale(handle: &Handle, mount: &File) {
    let error = handle.open(mount, libc::O_RDONLY).err().map(|error| error.raw_os_error());
    assert_eq!(error, Some(Some(libc::ESTALE)));
}

/// Small and large file, and a directory far below others: their handles open them again and again.
fn all_open(small: &Handle, large: &Handle, dir: &Handle, at: &Path, mount: &File) {
    for _ in 0..2 {
        forget_unused().unwrap();
        assert_eq!(content(small, mount), b"small");
        assert!(content(large, mount) == pattern(1, 3_000_000));
        let opened = dir.open(mount, libc::O_RDONLY | libc::O_DIRECTORY).unwrap();
        assert_eq!(path_of(&opened), at);
        let names = fs::read_dir(format!("/proc/self/fd/{}", opened.as_raw_fd())).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["large", "small"]);
    }
}

/// Handles of what is gone, or never was.
fn none_opens(here: &Path, there: &Path, mount: &File) {
    let path = there.join("gone");
    fs::write(&path, b"gone").unwrap();
    let (gone, dir) = (Handle::of(&path).unwrap(), there.join("dir"));
    fs::create_dir(&dir).unwrap();
    let gone_dir = Handle::of(&dir).unwrap();
    let held = File::open(here.join("gone")).unwrap();
    fs::remove_file(&path).unwrap();
    fs::remove_dir(&dir).unwrap();
    forget_unused().unwrap();
    is_stale(&gone, mount);
    is_stale(&gone_dir, mount);
    drop(held);
    fs::write(&path, b"another one").unwrap();
    fs::create_dir(&dir).unwrap();
    forget_unused().unwrap();
    is_stale(&gone, mount);
    is_stale(&gone_dir, mount);
    let known = Handle::of(&path).unwrap();
    forget_unused().unwrap();
    // A number is two words, the upper one first; a generation follows.
    for (byte, bit) in [(0, 5), (1, 6), (1, 7), (2, 3), (3, 7), (4, 4), (7, 7), (8, 0)] {
        is_stale(&known.with_flipped_bit(byte, bit), mount);
    }
    assert_eq!(content(&known, mount), b"another one");
}

#[test]
fn e2e_handles_open_what_the_kernel_has_forgotten() {
    let _one = alone();
    let cluster = shared();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let point = mounts.add("");
    let here = cluster.test_dir("handles");
    let there = point.join("handles");
    fs::create_dir_all(there.join("a/b/c")).unwrap();
    let at = there.join("a/b/c");
    fs::write(at.join("small"), b"small").unwrap();
    fs::write(at.join("large"), pattern(1, 3_000_000)).unwrap();
    let [small, large, dir] = ["small", "large", ""].map(|name| Handle::of(&at.join(name)).unwrap());
    let root = File::open(&point).unwrap();
    all_open(&small, &large, &dir, &at, &root);

    // Another mount moves the directory.
    fs::rename(here.join("a/b/c"), here.join("a/moved")).unwrap();
    all_open(&small, &large, &dir, &there.join("a/moved"), &root);

    none_opens(&here, &there, &root);
    drop(root);

    // The next client of the same mount point knows nothing of what this one gave out.
    cluster.nyala(["umount", &text(&point)]).must();
    let secret = format!("secret={}", text(&cluster.dir().join("secret")));
    cluster.nyala(["mount", &format!("127.0.0.1:{}:/", cluster.port()), &text(&point), "-o", &secret]).must();
    let root = File::open(&point).unwrap();
    all_open(&small, &large, &dir, &there.join("a/moved"), &root);
}

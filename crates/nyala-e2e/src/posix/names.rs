// SPDX-License-Identifier: Apache-2.0

//! Making and removing names: files, directories, links, fifos, sockets; and every refusal.

use super::{Check, pattern, refused};
use crate::sys;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[
    ("create_flags", create_flags),
    ("errors_of_names", errors_of_names),
    ("long_and_odd_names", long_and_odd_names),
    ("directories", directories),
    ("hard_links", hard_links),
    ("symbolic_links", symbolic_links),
    ("symbolic_link_loops", symbolic_link_loops),
    ("fifo_and_socket", fifo_and_socket),
    ("unlink_while_open", unlink_while_open),
];

fn create_flags(dir: &Path) {
    let path = dir.join("f");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&path).unwrap();
    file.write_all(b"hello").unwrap();
    drop(file);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    refused(OpenOptions::new().write(true).create_new(true).open(&path), &[libc::EEXIST]);
    assert_eq!(fs::read(&path).unwrap(), b"hello", "O_EXCL on a file that is there changes nothing");
    drop(OpenOptions::new().write(true).create(true).truncate(false).open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"hello", "O_CREAT alone keeps the content");
    drop(OpenOptions::new().write(true).truncate(true).open(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "O_TRUNC");
    refused(File::open(dir.join("none")), &[libc::ENOENT]);
    symlink("f", dir.join("s")).unwrap();
    refused(OpenOptions::new().write(true).create_new(true).open(dir.join("s")), &[libc::EEXIST]);
    refused(OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(dir.join("s")), &[libc::ELOOP]);
    symlink("made-through-link", dir.join("dangling")).unwrap();
    fs::write(dir.join("dangling"), b"x").unwrap();
    assert_eq!(fs::read(dir.join("made-through-link")).unwrap(), b"x");
}

fn errors_of_names(dir: &Path) {
    fs::write(dir.join("file"), b"x").unwrap();
    fs::create_dir(dir.join("sub")).unwrap();
    fs::write(dir.join("sub/inner"), b"x").unwrap();
    refused(fs::write(dir.join("sub"), b"x"), &[libc::EISDIR]);
    refused(OpenOptions::new().write(true).open(dir.join("sub")), &[libc::EISDIR]);
    refused(fs::write(dir.join("file/below"), b"x"), &[libc::ENOTDIR]);
    refused(fs::metadata(dir.join("file/below")), &[libc::ENOTDIR]);
    refused(fs::metadata(dir.join("none/below")), &[libc::ENOENT]);
    refused(fs::create_dir(dir.join("sub")), &[libc::EEXIST]);
    refused(fs::create_dir(dir.join("file")), &[libc::EEXIST]);
    refused(fs::create_dir(dir.join("none/sub")), &[libc::ENOENT]);
    refused(sys::rmdir(&dir.join("sub")), &[libc::ENOTEMPTY, libc::EEXIST]);
    refused(sys::rmdir(&dir.join("file")), &[libc::ENOTDIR]);
    refused(sys::rmdir(&dir.join("none")), &[libc::ENOENT]);
    refused(sys::rmdir(&dir.join("sub/.")), &[libc::EINVAL]);
    refused(sys::rmdir(&dir.join("sub/..")), &[libc::ENOTEMPTY]);
    refused(sys::unlink(&dir.join("sub")), &[libc::EISDIR, libc::EPERM]);
    refused(sys::unlink(&dir.join("none")), &[libc::ENOENT]);
    refused(OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(dir.join("file")), &[libc::ENOTDIR]);
    refused(fs::read_dir(dir.join("file")), &[libc::ENOTDIR]);
    fs::remove_file(dir.join("sub/inner")).unwrap();
    sys::rmdir(&dir.join("sub")).unwrap();
    refused(fs::metadata(dir.join("sub")), &[libc::ENOENT]);
}

fn long_and_odd_names(dir: &Path) {
    let long = "n".repeat(255);
    fs::write(dir.join(&long), b"long").unwrap();
    assert_eq!(fs::read(dir.join(&long)).unwrap(), b"long");
    fs::rename(dir.join(&long), dir.join("m".repeat(255))).unwrap();
    fs::create_dir(dir.join("d".repeat(255))).unwrap();
    symlink("x", dir.join("s".repeat(255))).unwrap();
    refused(fs::write(dir.join("n".repeat(256)), b"x"), &[libc::ENAMETOOLONG]);
    refused(fs::create_dir(dir.join("n".repeat(256))), &[libc::ENAMETOOLONG]);
    refused(fs::rename(dir.join("m".repeat(255)), dir.join("n".repeat(256))), &[libc::ENAMETOOLONG]);
    let odd: [&[u8]; 6] = [b"\xff\xfe not utf-8", b"new\nline", b" ", b"...", b"a\\b", "žluťoučký".as_bytes()];
    for name in odd {
        fs::write(dir.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let listed: Vec<Vec<u8>> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().as_bytes().to_vec()).collect();
    for name in odd {
        assert!(listed.iter().any(|have| have == name), "{name:?} is not listed");
        assert_eq!(fs::read(dir.join(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(listed.len(), odd.len() + 3);
}

fn directories(dir: &Path) {
    let links = |path: &Path| fs::metadata(path).unwrap().nlink();
    assert_eq!(links(dir), 2);
    for number in 0..20 {
        fs::create_dir(dir.join(format!("d{number}"))).unwrap();
    }
    assert_eq!(links(dir), 22, "each directory below adds a link");
    fs::remove_dir(dir.join("d3")).unwrap();
    assert_eq!(links(dir), 21);
    let mut deep = dir.join("d0");
    for level in 0..40 {
        deep.push(format!("level{level}"));
        fs::create_dir(&deep).unwrap();
        let up = fs::metadata(deep.join("..")).unwrap().ino();
        assert_eq!(up, fs::metadata(deep.parent().unwrap()).unwrap().ino(), "`..` of level {level}");
    }
    fs::write(deep.join("leaf"), b"x").unwrap();
    fs::remove_dir_all(dir.join("d0")).unwrap();
    assert_eq!(links(dir), 20);
    let gone = dir.join("d1");
    let held = File::open(&gone).unwrap();
    fs::remove_dir(&gone).unwrap();
    assert_eq!(held.metadata().unwrap().nlink(), 0, "a removed directory that is open has no links");
    let inside = Path::new("/proc/self/fd").join(std::os::fd::AsRawFd::as_raw_fd(&held).to_string());
    refused(fs::write(inside.join("x"), b"x"), &[libc::ENOENT]);
}

fn hard_links(dir: &Path) {
    fs::create_dir(dir.join("other")).unwrap();
    let (a, b) = (dir.join("a"), dir.join("other/b"));
    fs::write(&a, pattern(1, 10_000)).unwrap();
    sys::link(&a, &b).unwrap();
    let (first, second) = (fs::metadata(&a).unwrap(), fs::metadata(&b).unwrap());
    assert_eq!((first.ino(), first.nlink(), second.nlink()), (second.ino(), 2, 2));
    fs::write(&b, b"through b").unwrap();
    assert_eq!(fs::read(&a).unwrap(), b"through b");
    refused(sys::link(&a, &b), &[libc::EEXIST]);
    refused(sys::link(&dir.join("other"), &dir.join("d")), &[libc::EPERM]);
    refused(sys::link(&dir.join("none"), &dir.join("d")), &[libc::ENOENT]);
    fs::remove_file(&a).unwrap();
    assert_eq!((fs::read(&b).unwrap().as_slice(), fs::metadata(&b).unwrap().nlink()), (b"through b".as_slice(), 1));
    for number in 0..50 {
        sys::link(&b, &dir.join(format!("l{number}"))).unwrap();
    }
    assert_eq!(fs::metadata(&b).unwrap().nlink(), 51);
    symlink("nowhere", dir.join("s")).unwrap();
    sys::link(&dir.join("s"), &dir.join("s2")).unwrap();
    assert_eq!(fs::read_link(dir.join("s2")).unwrap(), Path::new("nowhere"));
}

fn symbolic_links(dir: &Path) {
    fs::create_dir_all(dir.join("a/b")).unwrap();
    fs::write(dir.join("a/b/f"), b"content").unwrap();
    symlink("a/b", dir.join("rel")).unwrap();
    symlink(dir.join("a"), dir.join("abs")).unwrap();
    assert_eq!(fs::read(dir.join("rel/f")).unwrap(), b"content");
    assert_eq!(fs::read(dir.join("abs/b/f")).unwrap(), b"content");
    assert_eq!(fs::read_link(dir.join("rel")).unwrap(), Path::new("a/b"));
    assert_eq!(fs::symlink_metadata(dir.join("rel")).unwrap().len(), 3);
    assert!(fs::symlink_metadata(dir.join("rel")).unwrap().file_type().is_symlink());
    refused(symlink("x", dir.join("rel")), &[libc::EEXIST]);
    refused(fs::read_link(dir.join("a")), &[libc::EINVAL]);
    let longest = "t".repeat(4095);
    symlink(&longest, dir.join("longest")).unwrap();
    assert_eq!(fs::read_link(dir.join("longest")).unwrap().as_os_str().as_bytes(), longest.as_bytes());
    refused(symlink("t".repeat(4096), dir.join("longer")), &[libc::ENAMETOOLONG]);
    fs::remove_file(dir.join("rel")).unwrap();
    assert_eq!(fs::read(dir.join("a/b/f")).unwrap(), b"content", "removing a link leaves what it names");
}

fn symbolic_link_loops(dir: &Path) {
    symlink("two", dir.join("one")).unwrap();
    symlink("one", dir.join("two")).unwrap();
    refused(fs::read(dir.join("one")), &[libc::ELOOP]);
    refused(fs::write(dir.join("one/x"), b"x"), &[libc::ELOOP]);
    symlink(".", dir.join("self")).unwrap();
    fs::write(dir.join("f"), b"x").unwrap();
    assert_eq!(fs::read(dir.join("self/self/self/self/f")).unwrap(), b"x");
}

fn fifo_and_socket(dir: &Path) {
    let fifo = dir.join("fifo");
    sys::mknod(&fifo, libc::S_IFIFO | 0o600).unwrap();
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
    let writer = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::write(fifo, b"through the fifo").unwrap())
    };
    let mut read = Vec::new();
    File::open(&fifo).unwrap().read_to_end(&mut read).unwrap();
    writer.join().unwrap();
    assert_eq!(read, b"through the fifo");
    refused(sys::mknod(&fifo, libc::S_IFIFO | 0o600), &[libc::EEXIST]);
    sys::mknod(&dir.join("regular"), libc::S_IFREG | 0o600).unwrap();
    fs::write(dir.join("regular"), b"x").unwrap();
    sys::mknod(&dir.join("sock"), libc::S_IFSOCK | 0o600).unwrap();
    assert!(fs::metadata(dir.join("sock")).unwrap().file_type().is_socket());
}

fn unlink_while_open(dir: &Path) {
    for (number, len) in [100, 4096, 5000, 3_000_000].into_iter().enumerate() {
        let path = dir.join("f");
        let want = pattern(number as u64, len);
        fs::write(&path, &want).unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        refused(fs::metadata(&path), &[libc::ENOENT]);
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        fs::write(&path, b"another file of the same name").unwrap();
        let mut got = Vec::new();
        file.read_to_end(&mut got).unwrap();
        super::same(&got, &want);
        file.write_all(b"more").unwrap();
        file.sync_all().unwrap();
        assert_eq!(file.metadata().unwrap().len(), len as u64 + 4);
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"another file of the same name");
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Listing directories: large ones, with seeking, while they change.

use super::Check;
use crate::sys::DirStream;
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[
    ("listing_of_5000", listing_of_5000),
    ("listing_types", listing_types),
    ("listing_while_deleting", listing_while_deleting),
    ("listing_while_adding", listing_while_adding),
];

fn fill(dir: &Path, count: usize) -> BTreeSet<Vec<u8>> {
    let names: BTreeSet<Vec<u8>> = (0..count).map(|number| format!("entry-{number:05}").into_bytes()).collect();
    for name in &names {
        drop(File::create_new(dir.join(std::str::from_utf8(name).unwrap())).unwrap());
    }
    names
}

fn listing_of_5000(dir: &Path) {
    let want = fill(dir, 5000);
    let mut stream = DirStream::open(dir).unwrap();
    let mut order = Vec::new();
    loop {
        let before = stream.tell();
        let Some((name, _)) = stream.read().unwrap() else { break };
        order.push((before, name));
    }
    let listed: Vec<&Vec<u8>> = order.iter().map(|(_, name)| name).filter(|name| name[0] != b'.').collect();
    assert_eq!(listed.len(), 5000, "each name once");
    assert_eq!(listed.into_iter().cloned().collect::<BTreeSet<_>>(), want);
    assert!(order.iter().any(|(_, name)| name == b".") && order.iter().any(|(_, name)| name == b".."));
    for (place, name) in order.iter().step_by(617).chain(order.iter().rev().step_by(1001)) {
        stream.seek(*place);
        assert_eq!(&stream.read().unwrap().unwrap().0, name, "seekdir to where telldir was");
    }
    stream.rewind();
    assert_eq!(stream.names().unwrap().len(), 5000);
    // A place stays a place for another stream too, and after other entries went.
    let (place, name) = order[3000].clone();
    for (_, gone) in order[100..200].iter().filter(|(_, name)| name[0] != b'.') {
        fs::remove_file(dir.join(std::str::from_utf8(gone).unwrap())).unwrap();
    }
    stream.seek(place);
    assert_eq!(stream.read().unwrap().unwrap().0, name, "after entries before it went");
}

fn listing_types(dir: &Path) {
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("f"), b"x").unwrap();
    std::os::unix::fs::symlink("f", dir.join("s")).unwrap();
    crate::sys::mknod(&dir.join("p"), libc::S_IFIFO | 0o600).unwrap();
    let mut stream = DirStream::open(dir).unwrap();
    let mut seen = 0;
    while let Some((name, inode)) = stream.read().unwrap() {
        let name = String::from_utf8(name).unwrap();
        assert_eq!(inode, fs::symlink_metadata(dir.join(&name)).unwrap().ino(), "inode number of {name}");
        seen += 1;
    }
    assert_eq!(seen, 6);
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let said = entry.file_type().unwrap();
        assert_eq!(said, fs::symlink_metadata(entry.path()).unwrap().file_type(), "{:?}", entry.file_name());
    }
}

fn listing_while_deleting(dir: &Path) {
    fill(dir, 3000);
    // What `rm -r` does: deletes what it lists, as it lists.
    let mut stream = DirStream::open(dir).unwrap();
    let mut deleted = 0;
    while let Some((name, _)) = stream.read().unwrap() {
        if name[0] != b'.' {
            fs::remove_file(dir.join(std::str::from_utf8(&name).unwrap())).unwrap();
            deleted += 1;
        }
    }
    assert_eq!(deleted, 3000, "deleting behind the reader hides nothing before it");
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
    fs::remove_dir(dir).unwrap();
}

fn listing_while_adding(dir: &Path) {
    let old = fill(dir, 2000);
    let mut stream = DirStream::open(dir).unwrap();
    let mut seen = Vec::new();
    while let Some((name, _)) = stream.read().unwrap() {
        if seen.len() % 2 == 0 {
            drop(File::create_new(dir.join(format!("added-{:05}", seen.len()))).unwrap());
        }
        seen.push(name);
        assert!(seen.len() < 20_000, "the listing does not end");
    }
    let once: HashSet<&Vec<u8>> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "no name twice");
    assert!(old.iter().all(|name| once.contains(name)), "every name that was there all the time is listed");
}

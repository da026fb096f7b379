// SPDX-License-Identifier: Apache-2.0

//! What the kernel keeps and what it asks for, and that it forgets when it is told to: the behaviour that the adapter
//! relies on. On a real mount (as root).

use crate::harness::Mounted;
use crate::memfs::{Knobs, MemFs};
use nyala_client::{CacheListener, Withdraw};
use nyala_fuse::adapter::cache::Listener;
use nyala_fuse::mount::Via;
use nyala_fuse::{Ino, InvalRange, Known};
use nyala_wire::InodeId;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NAMES: Withdraw = Withdraw { attrs: true, entries: true, data: false };
const ATTRIBUTES: Withdraw = Withdraw { attrs: true, entries: false, data: false };
const CONTENT: Withdraw = Withdraw { attrs: true, entries: false, data: true };

fn mounted(knobs: Knobs) -> Mounted {
    let mounted = Mounted::start(Default::default(), Via::System, MemFs::with(knobs));
    mounted.fs.cache.attach(mounted.notifier.clone());
    mounted
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::SeqCst)
}

/// What the client does when a delegation goes.
fn withdraw(fs: &MemFs, ino: u64, what: Withdraw) {
    let listener = Listener { cache: Arc::clone(&fs.cache), lifetime: crate::memfs::TTL, locks: Arc::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(listener.withdraw(InodeId(ino), what));
}

fn ino(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// All requests so far that say something about names, attributes or content.
fn requests(fs: &MemFs) -> u64 {
    let seen = &fs.seen;
    let reads = seen.reads.lock().len() as u64;
    get(&fs.lookups) + get(&seen.getattrs) + get(&seen.statxs) + get(&fs.readdirs) + reads
}

#[test]
fn what_is_kept_costs_no_request() {
    let mounted = mounted(Knobs { cache_dirs: true, negative: true, ..Knobs::default() });
    let dir = mounted.path("dir");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("file"), vec![7; 100_000]).unwrap();
    let round = || {
        assert_eq!(fs::metadata(dir.join("file")).unwrap().len(), 100_000);
        assert!(!dir.join("missing").exists());
        assert_eq!(names(&dir).len(), 1);
        assert_eq!(fs::read(dir.join("file")).unwrap(), vec![7; 100_000]);
    };
    round();
    round();
    let (before, opens) = (requests(&mounted.fs), get(&mounted.fs.seen.opens));
    for _ in 0..100 {
        round();
    }
    assert_eq!(requests(&mounted.fs), before, "something was asked again");
    assert_eq!(get(&mounted.fs.seen.opens), opens + 100);
}

#[test]
fn the_end_of_an_epoch_makes_the_kernel_look_up_again() {
    let mounted = mounted(Knobs { negative: true, ..Knobs::default() });
    let (fs, deep) = (&mounted.fs, mounted.path("a/b/c"));
    fs::create_dir_all(&deep).unwrap();
    assert!(!mounted.path("later").exists());
    // Somebody else makes a name and takes one away; nobody has said so.
    fs.elsewhere(|state| {
        let file = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
        state.add_name(Ino::ROOT, b"later", file).unwrap();
        let b = state.child(Ino(2), b"b").unwrap();
        let moved = state.nodes.get_mut(&b).unwrap().entries.remove(b"c".as_slice()).unwrap();
        state.add_name(Ino(2), b"moved", moved).unwrap();
    });
    assert!(!mounted.path("later").exists() && deep.exists());
    let before = get(&fs.lookups);
    mounted.notifier.inc_epoch().unwrap();
    assert!(mounted.path("later").exists() && !deep.exists());
    assert!(mounted.path("a/moved").exists());
    assert_eq!(get(&fs.lookups) - before, 5, "later, a, b, c, moved: once each");
    let before = get(&fs.lookups);
    assert!(mounted.path("later").exists() && mounted.path("a/moved").exists() && !deep.exists());
    assert_eq!(get(&fs.lookups), before);
}

#[test]
fn working_directories_outlive_the_end_of_an_epoch() {
    let mounted = mounted(Knobs::default());
    let dir = mounted.path("a/b");
    fs::create_dir_all(&dir).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg("read x; cd -P . && pwd -P && ls ..; echo done").current_dir(&dir);
    shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    mounted.notifier.inc_epoch().unwrap();
    // Somebody walks there, which finds the old name too old.
    assert!(dir.exists());
    use std::io::Write;
    shell.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = shell.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("{}\nb\ndone\n", fs::canonicalize(&dir).unwrap().display()));
}

#[test]
fn a_reply_on_its_way_is_not_believed_after_the_epoch() {
    let mounted = mounted(Knobs { negative: true, ..Knobs::default() });
    *mounted.fs.before_reply.lock() = Some(Box::new(|fs| {
        // The answer "no such name" is made; now somebody makes it.
        fs.elsewhere(|state| {
            let file = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
            state.add_name(Ino::ROOT, b"name", file).unwrap();
        });
        std::thread::scope(|scope| scope.spawn(|| withdraw(fs, 1, NAMES)).join().unwrap());
    }));
    assert!(!mounted.path("name").exists());
    assert!(mounted.path("name").exists());
}

#[test]
fn attributes_on_their_way_to_a_kernel_that_does_not_know_the_inode_are_not_kept() {
    let mounted = mounted(Knobs::default());
    let file = mounted.fs.elsewhere(|state| {
        let file = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
        state.add_name(Ino::ROOT, b"first", file).unwrap();
        state.add_name(Ino::ROOT, b"second", file).unwrap();
        file
    });
    assert_eq!(mounted.notifier.withdraw_attributes(Ino(file)), Ok(Known::No));
    let change_under_way = move |mode: u32| {
        move |fs: &MemFs| {
            fs.elsewhere(|state| state.nodes.get_mut(&file).unwrap().attr.mode = libc::S_IFREG | mode);
            std::thread::scope(|scope| scope.spawn(|| withdraw(fs, file, ATTRIBUTES)).join().unwrap());
        }
    };
    // By name: the old one is not to be believed.
    *mounted.fs.before_reply.lock() = Some(Box::new(change_under_way(0o640)));
    let _ = fs::metadata(mounted.path("first")).unwrap();
    assert_eq!(fs::metadata(mounted.path("first")).unwrap().mode() & 0o777, 0o640);
    // By an open file that was reached by the old name.
    let other = mounted.fs.elsewhere(|state| {
        let other = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
        state.add_name(Ino::ROOT, b"other", other).unwrap();
        other
    });
    *mounted.fs.before_reply.lock() = Some(Box::new(move |fs| {
        fs.elsewhere(|state| state.nodes.get_mut(&other).unwrap().attr.mode = libc::S_IFREG | 0o604);
        std::thread::scope(|scope| scope.spawn(|| withdraw(fs, other, ATTRIBUTES)).join().unwrap());
    }));
    let open = File::open(mounted.path("other")).unwrap();
    assert_eq!(open.metadata().unwrap().mode() & 0o777, 0o604);
    // Of a known inode, the kernel drops what is older than the withdrawal by itself.
    mounted.notifier.inc_epoch().unwrap();
    *mounted.fs.before_reply.lock() = Some(Box::new(change_under_way(0o644)));
    let _ = fs::metadata(mounted.path("first")).unwrap();
    assert_eq!(fs::metadata(mounted.path("first")).unwrap().mode() & 0o777, 0o644);
    assert_eq!(mounted.notifier.withdraw_attributes(Ino(file)), Ok(Known::Yes));
}

#[test]
fn listings_are_kept_and_withdrawn() {
    let mounted = mounted(Knobs { cache_dirs: true, ..Knobs::default() });
    let dir = mounted.path("dir");
    fs::create_dir(&dir).unwrap();
    let inode = ino(&dir);
    for name in ["one", "two"] {
        File::create(dir.join(name)).unwrap();
    }
    assert_eq!(names(&dir).len(), 2);
    let before = get(&mounted.fs.readdirs);
    assert_eq!(names(&dir).len(), 2);
    assert_eq!(get(&mounted.fs.readdirs), before);
    let add = |name: &'static [u8]| {
        mounted.fs.elsewhere(|state| {
            let file = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
            state.add_name(Ino(inode), name, file).unwrap();
        });
    };
    add(b"three");
    assert_eq!(names(&dir).len(), 2, "it was not told yet");
    // Closing is done a moment after it returned.
    let closed = || crate::harness::wait("all closes", || mounted.fs.openings.lock().is_empty());
    closed();
    withdraw(&mounted.fs, inode, NAMES);
    assert_eq!(names(&dir).len(), 3);
    let before = get(&mounted.fs.readdirs);
    assert_eq!(names(&dir).len(), 3);
    assert_eq!(get(&mounted.fs.readdirs), before, "kept again");

    // A listing that is on its way to a slow reader is put into the cache, and not given to others.
    closed();
    withdraw(&mounted.fs, inode, NAMES);
    assert_eq!(ino(&dir), inode);
    *mounted.fs.before_reply.lock() = Some(Box::new(move |fs| {
        fs.elsewhere(|state| {
            let file = state.add(libc::S_IFREG | 0o600, 0, 0, 0);
            state.add_name(Ino(inode), b"four", file).unwrap();
        });
        std::thread::scope(|scope| scope.spawn(|| withdraw(fs, inode, NAMES)).join().unwrap());
    }));
    let mut slow = fs::read_dir(&dir).unwrap();
    assert!(slow.next().is_some());
    assert!(mounted.fs.before_reply.lock().is_none());
    assert_eq!(names(&dir).len(), 4);
    // It reads on to the end, which makes the listing in the cache complete, and stays open.
    assert!(slow.by_ref().count() >= 2, "what is left of the old listing");
    assert_eq!(names(&dir).len(), 4);
    drop(slow);
    closed();
    for _ in 0..3 {
        assert_eq!(names(&dir).len(), 4);
    }
    let before = get(&mounted.fs.readdirs);
    assert_eq!(names(&dir).len(), 4);
    assert_eq!(get(&mounted.fs.readdirs), before, "kept again");
}

#[test]
fn pages_are_kept_over_opens_until_they_are_withdrawn() {
    let mounted = mounted(Knobs::default());
    let path = mounted.path("file");
    fs::write(&path, vec![1; 10_000]).unwrap();
    let inode = ino(&path);
    assert_eq!(fs::read(&path).unwrap(), vec![1; 10_000]);
    let reads = || mounted.fs.seen.reads.lock().len();
    let before = reads();
    assert_eq!(fs::read(&path).unwrap(), vec![1; 10_000]);
    assert_eq!(reads(), before);
    // Somebody else appends: old size, and zeros in the last page, where the kernel has not been told.
    mounted.fs.elsewhere(|state| {
        let node = state.nodes.get_mut(&inode).unwrap();
        node.data = vec![2; 12_000];
        node.attr.size = 12_000;
    });
    withdraw(&mounted.fs, inode, CONTENT);
    assert_eq!(fs::read(&path).unwrap(), vec![2; 12_000]);
    // What is mapped is read anew, too, and what was written there arrives before it is forgotten.
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let map = Map::new(&file, 12_000);
    assert_eq!(map.byte(5), 2);
    map.set(11_999, 9);
    mounted.fs.elsewhere(|state| state.nodes.get_mut(&inode).unwrap().data[5] = 3);
    withdraw(&mounted.fs, inode, CONTENT);
    assert_eq!(map.byte(5), 3);
    assert_eq!(mounted.fs.elsewhere(|state| state.nodes[&inode].data[11_999]), 9);
    assert!(mounted.fs.seen.writes.lock().iter().any(|write| write.from_cache));
}

#[test]
fn what_a_mapping_reads_and_writes_can_be_told_from_direct_io() {
    let mounted = mounted(Knobs { direct: true, ..Knobs::default() });
    let path = mounted.path("file");
    fs::write(&path, vec![1; 10_000]).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut buf = [0; 100];
    file.read_exact_at(&mut buf, 0).unwrap();
    file.write_all_at(&buf, 200).unwrap();
    assert!(mounted.fs.seen.reads.lock().iter().all(|read| read.lock_owner.is_some()));
    assert!(mounted.fs.seen.writes.lock().iter().all(|write| !write.from_cache));
    mounted.fs.seen.reads.lock().clear();
    let map = Map::new(&file, 10_000);
    assert_eq!(map.byte(5000), 1);
    map.set(5000, 8);
    map.sync();
    let reads = mounted.fs.seen.reads.lock().clone();
    assert!(!reads.is_empty() && reads.iter().all(|read| read.lock_owner.is_none()), "{reads:?}");
    assert!(mounted.fs.seen.writes.lock().iter().any(|write| write.from_cache));
    let inode = ino(&path);
    assert_eq!(mounted.fs.elsewhere(|state| state.nodes[&inode].data[5000]), 8);
}

#[test]
fn a_withdrawal_of_a_page_that_is_being_read_does_not_block_others() {
    let mounted = mounted(Knobs::default());
    let path = mounted.path("file");
    fs::write(&path, b"content").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..50 {
        runtime.block_on(mounted.notifier.inval_inode(Ino(ino(&path)), InvalRange::All)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }
}

/// A shared mapping of a file's first bytes.
struct Map {
    at: *mut u8,
    len: usize,
}

impl Map {
    fn new(file: &File, len: usize) -> Map {
        use std::os::fd::AsRawFd;
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, fd, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Map { at: at.cast(), len }
    }

    fn byte(&self, at: usize) -> u8 {
        assert!(at < self.len);
        // SAFETY: inside the mapping, which lives as long as `self`; others may change it, so it is read as volatile.
        unsafe { self.at.add(at).read_volatile() }
    }

    fn set(&self, at: usize, byte: u8) {
        assert!(at < self.len);
        // SAFETY: as above.
        unsafe { self.at.add(at).write_volatile(byte) }
    }

    fn sync(&self) {
        // SAFETY: the mapping is our own and of this length.
        assert_eq!(unsafe { libc::msync(self.at.cast(), self.len, libc::MS_SYNC) }, 0);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Slow and dying handlers, clients and daemons; unmounts; notifications. On a real mount (as root).

use crate::harness::{Mounted, wait};
use nyala_fuse::mount::{Mount, MountError, MountOptions, UnmountError, detach};
use nyala_fuse::{Ino, InvalRange};
use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn a_slow_request_holds_up_no_other() {
    let mounted = Mounted::new();
    fs::write(mounted.path("slow"), b"x").unwrap();
    let dir = mounted.path("dir");
    fs::create_dir(&dir).unwrap();
    // The name is cached since it was made; only a new look-up is slow.
    mounted.notifier.inval_entry_blocking(Ino::ROOT, b"slow").unwrap();
    let slow = mounted.path("slow");
    let started = Instant::now();
    let waiting = std::thread::spawn(move || fs::metadata(slow).map(|_| started.elapsed()));
    // sleeps: its request is with the handler by then
    std::thread::sleep(Duration::from_millis(50));
    for number in 0..200 {
        fs::write(dir.join(format!("{number}")), b"quick").unwrap();
    }
    assert!(started.elapsed() < Duration::from_millis(600), "others waited: {:?}", started.elapsed());
    assert!(!waiting.is_finished());
    assert!(waiting.join().unwrap().unwrap() >= Duration::from_millis(700));
}

#[test]
fn a_handlers_panic_costs_one_request() {
    let mounted = Mounted::new();
    assert_eq!(fs::metadata(mounted.path("panic")).unwrap_err().raw_os_error(), Some(libc::EIO));
    fs::write(mounted.path("after"), b"x").unwrap();
}

#[test]
fn a_killed_client_leaves_nothing_behind() {
    let mounted = Mounted::new();
    // Elsewhere than in the root: the kernel holds a directory's lock while it looks a name up there.
    let dir = mounted.path("dir");
    fs::create_dir(&dir).unwrap();
    let mut client = Command::new("stat").arg(mounted.path("stuck")).stderr(Stdio::null()).spawn().unwrap();
    wait("the request", || mounted.fs.stuck.load(Ordering::SeqCst) == 1);
    client.kill().unwrap();
    // The request is with the handler, so the kernel lets the process wait for the answer; others go on meanwhile.
    fs::write(dir.join("other"), b"x").unwrap();
    mounted.fs.let_go.notify_waiters();
    client.wait().unwrap();
    fs::write(mounted.path("after"), b"x").unwrap();
}

#[test]
fn a_signal_ends_the_wait_for_a_lock() {
    use rustix::fs::{FlockOperation, flock};
    let fs = crate::memfs::MemFs::new();
    fs.flock.store(true, Ordering::SeqCst);
    let mounted = Mounted::start(Default::default(), nyala_fuse::mount::Via::System, fs);
    let path = mounted.path("file");
    let held = File::create(&path).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let other = File::open(&path).unwrap();
    assert_eq!(flock(&other, FlockOperation::NonBlockingLockExclusive), Err(rustix::io::Errno::WOULDBLOCK));
    let mut waiter = Command::new("flock").arg(&path).arg("true").spawn().unwrap();
    wait("the waiter", || mounted.fs.lock_waiters.load(Ordering::SeqCst) == 1);
    waiter.kill().unwrap();
    let started = Instant::now();
    waiter.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(2), "the signal did not end the wait");
    // The holder still holds it; when it lets go, others get it.
    assert!(mounted.fs.holder.lock().is_some());
    drop(held);
    flock(&other, FlockOperation::LockExclusive).unwrap();
}

#[test]
fn unmounting_a_busy_mount_says_so_and_lazily_works() {
    let mut mounted = Mounted::new();
    fs::write(mounted.path("file"), b"content").unwrap();
    let mut open = File::open(mounted.path("file")).unwrap();
    match mounted.mount.unmount(false) {
        Err(error @ UnmountError::Busy(_)) => assert!(error.to_string().contains("is in use")),
        other => panic!("{other:?}"),
    }
    assert!(mounted.mount.is_mounted());
    mounted.mount.unmount(true).unwrap();
    assert!(!mounted.mount.is_mounted());
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
    assert!(matches!(mounted.mount.unmount(false), Err(UnmountError::NotMounted(_))));
    // What was open still works, and its close is the end of the session.
    let mut content = String::new();
    open.read_to_string(&mut content).unwrap();
    assert_eq!((content.as_str(), mounted.fs.destroyed.load(Ordering::SeqCst)), ("content", 0));
    drop(open);
    mounted.join().unwrap();
    assert_eq!(mounted.fs.destroyed.load(Ordering::SeqCst), 1);
}

#[test]
fn an_abort_with_a_request_in_the_handler_ends_the_session() {
    let mut mounted = Mounted::new();
    let stuck = mounted.path("stuck");
    let client = std::thread::spawn(move || fs::metadata(stuck).map(drop));
    wait("the request", || mounted.fs.stuck.load(Ordering::SeqCst) == 1);
    // `umount -f` aborts the connection; the mount point is busy, so it stays.
    let forced = Command::new("umount").arg("-f").arg(mounted.root()).stderr(Stdio::null()).status().unwrap();
    let error = client.join().unwrap().unwrap_err();
    assert!(matches!(error.raw_os_error(), Some(libc::ECONNABORTED | libc::ENOTCONN)), "{error}");
    mounted.fs.let_go.notify_waiters();
    mounted.join().unwrap();
    assert_eq!(mounted.fs.destroyed.load(Ordering::SeqCst), 1);
    let _ = forced;
}

#[test]
fn requests_that_do_not_end_are_dropped_after_the_grace() {
    let config = nyala_fuse::SessionConfig { drain: Duration::from_millis(100), ..Default::default() };
    let mut mounted = Mounted::with(config, nyala_fuse::mount::Via::System);
    let stuck = mounted.path("stuck");
    let client = std::thread::spawn(move || fs::metadata(stuck).map(drop));
    wait("the request", || mounted.fs.stuck.load(Ordering::SeqCst) == 1);
    Command::new("umount").arg("-f").arg(mounted.root()).stderr(Stdio::null()).status().unwrap();
    assert!(client.join().unwrap().is_err());
    mounted.join().unwrap();
}

#[test]
fn notifications_withdraw_what_is_cached() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, b"before").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    let ino = fs::metadata(&path).map(|metadata| std::os::unix::fs::MetadataExt::ino(&metadata)).unwrap();
    // Somebody else changes it: with an hour's lifetime the kernel goes on believing the old.
    {
        let mut state = mounted.fs.state.lock();
        let node = state.nodes.get_mut(&ino).unwrap();
        node.data = b"afterwards".to_vec();
        node.attr.size = 10;
    }
    assert_eq!(fs::read(&path).unwrap(), b"before");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(mounted.notifier.inval_inode(Ino(ino), InvalRange::All)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"afterwards");

    // A name.
    let lookups = || mounted.fs.lookups.load(Ordering::SeqCst);
    fs::metadata(&path).unwrap();
    let before = lookups();
    fs::metadata(&path).unwrap();
    assert_eq!(lookups(), before, "a cached name was looked up");
    for expire in [false, true] {
        let before = lookups();
        if expire {
            runtime.block_on(mounted.notifier.expire_entry(Ino::ROOT, b"file")).unwrap();
        } else {
            runtime.block_on(mounted.notifier.inval_entry(Ino::ROOT, b"file")).unwrap();
        }
        fs::metadata(&path).unwrap();
        assert_eq!(lookups(), before + 1);
    }
    mounted.fs.state.lock().nodes.get_mut(&1).unwrap().entries.remove(b"file".as_slice());
    runtime.block_on(mounted.notifier.delete(Ino::ROOT, Ino(ino), b"file")).unwrap();
    assert!(!path.exists());
    // What the kernel does not know is no error.
    runtime.block_on(mounted.notifier.inval_inode(Ino(4711), InvalRange::AttributesOnly)).unwrap();
    runtime.block_on(mounted.notifier.inval_entry(Ino::ROOT, b"never seen")).unwrap();
}

#[test]
fn a_second_mount_is_refused_and_a_dead_one_cleared_away() {
    let mounted = Mounted::new();
    let options = MountOptions::new("other:/", mounted.root());
    match Mount::new(&options) {
        Err(error @ MountError::AlreadyMounted(_)) => assert!(error.to_string().contains("already a nyala mount")),
        other => panic!("{other:?}"),
    }

    // A mount whose device is closed without an unmount is what a killed daemon leaves.
    let dir = tempfile::tempdir().unwrap();
    let options = MountOptions::new("dead:/", dir.path());
    let dead = Mount::new(&options).unwrap();
    let guard = UnmountOnDrop(dir.path());
    leave_dead(dead);
    assert_eq!(fs::read_dir(dir.path()).unwrap_err().raw_os_error(), Some(libc::ENOTCONN));
    let alive = Mount::new(&options).unwrap();
    alive.unmount(false).unwrap();
    drop(guard);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Closes a mount's device and keeps the mount.
fn leave_dead(mount: Mount) {
    use std::os::fd::AsRawFd;
    let null = File::open("/dev/null").unwrap();
    let device = mount.device().as_raw_fd();
    // SAFETY: replaces the device by /dev/null in place; both descriptors stay open and owned as before.
    assert_eq!(unsafe { libc::dup2(null.as_raw_fd(), device) }, device);
    std::mem::forget(mount);
}

/// Leaves no mount behind if the test fails.
struct UnmountOnDrop<'a>(&'a std::path::Path);

impl Drop for UnmountOnDrop<'_> {
    fn drop(&mut self) {
        while detach(self.0, true).is_ok() {}
    }
}

#[test]
fn df_and_findmnt_know_the_mount() {
    let mounted = Mounted::new();
    let path = mounted.root().to_str().unwrap().to_owned();
    let output = Command::new("df").arg("--output=source,fstype,target").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("memfs:/") && said.contains("fuse.nyala") && said.contains(&path), "{said}");
    let info = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = info.lines().find(|line| line.contains(&path)).unwrap();
    assert!(line.contains("default_permissions,allow_other"), "{line}");
    let number = line.split(' ').nth(2).unwrap();
    let read_ahead = fs::read_to_string(format!("/sys/class/bdi/{number}/read_ahead_kb")).unwrap();
    assert_eq!(read_ahead.trim(), "1024");
}

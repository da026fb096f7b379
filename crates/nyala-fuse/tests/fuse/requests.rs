// SPDX-License-Identifier: Apache-2.0

//! What the kernel sends for locks, ACLs, appends, synchronous writes and unnamed files: what the adapter's handling of
//! them rests on. On a real mount (as root).

use crate::harness::{Mounted, wait};
use crate::memfs::{Knobs, MemFs};
use nyala_fuse::mount::Via;
use nyala_fuse::types::Features;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::process::Command;
use std::sync::atomic::Ordering;

fn mounted(knobs: Knobs) -> Mounted {
    Mounted::start(Default::default(), Via::System, MemFs::with(knobs))
}

fn locking() -> Mounted {
    let features = Features { posix_locks: true, flock: true, ..Features::default() };
    mounted(Knobs { features, ..Knobs::default() })
}

/// `fcntl` with a lock of the first ten bytes.
fn lock(file: &File, command: i32, kind: i32) -> libc::flock {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_len) = (kind as i16, 10);
    // SAFETY: the descriptor is open and the structure lives through the call.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) }, 0);
    lock
}

#[test]
fn a_processs_locks_end_with_a_flush_that_names_their_owner() {
    let mounted = locking();
    let path = mounted.path("file");
    fs::write(&path, b"x").unwrap();
    mounted.fs.seen.flushes.lock().clear();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    lock(&file, libc::F_SETLKW, libc::F_WRLCK);
    let taken = mounted.fs.seen.locks.lock().clone();
    assert_eq!((taken.len(), taken[0].lock.start, taken[0].lock.end, taken[0].wait), (1, 0, 9, true));
    let conflict = lock(&file, libc::F_GETLK, libc::F_WRLCK);
    assert_eq!((conflict.l_type as i32, conflict.l_start, conflict.l_len), (libc::F_WRLCK, 5, 0));
    mounted.fs.seen.locks.lock().clear();
    drop(file);
    assert!(mounted.fs.seen.flushes.lock().contains(&taken[0].owner));
    assert!(mounted.fs.seen.locks.lock().is_empty(), "the kernel unlocks itself");
}

#[test]
fn an_open_files_locks_end_with_its_release_alone() {
    let mounted = locking();
    let path = mounted.path("file");
    fs::write(&path, b"x").unwrap();
    wait("the writer's release", || mounted.fs.seen.releases.lock().len() == 1);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    lock(&file, libc::F_OFD_SETLK, libc::F_WRLCK);
    let owner = mounted.fs.seen.locks.lock()[0].owner;
    let twin = file.try_clone().unwrap();
    drop(file);
    // sleeps: nothing more is to be released in that time
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(mounted.fs.seen.releases.lock().len(), 1);
    drop(twin);
    wait("the release", || mounted.fs.seen.releases.lock().len() == 2);
    assert!(mounted.fs.seen.flushes.lock().iter().all(|flushed| *flushed != owner));
    assert_eq!(mounted.fs.seen.locks.lock().len(), 1, "the kernel unlocks itself");
    assert!(!mounted.fs.seen.releases.lock()[1].flock_unlock);

    // flock: the release says so, and names the owner.
    let file = File::open(&path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let holder = mounted.fs.holder.lock().unwrap();
    drop(file);
    wait("the release", || mounted.fs.seen.releases.lock().len() == 3);
    let release = mounted.fs.seen.releases.lock()[2];
    assert_eq!((release.flock_unlock, release.lock_owner), (true, holder));
}

#[test]
fn appends_and_synchronous_writes_say_so() {
    for direct in [true, false] {
        let mounted = mounted(Knobs { direct, ..Knobs::default() });
        let path = mounted.path("file");
        fs::write(&path, b"x").unwrap();
        let written = |options: &mut OpenOptions| {
            mounted.fs.seen.writes.lock().clear();
            let before = mounted.fs.fsyncs.load(Ordering::SeqCst);
            options.open(&path).unwrap().write_all(b"yy").unwrap();
            let write = mounted.fs.seen.writes.lock()[0];
            (write, mounted.fs.fsyncs.load(Ordering::SeqCst) - before)
        };
        let (write, fsyncs) = written(OpenOptions::new().append(true));
        assert_eq!((write.flags & libc::O_APPEND != 0, write.offset, fsyncs), (true, 1, 0));
        // Without the page cache the kernel leaves the syncing to us; with it, it does it itself.
        let (write, fsyncs) = written(OpenOptions::new().write(true).custom_flags(libc::O_DSYNC));
        assert_eq!((write.flags & libc::O_SYNC, fsyncs), (libc::O_DSYNC, u64::from(!direct)));
        let (write, fsyncs) = written(OpenOptions::new().write(true).custom_flags(libc::O_SYNC));
        assert_eq!((write.flags & libc::O_SYNC, fsyncs), (libc::O_SYNC, u64::from(!direct)));
    }
}

/// An ACL as the kernel writes it: version 2, then tag, permissions and id of each entry.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, perm, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&perm.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}

const NO_ID: u32 = u32::MAX;

#[test]
fn acls_are_asked_for_checked_and_forgotten_when_set() {
    let features = Features { posix_acl: true, dont_mask: true, ..Features::default() };
    let mounted = mounted(Knobs { features, ..Knobs::default() });
    let path = mounted.path("file");
    fs::write(&path, b"secret").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(mounted.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let reads_as = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", "4242", "--clear-groups", "cat"]).arg(&path);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status().unwrap().success()
    };
    assert!(!reads_as("1234"));
    fs::metadata(&path).unwrap();
    let asked = mounted.fs.seen.getattrs.load(Ordering::SeqCst);
    // owner rw, user 1234 r, group -, mask r, other -
    let value = acl(&[(1, 6, NO_ID), (2, 4, 1234), (4, 0, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID)]);
    rustix::fs::setxattr(&path, "system.posix_acl_access", &value, rustix::fs::XattrFlags::empty()).unwrap();
    assert_eq!(*mounted.fs.seen.acl_sets.lock(), [false]);
    assert!(reads_as("1234") && !reads_as("1235"));
    assert!(mounted.fs.seen.getattrs.load(Ordering::SeqCst) > asked, "the mode may have changed with the ACL");
    let mut back = [0; 100];
    let len = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut back[..]).unwrap();
    assert_eq!(&back[..len], &value[..]);
    // Withdrawing attributes withdraws ACLs.
    let gone = mounted.fs.elsewhere(|state| {
        let child = state.child(nyala_fuse::Ino::ROOT, b"file").unwrap();
        state.nodes.get_mut(&child).unwrap().xattrs.clear();
        child
    });
    assert!(reads_as("1234"), "kept");
    mounted.notifier.withdraw_attributes(nyala_fuse::Ino(gone)).unwrap();
    assert!(!reads_as("1234"));
}

#[test]
fn the_umask_is_left_to_the_handler() {
    let features = Features { posix_acl: true, dont_mask: true, ..Features::default() };
    let mounted = mounted(Knobs { features, ..Knobs::default() });
    let mut shell = Command::new("sh");
    let status = shell.arg("-c").arg("umask 027; mkdir dir; : > file").current_dir(mounted.root()).status().unwrap();
    assert!(status.success());
    let made = mounted.fs.seen.made.lock().clone();
    let modes: Vec<_> = made.iter().map(|new| (new.mode & 0o7777, new.umask)).collect();
    assert_eq!(modes, [(0o777, 0o027), (0o666, 0o027)]);
}

#[test]
fn unnamed_files_get_names_later() {
    let mounted = mounted(Knobs::default());
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(mounted.root()).unwrap();
    file.write_all(b"unnamed").unwrap();
    assert_eq!((file.metadata().unwrap().nlink(), fs::read_dir(mounted.root()).unwrap().count()), (0, 0));
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let (here, flags) = (rustix::fs::CWD, rustix::fs::AtFlags::SYMLINK_FOLLOW);
    rustix::fs::linkat(here, &link, here, mounted.path("named"), flags).unwrap();
    assert_eq!(fs::read(mounted.path("named")).unwrap(), b"unnamed");
}

#[test]
fn copies_are_offered_with_all_64_bits_and_birth_times_asked_for() {
    let mounted = mounted(Knobs::default());
    fs::write(mounted.path("from"), b"content").unwrap();
    let len: usize = 8 << 30;
    mounted.fs.elsewhere(|state| {
        let from = state.child(nyala_fuse::Ino::ROOT, b"from").unwrap();
        state.nodes.get_mut(&from).unwrap().attr.size = len as u64;
        mounted.notifier.withdraw_attributes(nyala_fuse::Ino(from)).unwrap();
    });
    let (from, to) = (File::open(mounted.path("from")).unwrap(), File::create(mounted.path("to")).unwrap());
    assert_eq!(from.metadata().unwrap().len(), len as u64);
    assert_eq!(rustix::fs::copy_file_range(&from, None, &to, None, len).unwrap(), len);
    let copies = mounted.fs.seen.copies.lock().clone();
    assert_eq!((copies.len(), copies[0].offset_in, copies[0].offset_out, copies[0].len), (1, 0, 0, len as u64));
    assert_eq!((copies[0].fh_in.0, copies[0].fh_out.0), (copies[0].ino_in.0, copies[0].ino_out.0));

    use rustix::fs::{AtFlags, StatxFlags, statx};
    for _ in 0..3 {
        let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let stat = statx(rustix::fs::CWD, mounted.path("from"), AtFlags::empty(), asked).unwrap();
        assert_eq!((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec), (77, 7));
    }
    assert_eq!(mounted.fs.seen.statxs.load(Ordering::SeqCst), 1, "kept");
}

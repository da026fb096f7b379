// SPDX-License-Identifier: Apache-2.0

//! Locks: `fcntl` (of processes and of open files) and `flock`, cluster-wide.
//!
//! **Failure model.** Whoever waits may be interrupted: the request is then dropped, and the client leaves no lock behind.
//! An unlock at a close has nobody to report to; if it fails, the lock ends with the session, and that is logged. The end
//! of an open file arrives a moment after the `close` that caused it has returned: see `lock_holders`.

use super::convert::{errno, inode};
use super::fs::NyalaFs;
use super::lock_holders::{CloseInProgress, Holding};
use super::processes::{Machine, seen_now};
use crate::types::{Context, Lock, LockArgs, ReleaseArgs, Result};
use crate::{Errno, Fh, Ino};
use nyala_wire::meta::{FileLock, LockKind};

/// The end of a file as the kernel says it.
const KERNEL_END: u64 = i64::MAX as u64;

/// A lock request as the cluster has it.
fn to_cluster(args: &LockArgs, flock: bool) -> Result<FileLock> {
    let kind = match args.lock.kind {
        libc::F_RDLCK => LockKind::Read,
        libc::F_WRLCK => LockKind::Write,
        libc::F_UNLCK => LockKind::Unlock,
        _ => return Err(Errno::EINVAL),
    };
    let Lock { start, end, pid, .. } = args.lock;
    let end = if end >= KERNEL_END { u64::MAX } else { end };
    let (start, end) = if flock { (0, u64::MAX) } else { (start, end) };
    Ok(FileLock { owner: args.owner, pid, kind, flock, start, end })
}

/// The lock in the way, or none, as the kernel has it.
fn to_kernel(asked: &Lock, found: Option<FileLock>) -> Lock {
    let Some(found) = found else { return Lock { kind: libc::F_UNLCK, ..*asked } };
    let kind = match found.kind {
        LockKind::Read => libc::F_RDLCK,
        LockKind::Write => libc::F_WRLCK,
        LockKind::Unlock => libc::F_UNLCK,
    };
    Lock { start: found.start.min(KERNEL_END), end: found.end.min(KERNEL_END), kind, pid: found.pid }
}

/// Gives up everything that an owner has.
fn everything(owner: u64, flock: bool) -> FileLock {
    FileLock { owner, pid: 0, kind: LockKind::Unlock, flock, start: 0, end: u64::MAX }
}

fn holding(args: &LockArgs, flock: bool) -> Holding {
    Holding { fh: args.fh, owner: args.owner, flock }
}

/// `F_GETLK`.
pub async fn get(fs: &NyalaFs, ino: Ino, args: &LockArgs) -> Result<Lock> {
    let lock = to_cluster(args, false)?;
    let found = fs.client.get_lock(inode(ino), lock).await.map_err(|e| errno("getlk", ino, e))?;
    Ok(to_kernel(&args.lock, found))
}

/// `F_SETLK`, `F_SETLKW` and their kin for open files.
pub async fn set(fs: &NyalaFs, ino: Ino, args: &LockArgs) -> Result<()> {
    let lock = to_cluster(args, false)?;
    let fail = |error| errno("setlk", ino, error);
    if lock.kind != LockKind::Unlock {
        let _busy = fs.lock_owners.locking(ino, args.owner, args.fh);
        fs.lock_holders.note_lock(ino, holding(args, false), seen_now(args.lock.pid));
        return fs.client.set_lock(inode(ino), lock, args.wait).await.map_err(fail);
    }
    if !fs.lock_owners.may_hold(ino, args.owner) {
        return Ok(());
    }
    fs.client.set_lock(inode(ino), lock, false).await.map_err(fail)?;
    if (lock.start, lock.end) == (0, u64::MAX) {
        fs.lock_owners.unlocked(ino, args.owner);
        fs.lock_holders.gave_up(ino, holding(args, false));
    }
    Ok(())
}

/// `flock`.
pub async fn flock(fs: &NyalaFs, ino: Ino, args: &LockArgs) -> Result<()> {
    let lock = to_cluster(args, true)?;
    if lock.kind != LockKind::Unlock {
        fs.lock_holders.note_lock(ino, holding(args, true), seen_now(args.lock.pid));
    }
    fs.client.set_lock(inode(ino), lock, args.wait).await.map_err(|e| errno("flock", ino, e))?;
    if lock.kind == LockKind::Unlock {
        fs.lock_holders.gave_up(ino, holding(args, true));
    }
    Ok(())
}

/// A thread begins to close the file.
pub fn begin_close<'a>(fs: &'a NyalaFs, ctx: &Context, ino: Ino, fh: Fh, owner: u64) -> Option<CloseInProgress<'a>> {
    fs.lock_holders.begin_close(ino, fh, owner, ctx.pid, &Machine { notifier: None })
}

/// A process closed the file.
pub async fn flushed(fs: &NyalaFs, ino: Ino, owner: u64) {
    if fs.lock_owners.flushed(ino, owner) {
        give_up(fs, ino, everything(owner, false)).await;
    }
}

/// An open file has ended.
pub async fn released(fs: &NyalaFs, ino: Ino, args: &ReleaseArgs) {
    let _ending = fs.lock_holders.released(ino, args.fh);
    if args.flock_unlock {
        give_up(fs, ino, everything(args.lock_owner, true)).await;
    }
    for owner in fs.lock_owners.released(ino, args.fh) {
        give_up(fs, ino, everything(owner, false)).await;
    }
}

async fn give_up(fs: &NyalaFs, ino: Ino, lock: FileLock) {
    if let Err(error) = fs.client.set_lock(inode(ino), lock, false).await {
        tracing::warn!(inode = %inode(ino), %error, "locks of a closed file were not released; they end with the session");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(kind: i32, start: u64, end: u64) -> LockArgs {
        LockArgs { fh: Fh(1), owner: 77, lock: Lock { start, end, kind, pid: 5 }, wait: false }
    }

    #[test]
    fn ranges_to_the_end_and_whole_files() {
        let lock = to_cluster(&args(libc::F_WRLCK, 10, KERNEL_END), false).unwrap();
        assert_eq!(
            (lock.start, lock.end, lock.kind, lock.owner, lock.flock),
            (10, u64::MAX, LockKind::Write, 77, false)
        );
        let lock = to_cluster(&args(libc::F_RDLCK, 10, 19), false).unwrap();
        assert_eq!((lock.start, lock.end, lock.kind), (10, 19, LockKind::Read));
        let lock = to_cluster(&args(libc::F_UNLCK, 10, 19), true).unwrap();
        assert_eq!((lock.start, lock.end, lock.flock), (0, u64::MAX, true));
        assert_eq!(to_cluster(&args(9, 0, 0), false), Err(Errno::EINVAL));
    }

    #[test]
    fn answers_stay_inside_what_the_kernel_takes() {
        let asked = args(libc::F_WRLCK, 3, 4).lock;
        assert_eq!(to_kernel(&asked, None), Lock { kind: libc::F_UNLCK, ..asked });
        let found = FileLock { owner: 1, pid: 9, kind: LockKind::Read, flock: false, start: 2, end: u64::MAX };
        assert_eq!(to_kernel(&asked, Some(found)), Lock { start: 2, end: KERNEL_END, kind: libc::F_RDLCK, pid: 9 });
    }
}

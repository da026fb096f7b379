// SPDX-License-Identifier: Apache-2.0

//! Who may hold byte-range locks, so that closing releases them. Pure, besides the lock.
//!
//! The kernel does not say when a lock ends by a close. It says that a process closed a file (flush, with the process's
//! owner number), which ends that process's locks on it, and that an open file has ended (release), which ends the locks
//! that belong to the open file itself. So it is remembered which owner used which open file for locks.
//!
//! **Failure model.** Requests on one lock owner may run at once, and one that waits for a lock may be dropped when it is
//! interrupted; what is remembered is never less than what may be locked, and becomes less only when everything was
//! released and nothing is under way. A release comes late: the process may have locked again through another open
//! file meanwhile, which the flush before has separated.

use crate::{Fh, Ino};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
#[derive(Default)]
pub struct LockOwners {
    /// Inodes in `by_inode`, to be read without the lock: closing a file that nobody locks costs nothing.
    count: AtomicUsize,
    by_inode: Mutex<HashMap<u64, Vec<Holder>>>,
}

struct Holder {
    owner: u64,
    files: Vec<u64>,
    /// Requests under way.
    busy: u32,
}

/// A request of an owner; ends when dropped.
pub struct Busy<'a> {
    owners: &'a LockOwners,
    ino: Ino,
    owner: u64,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.owners.change(self.ino, |holders| {
            if let Some(holder) = holders.iter_mut().find(|holder| holder.owner == self.owner) {
                holder.busy = holder.busy.saturating_sub(1);
            }
        });
    }
}

impl LockOwners {
    fn change<T>(&self, ino: Ino, work: impl FnOnce(&mut Vec<Holder>) -> T) -> T {
        let mut by_inode = self.by_inode.lock();
        let holders = by_inode.entry(ino.0).or_default();
        let result = work(holders);
        if holders.is_empty() {
            by_inode.remove(&ino.0);
        }
        self.count.store(by_inode.len(), Ordering::Release);
        result
    }

    /// An owner is about to take a lock through an open file.
    pub fn locking(&self, ino: Ino, owner: u64, fh: Fh) -> Busy<'_> {
        self.change(ino, |holders| {
            let at = holders.iter().position(|holder| holder.owner == owner).unwrap_or_else(|| {
                holders.push(Holder { owner, files: Vec::new(), busy: 0 });
                holders.len() - 1
            });
            let holder = &mut holders[at];
            holder.busy += 1;
            if !holder.files.contains(&fh.0) {
                holder.files.push(fh.0);
            }
        });
        Busy { owners: self, ino, owner }
    }

    /// Whether the owner may have a lock on the inode.
    pub fn may_hold(&self, ino: Ino, owner: u64) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.by_inode.lock().get(&ino.0).is_some_and(|holders| holders.iter().any(|holder| holder.owner == owner))
    }

    /// The owner has given up all of its locks on the inode by itself.
    pub fn unlocked(&self, ino: Ino, owner: u64) {
        self.change(ino, |holders| holders.retain(|holder| holder.owner != owner || holder.busy > 0));
    }

    /// A process closes the file: whether it may have locks, which are to be released now.
    pub fn flushed(&self, ino: Ino, owner: u64) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.change(ino, |holders| {
            let before = holders.len();
            holders.retain(|holder| holder.owner != owner);
            holders.len() < before
        })
    }

    /// An open file has ended: the owners whose locks are to be released now.
    pub fn released(&self, ino: Ino, fh: Fh) -> Vec<u64> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.change(ino, |holders| {
            let ended = holders.extract_if(.., |holder| holder.files.contains(&fh.0));
            ended.map(|holder| holder.owner).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Ino = Ino(5);

    #[test]
    fn a_flush_ends_a_process_and_a_release_an_open_file() {
        let owners = LockOwners::default();
        assert!(!owners.flushed(FILE, 1));
        assert!(owners.released(FILE, Fh(1)).is_empty());
        drop(owners.locking(FILE, 1, Fh(10)));
        drop(owners.locking(FILE, 2, Fh(10)));
        drop(owners.locking(FILE, 3, Fh(11)));
        assert!(owners.may_hold(FILE, 1) && !owners.may_hold(Ino(6), 1));
        assert!(owners.flushed(FILE, 1));
        assert!(!owners.flushed(FILE, 1));
        assert_eq!(owners.released(FILE, Fh(10)), [2]);
        assert_eq!(owners.released(FILE, Fh(11)), [3]);
        assert!(owners.by_inode.lock().is_empty());
    }

    #[test]
    fn a_late_release_does_not_end_what_was_locked_anew_through_another_file() {
        let owners = LockOwners::default();
        drop(owners.locking(FILE, 1, Fh(10)));
        assert!(owners.flushed(FILE, 1));
        drop(owners.locking(FILE, 1, Fh(11)));
        assert!(owners.released(FILE, Fh(10)).is_empty());
        assert!(owners.may_hold(FILE, 1));
    }

    #[test]
    fn unlocking_everything_forgets_unless_a_lock_is_under_way() {
        let owners = LockOwners::default();
        drop(owners.locking(FILE, 1, Fh(10)));
        let waiting = owners.locking(FILE, 1, Fh(11));
        owners.unlocked(FILE, 1);
        assert!(owners.may_hold(FILE, 1));
        drop(waiting);
        owners.unlocked(FILE, 1);
        assert!(!owners.may_hold(FILE, 1));
        assert_eq!(owners.count.load(Ordering::Relaxed), 0);
        // A request that outlives the record ends quietly.
        let late = owners.locking(FILE, 2, Fh(1));
        assert!(owners.flushed(FILE, 2));
        drop(late);
        assert!(owners.by_inode.lock().is_empty());
    }
}

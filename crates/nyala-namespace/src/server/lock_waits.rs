// SPDX-License-Identifier: Apache-2.0

//! Who waits on this server for which lock of a file. What was waited for is read from the tables whenever it counts.

use crate::file_locks::FileLocks;
use nyala_wire::meta::FileLock;
use nyala_wire::meta_tx::{LockEdge, LockOwner, MAX_LOCK_EDGES};
use nyala_wire::{ErrorCode, InodeId, SessionId, Slot, WireError};
use std::collections::{BTreeMap, BTreeSet};

/// Most waits at once; beyond, ENOLCK.
const MAX_WAITS: usize = 1 << 16;

/// One who waits.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    /// Whose program waits.
    pub session: SessionId,
    /// For a lock of this file.
    pub inode: InodeId,
    /// What it waits for.
    pub lock: FileLock,
    /// It shall end: nobody waits any more.
    over: bool,
}

impl LockWait {
    /// Who waits.
    pub fn owner(&self) -> LockOwner {
        cluster_wide(LockOwner { session: self.session, owner: self.lock.owner })
    }
}

/// Names an owner as all servers do: its client has a session with each of them.
pub fn cluster_wide(owner: LockOwner) -> LockOwner {
    LockOwner { session: owner.session.client(), owner: owner.owner }
}

/// All waits.
#[derive(Debug, Default)]
pub struct LockWaits {
    all: BTreeMap<u64, LockWait>,
    by_owner: BTreeMap<LockOwner, Vec<u64>>,
    next: u64,
}

impl LockWaits {
    /// Begins a wait and returns its number. ENOLCK if there are too many.
    pub fn begin(&mut self, session: SessionId, inode: InodeId, lock: FileLock) -> Result<u64, WireError> {
        if self.all.len() >= MAX_WAITS {
            return Err(ErrorCode::NO_LOCKS.with("too many programs wait for locks"));
        }
        let number = self.next;
        self.next += 1;
        let wait = LockWait { session, inode, lock, over: false };
        self.all.insert(number, wait);
        self.by_owner.entry(wait.owner()).or_default().push(number);
        Ok(number)
    }

    /// Nobody waits under this number any more.
    pub fn leave(&mut self, number: u64) {
        let Some(wait) = self.all.remove(&number) else { return };
        if let Some(numbers) = self.by_owner.get_mut(&wait.owner()) {
            numbers.retain(|one| *one != number);
            if numbers.is_empty() {
                self.by_owner.remove(&wait.owner());
            }
        }
    }

    /// Whether a wait shall end.
    pub fn is_over(&self, number: u64) -> bool {
        self.all.get(&number).is_none_or(|wait| wait.over)
    }

    /// An owner gives up a range: it no longer waits for a lock within that.
    pub fn give_up(&mut self, session: SessionId, inode: InodeId, lock: &FileLock) {
        let inside = |wait: &LockWait| lock.flock || (lock.start <= wait.lock.start && wait.lock.end <= lock.end);
        let owner = cluster_wide(LockOwner { session, owner: lock.owner });
        self.stop(|wait| wait.owner() == owner && wait.inode == inode && wait.lock.flock == lock.flock && inside(wait));
    }

    /// The files of a slot that somebody waits for.
    pub fn in_slot(&self, slot: Slot) -> BTreeSet<InodeId> {
        self.all.values().map(|wait| wait.inode).filter(|inode| inode.slot() == slot).collect()
    }

    /// A session has ended: it waits for nothing any more. Returns the files that it waited for.
    pub fn forget(&mut self, session: SessionId) -> BTreeSet<InodeId> {
        self.stop(|wait| wait.session == session)
    }

    fn stop(&mut self, which: impl Fn(&LockWait) -> bool) -> BTreeSet<InodeId> {
        let mut inodes = BTreeSet::new();
        for wait in self.all.values_mut().filter(|wait| which(wait)) {
            wait.over = true;
            inodes.insert(wait.inode);
        }
        inodes
    }

    /// For whom an owner waits on this server, with the waits' numbers. `locks`: all locks on a file.
    pub fn waits_for(&self, owner: LockOwner, locks: &dyn Fn(InodeId) -> FileLocks) -> Vec<LockEdge> {
        let numbers = self.by_owner.get(&owner).map_or(&[][..], |numbers| &numbers[..]);
        let mut edges = Vec::new();
        for (number, wait) in numbers.iter().filter_map(|number| Some((*number, self.all.get(number)?))) {
            if wait.over || wait.lock.flock {
                continue;
            }
            let locks = locks(wait.inode);
            let holders = locks.in_the_way(wait.session, &wait.lock).map(|held| cluster_wide(held.owner()));
            // What is left of its client's last session goes when that ends: that is no circle.
            let holders: BTreeSet<LockOwner> = holders.filter(|holder| *holder != owner).collect();
            edges.extend(holders.into_iter().map(|holder| LockEdge { waiter: owner, holder, wait: number }));
        }
        edges
    }

    /// All who wait for byte-range locks, and for whom; at most [`MAX_LOCK_EDGES`].
    pub fn edges(&self, locks: &dyn Fn(InodeId) -> FileLocks) -> Vec<LockEdge> {
        self.by_owner.keys().flat_map(|owner| self.waits_for(*owner, locks)).take(MAX_LOCK_EDGES).collect()
    }

    /// Number of waits.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_owner.is_empty()
    }
}

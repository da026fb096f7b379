// SPDX-License-Identifier: Apache-2.0

//! The delegations of a client in shards, each with the delegations of some inodes behind a lock of its own: every read and
//! write asks here twice, and those of different files are not to wait for each other.
//!
//! **Failure model.** What is decided about one inode is decided under its shard's lock. What has to be true of several at
//! once takes the locks of all of them, always in the order of the shards, so that nobody waits in a circle. Whoever holds one
//! lock takes no other shard's.

use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::delegations::Delegations;
use crate::delegation::logic::shared::Shared;
use nyala_wire::InodeId;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// More than threads that are at work at the same time; a power of two.
const SHARDS: usize = 64;

/// The delegations of some inodes.
pub(crate) type Shard = Delegations<CachedInode>;

/// On cache lines of its own: what one shard writes must not slow down its neighbours.
#[repr(align(128))]
struct Own(Mutex<Shard>);

pub(crate) struct Shards {
    list: Box<[Own]>,
    pub(crate) shared: Arc<Shared>,
}

/// The locks of several shards.
pub(crate) struct Locked<'a>(Vec<(usize, MutexGuard<'a, Shard>)>);

fn number(inode: InodeId) -> usize {
    // Fibonacci hashing: numbers in a row fall apart.
    (inode.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SHARDS
}

impl Default for Shards {
    fn default() -> Shards {
        let shared = Arc::new(Shared::default());
        let list = (0..SHARDS).map(|_| Own(Mutex::new(Delegations::new(shared.clone())))).collect();
        Shards { list, shared }
    }
}

impl Shards {
    /// The shard of an inode.
    pub(crate) fn lock(&self, inode: InodeId) -> MutexGuard<'_, Shard> {
        self.list[number(inode)].0.lock()
    }

    /// The shards of several inodes.
    pub(crate) fn lock_of(&self, inodes: impl IntoIterator<Item = InodeId>) -> Locked<'_> {
        let mut numbers: Vec<usize> = inodes.into_iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Locked(numbers.into_iter().map(|number| (number, self.list[number].0.lock())).collect())
    }

    /// All shards.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.list.iter().map(|own| own.0.lock()).collect()
    }

    /// One shard after the other: not all of it is true at the same moment.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.list.iter().map(|own| own.0.lock())
    }
}

impl Locked<'_> {
    /// The shard of an inode that was named when they were locked.
    pub(crate) fn of(&mut self, inode: InodeId) -> &mut Shard {
        let wanted = number(inode);
        let found = self.0.iter_mut().find(|(number, _)| *number == wanted);
        // why: callers name all inodes that they are going to ask for.
        &mut found.unwrap_or_else(|| unreachable!("the shard of {inode} was not locked")).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inodes_in_a_row_are_in_different_shards() {
        for slot in [0_u64, 7, 65_535] {
            let mut counts = [0; SHARDS];
            (0..6_400).for_each(|sequence| counts[number(InodeId(slot << 48 | sequence))] += 1);
            assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
        }
    }

    #[test]
    fn several_are_locked_once_each_and_in_order() {
        let shards = Shards::default();
        let one = InodeId(1);
        let other = (2..).map(InodeId).find(|inode| number(*inode) < number(one)).expect("one of 64 is smaller");
        let mut locked = shards.lock_of([one, other, one]);
        assert_eq!(locked.0.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [number(other), number(one)]);
        assert!(locked.of(one).is_empty() && locked.of(other).is_empty());
        assert!(shards.list[number(one)].0.try_lock().is_none());
        drop(locked);
        assert_eq!(shards.lock_all().len(), SHARDS);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Locks that transactions between servers hold. Operations on one server need none: each runs to its end in one turn.
//!
//! Pure: who waits, and for how long, is the service's business.

use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, Name, Slot};
use std::collections::HashMap;

/// What can be locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockKey {
    /// An inode: nobody else reads or changes it, or what is in it.
    Inode(InodeId),
    /// A name in a directory.
    Entry(InodeId, Name),
    /// The cluster-wide lock of renames that move a directory to another directory.
    Rename,
    /// A directory that must not be removed; many transactions may hold this one.
    Pin(InodeId),
}

impl LockKey {
    /// The inode that changes under this lock, or in which something does.
    pub fn inode(&self) -> Option<InodeId> {
        match self {
            LockKey::Inode(inode) | LockKey::Entry(inode, _) | LockKey::Pin(inode) => Some(*inode),
            LockKey::Rename => None,
        }
    }

    /// The slot that it is in.
    pub fn slot(&self) -> Slot {
        self.inode().unwrap_or(InodeId::ROOT).slot()
    }
}

/// Locks held on this server.
#[derive(Debug, Default)]
pub struct Locks {
    exclusive: HashMap<LockKey, TxId>,
    pins: HashMap<InodeId, Vec<TxId>>,
    /// Directories with locked names, and how many.
    dirs: HashMap<InodeId, usize>,
    /// Slots that nobody uses: they are about to be another server's.
    sealed: Vec<Slot>,
}

impl Locks {
    /// Whether nobody holds anything, the usual case.
    pub fn is_empty(&self) -> bool {
        self.exclusive.is_empty() && self.pins.is_empty()
    }

    /// Whether somebody other than `me` stands in the way of using an inode.
    pub fn inode_blocked(&self, inode: InodeId, me: Option<TxId>) -> bool {
        self.is_sealed(inode.slot()) || (!self.exclusive.is_empty() && self.held_by_other(&LockKey::Inode(inode), me))
    }

    /// Whether somebody other than `me` stands in the way of using a name.
    pub fn entry_blocked(&self, dir: InodeId, name: &Name, me: Option<TxId>) -> bool {
        self.is_sealed(dir.slot())
            || (!self.exclusive.is_empty() && self.held_by_other(&LockKey::Entry(dir, name.clone()), me))
    }

    /// Whether nobody may use what is in a slot.
    #[inline]
    pub fn is_sealed(&self, slot: Slot) -> bool {
        !self.sealed.is_empty() && self.sealed.contains(&slot)
    }

    /// From now on nobody uses what is in these slots, and in no others. Nobody holds anything in them.
    pub fn seal(&mut self, slots: Vec<Slot>) {
        self.sealed = slots;
    }

    /// Whether anybody holds anything in a slot.
    pub fn any_in(&self, slot: Slot) -> bool {
        self.exclusive.keys().any(|key| key.slot() == slot) || self.pins.keys().any(|dir| dir.slot() == slot)
    }

    /// Whether a transaction other than `me` needs this directory to stay.
    pub fn pinned(&self, dir: InodeId, me: Option<TxId>) -> bool {
        self.pins.get(&dir).is_some_and(|holders| holders.iter().any(|holder| Some(*holder) != me))
    }

    /// Whether any transaction is about to change an inode, or what is in it.
    pub fn in_use(&self, inode: InodeId) -> bool {
        !self.is_empty()
            && (self.pins.contains_key(&inode)
                || self.dirs.contains_key(&inode)
                || self.exclusive.contains_key(&LockKey::Inode(inode)))
    }

    fn held_by_other(&self, key: &LockKey, me: Option<TxId>) -> bool {
        self.exclusive.get(key).is_some_and(|holder| Some(*holder) != me)
    }

    /// Whether `tx` could take all of `keys`.
    pub fn are_free(&self, tx: TxId, keys: &[LockKey]) -> bool {
        !keys.iter().any(|key| self.is_sealed(key.slot()) || self.held_by_other(key, Some(tx)))
    }

    /// Who needs this directory to stay.
    pub fn pinned_by(&self, dir: InodeId) -> Vec<TxId> {
        self.pins.get(&dir).cloned().unwrap_or_default()
    }

    /// Takes all of `keys` for `tx`, or none if another transaction holds one.
    pub fn acquire(&mut self, tx: TxId, keys: &[LockKey]) -> bool {
        if !self.are_free(tx, keys) {
            return false;
        }
        for key in keys {
            if let LockKey::Pin(dir) = key {
                self.pins.entry(*dir).or_default().push(tx);
            } else if self.exclusive.insert(key.clone(), tx).is_none()
                && let LockKey::Entry(dir, _) = key
            {
                *self.dirs.entry(*dir).or_default() += 1;
            }
        }
        true
    }

    /// Releases everything that `tx` holds.
    pub fn release(&mut self, tx: TxId) {
        let dirs = &mut self.dirs;
        self.exclusive.retain(|key, holder| {
            if let (LockKey::Entry(dir, _), true) = (key, *holder == tx)
                && let Some(count) = dirs.get_mut(dir)
            {
                *count -= 1;
            }
            *holder != tx
        });
        self.dirs.retain(|_, count| *count > 0);
        self.pins.retain(|_, holders| {
            holders.retain(|holder| *holder != tx);
            !holders.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::TargetId;

    #[test]
    fn exclusive_and_shared() {
        let tx = |number| TxId { coordinator: TargetId(1), number };
        let mut locks = Locks::default();
        let (inode, dir) = (InodeId(5), InodeId(6));
        assert!(locks.acquire(tx(1), &[LockKey::Inode(inode), LockKey::Pin(dir)]));
        assert!(locks.acquire(tx(1), &[LockKey::Inode(inode)]), "again by its holder");
        assert!(!locks.acquire(tx(2), &[LockKey::Rename, LockKey::Inode(inode)]));
        assert!(locks.acquire(tx(3), &[LockKey::Rename, LockKey::Pin(dir)]), "nothing was kept of the failed try");
        assert!(locks.inode_blocked(inode, None) && !locks.inode_blocked(inode, Some(tx(1))));
        assert!(locks.pinned(dir, Some(tx(1))));
        assert!(locks.in_use(inode) && locks.in_use(dir) && !locks.in_use(InodeId(7)));
        let name = |text: &[u8]| LockKey::Entry(InodeId(7), Name::new(text).unwrap());
        assert!(locks.acquire(tx(4), &[name(b"a"), name(b"b"), name(b"a")]) && locks.in_use(InodeId(7)));
        locks.release(tx(4));
        assert!(!locks.in_use(InodeId(7)));
        locks.release(tx(1));
        assert!(!locks.inode_blocked(inode, None) && locks.pinned(dir, None) && !locks.pinned(dir, Some(tx(3))));
        locks.release(tx(3));
        assert!(locks.is_empty());
    }

    #[test]
    fn what_is_in_a_sealed_slot_is_nobodys() {
        let tx = |number| TxId { coordinator: TargetId(1), number };
        let (mut locks, here, there) = (Locks::default(), InodeId(5), InodeId::new(Slot(3), 5).unwrap());
        let name = Name::new(b"a").unwrap();
        assert!(locks.acquire(tx(1), &[LockKey::Pin(there)]) && locks.any_in(Slot(3)) && !locks.any_in(Slot(0)));
        locks.release(tx(1));
        assert!(locks.acquire(tx(1), &[LockKey::Rename]) && locks.any_in(Slot(0)) && !locks.any_in(Slot(3)));
        locks.seal(vec![Slot(3)]);
        assert!(locks.inode_blocked(there, Some(tx(1))) && locks.entry_blocked(there, &name, None));
        assert!(!locks.inode_blocked(here, None) && locks.acquire(tx(2), &[LockKey::Inode(here)]));
        assert!(!locks.acquire(tx(2), &[LockKey::Entry(there, name)]));
        locks.seal(Vec::new());
        assert!(!locks.inode_blocked(there, None));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The store as the name-space logic reads it, and what its errors are to clients.
//!
//! Failure model: that of `nyala-store`. An error of the store is an answer here, never something that is missing.

use crate::numbers::Numbers;
use crate::store_error::{Takeover, store_error};
use nyala_kv::{Batch, Visit};
use nyala_namespace::keys;
use nyala_namespace::ns::deferred_unlink::HOLDER;
use nyala_namespace::view::View;
use nyala_store::{Store, StoreError};
use nyala_wire::{InodeId, SessionId, WireError};
use parking_lot::RwLock;
use std::collections::{BTreeSet, HashSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// A store, read as it is.
#[derive(Clone, Copy)]
pub struct StoreView<'a>(pub &'a Store);

/// A store, and in memory who holds which file open and which files have locks, so that removing a file needs no scan over
/// what was closed.
#[derive(Clone)]
pub struct Tables {
    /// The store.
    pub store: Store,
    opens: Arc<RwLock<BTreeSet<(InodeId, SessionId)>>>,
    deferred: Arc<RwLock<BTreeSet<InodeId>>>,
    locked: Arc<RwLock<HashSet<InodeId>>>,
    numbers: Arc<RwLock<Numbers>>,
    /// Whether another member of the mirror group goes on where these are damaged.
    pub takeover: Arc<Takeover>,
}

impl Tables {
    /// Reads who holds what open, and what is locked.
    pub fn new(store: Store) -> Result<Tables, WireError> {
        let mut opens = BTreeSet::new();
        StoreView(&store).scan(&[keys::OPEN], &[keys::OPEN + 1], &mut |key, _| {
            opens.extend(keys::parse_open(key));
            ControlFlow::Continue(())
        })?;
        let mut locked = HashSet::new();
        StoreView(&store).scan(&[keys::FILE_LOCKS], &[keys::FILE_LOCKS + 1], &mut |key, _| {
            locked.extend(keys::parse_inode(key));
            ControlFlow::Continue(())
        })?;
        let deferred = opens.iter().filter(|(_, opener)| *opener == HOLDER).map(|(inode, _)| *inode).collect();
        let (opens, deferred) = (Arc::new(RwLock::new(opens)), Arc::new(RwLock::new(deferred)));
        let (locked, numbers) = (RwLock::new(locked), RwLock::new(Numbers::read(&StoreView(&store))?));
        let (locked, numbers, takeover) = (Arc::new(locked), Arc::new(numbers), Arc::default());
        Ok(Tables { store, opens, deferred, locked, numbers, takeover })
    }

    /// Applies a batch to the store. Errors: as [`store_error`] says, with nothing done.
    pub fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        self.change(batch).map_err(store_error)
    }

    /// The same with the store's own error.
    pub fn change(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut numbers = self.numbers.write(); // first, so that numbers change in the store's order
        self.store.apply(batch)?;
        for (key, value) in batch.iter() {
            match (key.first(), value) {
                (Some(&keys::OPEN), value) => self.note_open(key, value.is_some()),
                (Some(&keys::FILE_LOCKS), Some(_)) => self.locked.write().extend(keys::parse_inode(key)),
                (Some(&keys::FILE_LOCKS), None) => {
                    keys::parse_inode(key).map(|inode| self.locked.write().remove(&inode));
                }
                (Some(&keys::NEXT | &keys::MISC), value) => numbers.note(key, value),
                _ => {}
            }
        }
        Ok(())
    }

    fn note_open(&self, key: &[u8], open: bool) {
        let Some(row) = keys::parse_open(key) else { return };
        let (inode, opener) = row;
        match open {
            true => self.opens.write().insert(row),
            false => self.opens.write().remove(&row),
        };
        match open {
            _ if opener != HOLDER => false,
            true => self.deferred.write().insert(inode),
            false => self.deferred.write().remove(&inode),
        };
    }

    /// What the server itself holds open ([`nyala_namespace::ns::deferred_unlink`]).
    pub fn deferred(&self) -> BTreeSet<InodeId> {
        self.deferred.read().clone()
    }

    /// What a session holds open.
    pub fn opened_by(&self, session: SessionId) -> Vec<InodeId> {
        let opens = self.opens.read();
        opens.iter().filter(|(_, opener)| *opener == session).map(|(inode, _)| *inode).collect()
    }
}

impl View for Tables {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        self.store.get(key).map_err(|error| self.takeover.error(error))
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        let scanned = self.store.scan(Bound::Included(from), Bound::Excluded(to), visit);
        scanned.map_err(|error| self.takeover.error(error))
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>, WireError> {
        self.numbers.read().get(key).map_or_else(|| StoreView(&self.store).number(key), |known| Ok(Some(known)))
    }

    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        Ok(self.locked.read().contains(&inode))
    }

    fn openers(&self, inode: InodeId) -> Result<usize, WireError> {
        Ok(self.opens.read().range((inode, SessionId(0))..=(inode, SessionId(u64::MAX))).count())
    }
}

impl View for StoreView<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        self.0.get(key).map_err(store_error)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        self.0.scan(Bound::Included(from), Bound::Excluded(to), visit).map_err(store_error)
    }
}

#[cfg(test)]
mod tests;

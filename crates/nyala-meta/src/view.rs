// SPDX-License-Identifier: Apache-2.0

//! What the name-space logic sees of the tables: an ordered map that it reads. It never writes; it returns batches.

use crate::keys;
use crate::ns::linger::HOLDER;
use nyala_store::{Batch, Store};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use parking_lot::RwLock;
use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Called for each key and value of a scan, until it breaks.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Ordered tables, as the logic reads them.
pub trait View {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError>;
    /// Visits keys from `from` up to but not including `to`, in order.
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError>;

    /// How many sessions hold an inode open. Asked for every file that is removed, so a view may know it without a scan.
    fn openers(&self, inode: InodeId) -> Result<usize, WireError> {
        let mut count = 0;
        let prefix = keys::open_prefix(inode);
        self.scan(&prefix, &keys::prefix_end(&prefix), &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Whether somebody has locks on a file. Asked for every file that is removed as well.
    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        Ok(self.get(&keys::file_locks(inode))?.is_some())
    }
}

/// A store, and in memory who holds which file open and which files have locks, so that removing a file needs no scan over
/// what was closed.
#[derive(Clone)]
pub struct Tables {
    /// The store.
    pub store: Store,
    opens: Arc<RwLock<BTreeSet<(InodeId, SessionId)>>>,
    lingering: Arc<RwLock<BTreeSet<InodeId>>>,
    locked: Arc<RwLock<HashSet<InodeId>>>,
}

impl Tables {
    /// Reads who holds what open, and what is locked.
    pub fn new(store: Store) -> Result<Tables, WireError> {
        let mut opens = BTreeSet::new();
        View::scan(&store, &[keys::OPEN], &[keys::OPEN + 1], &mut |key, _| {
            opens.extend(keys::parse_open(key));
            ControlFlow::Continue(())
        })?;
        let mut locked = HashSet::new();
        View::scan(&store, &[keys::FILE_LOCKS], &[keys::FILE_LOCKS + 1], &mut |key, _| {
            locked.extend(keys::parse_inode(key));
            ControlFlow::Continue(())
        })?;
        let lingering = opens.iter().filter(|(_, opener)| *opener == HOLDER).map(|(inode, _)| *inode).collect();
        let (opens, lingering) = (Arc::new(RwLock::new(opens)), Arc::new(RwLock::new(lingering)));
        Ok(Tables { store, opens, lingering, locked: Arc::new(RwLock::new(locked)) })
    }

    /// Applies a batch to the store. Errors: as [`store_error`] says, with nothing done.
    pub fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        self.store.apply(batch).map_err(store_error)?;
        for (key, value) in batch.iter() {
            match (key.first(), value) {
                (Some(&keys::OPEN), value) => self.note_open(key, value.is_some()),
                (Some(&keys::FILE_LOCKS), Some(_)) => self.locked.write().extend(keys::parse_inode(key)),
                (Some(&keys::FILE_LOCKS), None) => {
                    keys::parse_inode(key).map(|inode| self.locked.write().remove(&inode));
                }
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
            true => self.lingering.write().insert(inode),
            false => self.lingering.write().remove(&inode),
        };
    }

    /// What the server itself holds open ([`crate::ns::linger`]).
    pub fn lingering(&self) -> BTreeSet<InodeId> {
        self.lingering.read().clone()
    }

    /// What a session holds open.
    pub fn opened_by(&self, session: SessionId) -> Vec<InodeId> {
        let opens = self.opens.read();
        opens.iter().filter(|(_, opener)| *opener == session).map(|(inode, _)| *inode).collect()
    }
}

impl View for Tables {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        View::get(&self.store, key)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        View::scan(&self.store, from, to, visit)
    }

    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        Ok(self.locked.read().contains(&inode))
    }

    fn openers(&self, inode: InodeId) -> Result<usize, WireError> {
        Ok(self.opens.read().range((inode, SessionId(0))..=(inode, SessionId(u64::MAX))).count())
    }
}

impl View for nyala_store::Store {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        nyala_store::Store::get(self, key).map_err(store_error)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        use std::ops::Bound;
        nyala_store::Store::scan(self, Bound::Included(from), Bound::Excluded(to), visit).map_err(store_error)
    }
}

/// The store's errors as clients see them: a full store is ENOSPC, one that is behind or closing is worth another try,
/// anything else is an I/O error that the log explains.
pub fn store_error(error: nyala_store::StoreError) -> WireError {
    match error {
        nyala_store::StoreError::Full { .. } | nyala_store::StoreError::Reserved { .. } => {
            ErrorCode::NO_SPACE.with(error.to_string())
        }
        nyala_store::StoreError::Busy { .. } => ErrorCode::BUSY.with(error.to_string()),
        nyala_store::StoreError::Closed => ErrorCode::NOT_READY.with("the service stops"),
        other => {
            tracing::error!(error = %other, "metadata store");
            ErrorCode::IO.with(other.to_string())
        }
    }
}

/// Tables in memory, for tests of the logic.
#[derive(Clone, Debug, Default)]
pub struct MemView(pub std::collections::BTreeMap<Vec<u8>, Vec<u8>>);

impl MemView {
    /// Does what a batch says.
    pub fn apply(&mut self, batch: &nyala_store::Batch) {
        for (key, value) in batch.iter() {
            match value {
                Some(value) => self.0.insert(key.to_vec(), value.to_vec()),
                None => self.0.remove(key),
            };
        }
    }
}

impl View for MemView {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        Ok(self.0.get(key).map(|value| value.as_slice().into()))
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        for (key, value) in self.0.range(from.to_vec()..to.to_vec()) {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

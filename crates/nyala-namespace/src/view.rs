// SPDX-License-Identifier: Apache-2.0

//! What the name-space logic sees of the tables: an ordered map that it reads. It never writes; it returns batches.

use crate::keys;
use nyala_kv::{Batch, Key, Visit};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Ordered tables, as the logic reads them.
pub trait View {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError>;
    /// Visits keys from `from` up to but not including `to`, in order.
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError>;

    /// The number under a key of one ([`crate::change::Change::number`]). Two are asked for and changed by each operation that makes a file, so a
    /// view may know them without a search.
    fn number(&self, key: &[u8]) -> Result<Option<u64>, WireError> {
        self.get(key)?.map(|bytes| number_of(&bytes)).transpose()
    }

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

    /// The inodes that a session holds open.
    fn opened_by(&self, session: SessionId) -> Result<Vec<InodeId>, WireError> {
        let mut found = Vec::new();
        self.scan(&[keys::OPEN], &[keys::OPEN + 1], &mut |key, _| {
            found.extend(keys::parse_open(key).filter(|(_, by)| *by == session).map(|(inode, _)| inode));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Whether somebody has locks on a file. Asked for every file that is removed as well.
    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        Ok(self.get(&keys::file_locks(inode))?.is_some())
    }
}

/// The number that a row is. EIO if it is none.
pub fn number_of(row: &[u8]) -> Result<u64, WireError> {
    let bytes = <[u8; 8]>::try_from(row).map_err(|_| ErrorCode::IO.with("bad number"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Tables in memory, for tests of the logic.
#[derive(Clone, Debug, Default)]
pub struct MemView(pub std::collections::BTreeMap<Key, Vec<u8>>);

impl MemView {
    /// Does what a batch says.
    pub fn apply(&mut self, batch: &Batch) {
        for (key, value) in batch.iter() {
            match value {
                Some(value) => self.0.insert(Key::new(key), value.to_vec()),
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
        for (key, value) in self.0.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to))) {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What the name-space logic sees of the tables: an ordered map that it reads. It never writes; it returns batches.

use nyala_wire::{ErrorCode, WireError};
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

/// The store's errors as clients see them: a full store is ENOSPC, anything else is an I/O error that the log explains.
pub fn store_error(error: nyala_store::StoreError) -> WireError {
    match error {
        nyala_store::StoreError::Full { .. } => ErrorCode::NO_SPACE.with(error.to_string()),
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

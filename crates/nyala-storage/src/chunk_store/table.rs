// SPDX-License-Identifier: Apache-2.0

//! What the chunk store asks of the key-value store, as a trait, so that tests can crash and fail it.
//!
//! The order of batches is the order of the log: what survives a crash is always everything up to some batch.

use nyala_store::{Batch, ChangeKind, Lsn, Store, StoreError, Value};
use std::ops::{Bound, ControlFlow};

/// Changes in memory that a checkpoint would not make room of, bytes.
const FEW_BYTES: u64 = 1 << 20;

/// Called for each key and value of a scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Ordered durable tables.
pub trait Table: Send + Sync + 'static {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError>;
    /// Visits keys in order.
    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError>;
    /// Applies a batch as a whole; survives nothing yet.
    fn apply(&self, batch: &Batch) -> Result<Lsn, StoreError>;
    /// What was applied survives the death of the process.
    fn flush(&self) -> Result<Lsn, StoreError>;
    /// What was applied survives the death of the machine.
    fn sync(&self) -> Result<(), StoreError>;
    /// Up to here, everything survives the death of the machine.
    fn durable(&self) -> Lsn;
    /// Waits while too many changes are in memory.
    fn wait_room(&self);
    /// Would that return at once?
    fn has_room(&self) -> bool;
    /// May rows be added that others than removals need? Never waits.
    fn may_grow(&self) -> bool;
}

impl Table for Store {
    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        Store::get(self, key)
    }

    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        Store::scan(self, from, to, visit)
    }

    fn apply(&self, batch: &Batch) -> Result<Lsn, StoreError> {
        Store::apply(self, batch)
    }

    fn flush(&self) -> Result<Lsn, StoreError> {
        Store::flush(self)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sync_blocking()
    }

    fn durable(&self) -> Lsn {
        Store::durable(self)
    }

    fn has_room(&self) -> bool {
        !self.over_limit()
    }

    fn may_grow(&self) -> bool {
        // What waits for a checkpoint may be most of what is missing, and in mirror groups more of it on one member than on
        // another; the checkpoint has been asked for.
        self.admits(ChangeKind::Completes) || {
            let stats = self.stats();
            stats.active_bytes + stats.frozen_bytes > FEW_BYTES
        }
    }

    fn wait_room(&self) {
        if self.over_limit() {
            self.wait_room_blocking();
        }
    }
}

/// Visits everything whose key starts with `prefix`.
pub(crate) fn scan_prefix(table: &dyn Table, prefix: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let end = nyala_store::prefix_end(prefix);
    let to = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end.as_slice()) };
    table.scan(Bound::Included(prefix), to, visit)
}

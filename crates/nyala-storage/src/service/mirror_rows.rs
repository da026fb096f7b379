// SPDX-License-Identifier: Apache-2.0

//! What a member of a mirror group remembers, in its target's store: rows of `nyala_replica` under a prefix per group.
//!
//! **Failure model.** See `nyala_replica::rows`: a record is there as a whole or not, the last ones may be lost by a loss of power unless they were
//! asked for as durable. Each row is all that there is to say of its file, and members decide on several threads: so rows are queued in the order of
//! the decisions, and written in it by one thread at a time, what came together as one record. A row that cannot be read keeps the group closed here.

#[cfg(test)]
mod tests;

use crate::chunk_store::ChunkError;
use nyala_replica::rows::{RowKey, decode_runs, encode_runs};
use nyala_replica::{Job, Row};
use nyala_store::{Batch, Store, StoreError, prefix_end};
use nyala_wire::{GroupId, WireError};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};

/// First byte of the keys.
const TAG: u8 = b'M';
const ROWS_REMOVED_BY_A_RECORD: u64 = 4096;

fn key(group: GroupId, row: &[u8]) -> Vec<u8> {
    // why big-endian: as all numbers in keys
    [&[TAG][..], &group.0.to_be_bytes(), row].concat()
}

/// The rows of one group on their way into the store.
#[derive(Debug)]
pub(super) struct RowLog {
    group: GroupId,
    queue: Mutex<Queue>,
    /// Held from taking the queue until what was in it has its place in the log.
    turn: tokio::sync::Mutex<()>,
    closed: AtomicBool,
}

/// Rows, of each the newest; whose end it is when they are written; whether they are to be on disk then.
type Queue = (BTreeMap<RowKey, Row>, Vec<Job>, bool);

/// What came of some rows, and whose end that is.
pub(super) type Persisted = (Vec<Job>, Result<(), WireError>);

impl RowLog {
    /// Of this group.
    pub fn new(group: GroupId) -> RowLog {
        RowLog { group, queue: Mutex::default(), turn: tokio::sync::Mutex::new(()), closed: AtomicBool::new(false) }
    }

    /// Adds rows. Called in the order in which they were decided.
    pub fn push(&self, job: Job, rows: Vec<Row>, durable: bool) {
        let (newest, jobs, any_durable) = &mut *self.queue.lock();
        newest.extend(rows.into_iter().map(|row| (row.key, row)));
        jobs.push(job);
        *any_durable |= durable;
    }

    /// Writes what is queued, as one record; `None`: another one does that, or nothing is written any more. The lock is fair. Room is
    /// waited for before anything is taken: what comes meanwhile is part of the record, and whoever closes this waits for no room.
    pub async fn write(&self, kv: &Store) -> Option<Persisted> {
        kv.wait_room().await;
        let (applied, jobs, durable) = {
            let _turn = self.turn.lock().await;
            let (rows, jobs, durable) = std::mem::take(&mut *self.queue.lock());
            if jobs.is_empty() || self.closed.load(Ordering::Acquire) {
                return None;
            }
            let mut batch = Batch::new();
            for row in rows.into_values() {
                let key = key(self.group, &row.key.encode());
                match &row.runs {
                    Some(runs) => batch.put(key, encode_runs(runs)),
                    None => batch.delete(key),
                };
            }
            (kv.apply(&batch), jobs, durable)
        };
        let done = match applied {
            Ok(lsn) if durable => kv.wait_durable(lsn).await,
            applied => applied.and_then(|_| kv.flush().map(drop)),
        };
        Some((jobs, done.map_err(failed)))
    }

    /// Nothing is written any more, but for what is being written now.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether it is closed and nothing is being written.
    pub fn has_ended(&self) -> bool {
        self.closed.load(Ordering::Acquire) && self.turn.try_lock().is_ok()
    }
}

fn failed(error: StoreError) -> WireError {
    ChunkError::from(error).into()
}

/// All rows of a group.
pub(super) fn load(kv: &Store, group: GroupId) -> Result<Vec<Row>, WireError> {
    let prefix = key(group, &[]);
    let (end, mut raw) = (prefix_end(&prefix), Vec::new());
    kv.scan(Bound::Included(&prefix), Bound::Excluded(&end), &mut |key, value| {
        raw.push((key[prefix.len()..].to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .map_err(failed)?;
    raw.iter().map(|(key, value)| Ok(Row { key: RowKey::decode(key)?, runs: Some(decode_runs(value)?) })).collect()
}

/// Groups that there are rows of.
pub(super) fn groups(kv: &Store) -> Result<Vec<GroupId>, WireError> {
    let (mut found, mut next) = (Vec::new(), Some(0_u16));
    while let Some(group) = next {
        let (from, end, mut first) = (key(GroupId(group), &[]), prefix_end(&[TAG]), None);
        kv.scan(Bound::Included(&from), Bound::Excluded(&end), &mut |key, _| {
            first = key.get(1..3).map(|id| GroupId(u16::from(id[0]) << 8 | u16::from(id[1])));
            ControlFlow::Break(())
        })
        .map_err(failed)?;
        found.extend(first);
        next = first.and_then(|group| group.0.checked_add(1));
    }
    Ok(found)
}

/// Removes all rows of a group; how many there were. A crash leaves some, which are removed the next time.
pub(super) async fn remove(kv: &Store, group: GroupId) -> Result<u64, WireError> {
    let (prefix, mut removed) = (key(group, &[]), 0);
    let end = prefix_end(&prefix);
    loop {
        let (mut batch, mut count) = (Batch::new(), 0);
        kv.scan(Bound::Included(&prefix), Bound::Excluded(&end), &mut |key, _| {
            batch.delete(key);
            count += 1;
            if count < ROWS_REMOVED_BY_A_RECORD { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(failed)?;
        if count == 0 {
            return Ok(removed);
        }
        kv.wait_room().await;
        kv.apply(&batch).map_err(failed)?;
        removed += count;
    }
}

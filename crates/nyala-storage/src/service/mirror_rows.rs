// SPDX-License-Identifier: Apache-2.0

//! What a member of a mirror group remembers, in its target's store: rows of `nyala_replica` under a prefix per group.
//!
//! **Failure model.** See `nyala_replica::rows`: a record is there as a whole or not, the last ones may be lost by a loss of
//! power unless they were asked for as durable. Each row is all that there is to say of its file, and members decide on several
//! threads: so rows are queued in the order of the decisions, and written in it by one thread at a time, what came together as one
//! record. A row that cannot be read keeps the group closed here: it may be the one that says what differs.

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
/// Rows that are removed by one record.
const REMOVED_AT_ONCE: u64 = 4096;

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
    let end = prefix_end(&prefix);
    let mut raw = Vec::new();
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
    let prefix = key(group, &[]);
    let (end, mut removed) = (prefix_end(&prefix), 0);
    loop {
        let (mut batch, mut count) = (Batch::new(), 0);
        kv.scan(Bound::Included(&prefix), Bound::Excluded(&end), &mut |key, _| {
            batch.delete(key);
            count += 1;
            if count < REMOVED_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_replica::Runs;
    use nyala_store::Options;
    use nyala_store::testing::Machine;
    use nyala_wire::InodeId;
    use nyala_wire::storage::ChunkFileId;
    use std::time::Duration;

    fn row(inode: u64) -> Vec<Row> {
        let file = ChunkFileId { inode: InodeId(inode), index: 0 };
        vec![Row { key: RowKey::Intent(file), runs: Some(Runs::default()) }]
    }

    /// Rows that wait for room, and what happens meanwhile. Returns when there is room again.
    fn waits_for_room(meanwhile: impl FnOnce(&RowLog)) -> (Option<Persisted>, RowLog) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let machine = Machine::new(1);
            let options = Options { memory_hard_bytes: 10_000, memory_soft_bytes: 5_000, ..Options::default() };
            let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
            machine.set_ordered_full(true);
            for number in 0..4_u8 {
                store.apply(Batch::new().put(vec![number], vec![1; 4_000])).unwrap();
            }
            let rows = RowLog::new(GroupId(1));
            rows.push(Job(1), row(1), true);
            let mut write = Box::pin(rows.write(&store));
            assert!(tokio::time::timeout(Duration::from_millis(50), &mut write).await.is_err(), "there is room");
            meanwhile(&rows);
            machine.set_ordered_full(false);
            let written = tokio::time::timeout(Duration::from_secs(60), write).await.expect("there is room again");
            (written, rows)
        })
    }

    #[test]
    fn what_comes_while_there_is_no_room_is_part_of_the_record() {
        let (written, _) = waits_for_room(|rows| rows.push(Job(2), row(2), false));
        assert_eq!(written, Some((vec![Job(1), Job(2)], Ok(()))));
    }

    #[test]
    fn whoever_closes_it_waits_for_no_room_and_nothing_is_written_then() {
        let ended = &mut false;
        let (written, rows) = waits_for_room(|rows| {
            rows.close();
            *ended = rows.has_ended();
        });
        assert!(*ended, "nothing is being written");
        assert_eq!((written, rows.has_ended()), (None, true));
    }
}

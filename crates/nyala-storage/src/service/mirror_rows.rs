// SPDX-License-Identifier: Apache-2.0

//! What a member of a mirror group remembers, in its target's store: rows of `nyala_replica` under a prefix per group.
//!
//! **Failure model.** See `nyala_replica::rows`: a record is there as a whole or not, the last ones may be lost by a loss of
//! power unless they were asked for as durable. Records that wait for room in the log could pass each other: they take
//! turns. A row that cannot be read keeps the group closed here: it may be the one that says what differs.

use crate::chunk_store::ChunkError;
use nyala_replica::Row;
use nyala_replica::rows::{RowKey, decode_runs, encode_runs};
use nyala_store::{Batch, Store, StoreError, prefix_end};
use nyala_wire::{GroupId, WireError};
use std::ops::{Bound, ControlFlow};

/// First byte of the keys.
const TAG: u8 = b'M';
/// Rows that are removed by one record.
const REMOVED_AT_ONCE: u64 = 4096;

fn key(group: GroupId, row: &[u8]) -> Vec<u8> {
    let mut key = vec![TAG];
    key.extend_from_slice(&group.0.to_be_bytes()); // why big-endian: as all numbers in keys
    key.extend_from_slice(row);
    key
}

/// Records of one group are written in the order in which they were asked for.
#[derive(Debug)]
pub(super) struct Turn {
    group: GroupId,
    lock: tokio::sync::Mutex<()>,
}

impl Turn {
    /// Of this group, of which there is one member at a target.
    pub(super) fn new(group: GroupId) -> Turn {
        Turn { group, lock: tokio::sync::Mutex::new(()) }
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

/// Changes rows, as one record.
pub(super) async fn persist(kv: &Store, turn: &Turn, rows: &[Row], durable: bool) -> Result<(), WireError> {
    let mut batch = Batch::new();
    for row in rows {
        let key = key(turn.group, &row.key.encode());
        match &row.runs {
            Some(runs) => batch.put(key, encode_runs(runs)),
            None => batch.delete(key),
        };
    }
    let lsn = {
        // Each row is all that there is to say of its file: an older one must not come after a newer one. Whoever waits
        // for room is passed by nobody; the lock is fair.
        let _turn = turn.lock.lock().await;
        kv.wait_room().await;
        kv.apply(&batch).map_err(failed)?
    };
    match durable {
        true => kv.wait_durable(lsn).await.map_err(failed),
        false => kv.flush().map(drop).map_err(failed),
    }
}

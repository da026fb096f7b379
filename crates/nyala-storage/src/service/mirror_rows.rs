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

// SPDX-License-Identifier: Apache-2.0

//! Removal of the chunk files of files that are gone, from a durable queue.
//!
//! Whatever takes a file's last name or last opener away puts it into the queue with the same log record: unlink, a rename
//! that replaces, the end of a replaced file's moment (`nyala_namespace::server`), a close, the end of a session, a part of a
//! transaction. So this is the one place that destroys a file's data at storage.
//!
//! Failure model: a power cut takes back what the log has not synced, and with it the removal; a file that comes back has
//! to have its data. So storage hears of a removal only when its record is on disk. Nobody waits for that, so no sync is
//! asked for: the log syncs by itself, and what was queued by then is removed together. Rows of a slot that is on its way here, or was left
//! behind by a move, are the other server's: its log may lose them yet, and it works them off. A storage target may be down or
//! slow; its files stay queued, others go on. Removing twice is fine, also after another server has led: no inode number is given
//! out twice.

use super::peers::Peers;
use super::state::State;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::GarbageRecord;
use nyala_namespace::view::View;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{InodeId, WireError, codec};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Files whose removal is under way at once.
const MAX_CONCURRENT: usize = 64;
/// Files that wait together for the log to be synced. Each takes about a hundred bytes of memory meanwhile.
const BATCH: usize = 8192;
const IDLE: Duration = Duration::from_millis(200);
/// Between looks at how far the log is on disk.
const LOOK: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);

/// Works the queue off. Runs until the service stops.
pub async fn collect(state: Rc<State>) {
    let mut after = vec![keys::GARBAGE];
    loop {
        let queued = match next(&state, &after) {
            Ok(queued) => queued,
            Err(error) => {
                tracing::error!(%error, "queue of removed files");
                Vec::new()
            }
        };
        if queued.is_empty() {
            after = vec![keys::GARBAGE];
            tokio::time::sleep(IDLE).await;
            continue;
        }
        synced(&state).await;
        // Those that fail stay in the queue and come up again after the others.
        after = queued.last().map(|row| [&row.key[..], &[0]].concat()).unwrap_or_default();
        if !remove_all(&state, queued).await {
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// A row of the queue.
struct Queued {
    key: Vec<u8>,
    inode: InodeId,
    record: GarbageRecord,
}

/// Returns when everything that is in the tables now is on disk. If the log fails, never: the process ends then.
async fn synced(state: &State) {
    let (_, applied) = state.positions();
    while state.positions().0 < applied {
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether any was removed.
async fn remove_all(state: &Rc<State>, queued: Vec<Queued>) -> bool {
    let mut any = false;
    let mut queued = queued.into_iter();
    loop {
        let some = queued.by_ref().take(MAX_CONCURRENT).map(|row| {
            let state = state.clone();
            tokio::task::spawn_local(async move { remove(&state, row).await })
        });
        let some: Vec<_> = some.collect();
        if some.is_empty() {
            return any;
        }
        for removal in some {
            any |= removal.await.unwrap_or(false);
        }
    }
}

fn next(state: &State, after: &[u8]) -> Result<Vec<Queued>, WireError> {
    let mut rows = Vec::new();
    let map = state.map();
    View::scan(&state.tables, after, &[keys::GARBAGE + 1], &mut |key, value| {
        if keys::parse_slot(key).is_some_and(|slot| map.slot_target(slot) == Some(state.me)) {
            rows.push((key.to_vec(), value.to_vec()));
        }
        if rows.len() == BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let parse = |(key, value): (Vec<u8>, Vec<u8>)| {
        let record = codec::decode(&value)?;
        Ok(keys::parse_garbage(&key).map(|(inode, _)| Queued { key, inode, record }))
    };
    rows.into_iter().filter_map(|row| parse(row).transpose()).collect()
}

async fn remove(state: &Rc<State>, Queued { key, inode, record }: Queued) -> bool {
    let Some(map) = state.orders_by() else { return false };
    let layout = record.layout();
    for index in layout.indices() {
        let location = layout.location(index);
        if Peers::is_removed(&map, location) {
            continue;
        }
        let file = ChunkFileId { inode, index };
        if let Err(error) = state.peers.storage(&map, location, file, StorageOp::Unlink).await {
            tracing::debug!(%inode, %location, %error, "chunk file not removed yet");
            return false;
        }
    }
    let mut batch = Batch::new();
    batch.delete(key);
    state.apply(&batch).is_ok()
}

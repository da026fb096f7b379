// SPDX-License-Identifier: Apache-2.0

//! Removal of the chunk files of files that are gone, from a durable queue.
//!
//! Failure model: a storage target may be down or slow; its files stay queued, others go on. Removing twice is fine.

use super::peers::Peers;
use super::state::State;
use crate::keys;
use crate::records::GarbageRecord;
use crate::view::View;
use nyala_store::Batch;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{InodeId, Pattern, WireError, codec};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Files whose removal is under way at once.
const BATCH: usize = 64;
const IDLE: Duration = Duration::from_millis(200);
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
        // A removal that a crash could take back must not have begun.
        if state.flusher.has_unwritten() && state.flusher.flushed().await.is_err() {
            return;
        }
        // Those that fail stay in the queue and come up again after the others.
        after = queued.last().map(|(inode, _)| keys::prefix_end(&keys::garbage(*inode))).unwrap_or_default();
        let count = queued.len();
        let removals = queued.into_iter().map(|(inode, record)| {
            let state = state.clone();
            tokio::task::spawn_local(async move { remove(&state, inode, record).await })
        });
        let mut failed = 0;
        for removal in removals.collect::<Vec<_>>() {
            failed += usize::from(!removal.await.unwrap_or(false));
        }
        if failed == count {
            tokio::time::sleep(RETRY).await;
        }
    }
}

fn next(state: &State, after: &[u8]) -> Result<Vec<(InodeId, GarbageRecord)>, WireError> {
    let mut rows = Vec::with_capacity(BATCH);
    View::scan(&state.store, after, &[keys::GARBAGE + 1], &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        if rows.len() == BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let parse = |(key, value): (Vec<u8>, Vec<u8>)| {
        let record = codec::decode(&value)?;
        Ok(keys::parse_inode(&key).map(|inode| (inode, record)))
    };
    rows.into_iter().filter_map(|row| parse(row).transpose()).collect()
}

async fn remove(state: &Rc<State>, inode: InodeId, record: GarbageRecord) -> bool {
    let map = state.map();
    let pattern = if record.mirrored == Some(true) { Pattern::Mirror } else { Pattern::Raid0 };
    for (index, target) in (0_u16..).zip(&record.targets) {
        let home = pattern.home(*target);
        if Peers::is_removed(&map, home) {
            continue;
        }
        let file = ChunkFileId { inode, index };
        if let Err(error) = state.peers.storage(&map, home, file, StorageOp::Unlink).await {
            tracing::debug!(%inode, %home, %error, "chunk file not removed yet");
            return false;
        }
    }
    let mut batch = Batch::new();
    batch.delete(keys::garbage(inode));
    state.apply(&batch).is_ok()
}

// SPDX-License-Identifier: Apache-2.0

//! Has storage refuse what a client may still write whose session ended without its knowledge.
//!
//! Failure model: a storage target may be slow, down, or cut off. One that the cluster map calls online is asked until it
//! confirms, because it may still serve the client; one that is not online has no lease and refuses everybody, and is
//! asked in the background, until it is back or a while has passed. Fencing twice is fine.

use super::state::State;
use nyala_wire::map::{Reachability, TargetKind};
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{Home, InodeId, SessionId, TargetId};
use std::rc::Rc;
use std::time::{Duration, Instant};

const RETRY: Duration = Duration::from_millis(200);
/// A client of before is gone, or has heard of its end, after so long.
const LATE: Duration = Duration::from_secs(3600);

/// Returns when every storage target that is online refuses the session.
pub async fn everywhere(state: &Rc<State>, session: SessionId) {
    let map = state.map();
    let storage = map.targets.iter().filter(|target| target.kind == TargetKind::Storage).map(|target| target.id);
    let fences = storage.map(|target| {
        let state = state.clone();
        tokio::task::spawn_local(async move { one(&state, target, session).await })
    });
    for fence in fences.collect::<Vec<_>>() {
        if fence.await.is_err() {
            tracing::error!(%session, "fencing ended badly");
        }
    }
}

async fn one(state: &Rc<State>, target: TargetId, session: SessionId) {
    loop {
        if fenced(state, target, session).await {
            return;
        }
        let online = state.map().target(target).is_some_and(|target| target.reachability == Reachability::Online);
        if !online {
            let state = state.clone();
            tokio::task::spawn_local(async move { late(&state, target, session).await });
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn late(state: &State, target: TargetId, session: SessionId) {
    let began = Instant::now();
    while began.elapsed() < LATE && state.map().target(target).is_some() && !fenced(state, target, session).await {
        tokio::time::sleep(RETRY).await;
    }
}

async fn fenced(state: &State, target: TargetId, session: SessionId) -> bool {
    let file = ChunkFileId { inode: InodeId::ROOT, index: 0 };
    match state.peers.storage(&state.map(), Home::Target(target), file, StorageOp::Fence { session }).await {
        Ok(_) => true,
        Err(error) => {
            tracing::debug!(%target, %session, %error, "not fenced yet");
            false
        }
    }
}

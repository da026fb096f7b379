// SPDX-License-Identifier: Apache-2.0

//! Has storage refuse what a client may still write whose session ended without its knowledge.
//!
//! Failure model: a storage target may be slow, down, or cut off. One that the cluster map does not call offline is asked until it
//! confirms, because it may still serve the client: one that is probably offline has its lease still. One that is offline has no
//! lease and refuses everybody, and is asked in the background, until it is back or a while has passed. One that
//! comes back meanwhile is asked like the others: it is over when all that one map does not call offline have confirmed. What the
//! map is behind of, mirror groups settle among themselves: a member that has confirmed tells those that join it. Fencing twice is fine.

use super::state::State;
use nyala_wire::map::{ClusterMap, Reachability, Target, TargetKind};
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{Home, InodeId, SessionId, TargetId};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

const RETRY: Duration = Duration::from_millis(200);
/// A client of before is gone, or has heard of its end, after so long.
const LATE: Duration = Duration::from_secs(3600);

/// Returns when every storage target that is not offline refuses the session.
pub async fn everywhere(state: &Rc<State>, session: SessionId) {
    let mut confirmed = BTreeSet::new();
    loop {
        let map = state.map();
        let open: Vec<TargetId> = serving(&map).filter(|target| !confirmed.contains(target)).collect();
        if open.is_empty() {
            let storage =
                map.targets.iter().filter(|target| target.kind == TargetKind::Storage).map(|target| target.id);
            for target in storage.filter(|target| !confirmed.contains(target)) {
                let state = state.clone();
                tokio::task::spawn_local(async move { late(&state, target, session).await });
            }
            return;
        }
        let fence = |target| {
            let state = state.clone();
            tokio::task::spawn_local(async move { one(&state, target, session).await.then_some(target) })
        };
        for fence in open.into_iter().map(fence).collect::<Vec<_>>() {
            match fence.await {
                Ok(target) => confirmed.extend(target),
                Err(error) => tracing::error!(%session, %error, "fencing ended badly; again"),
            }
        }
    }
}

/// Storage targets that may serve.
fn serving(map: &ClusterMap) -> impl Iterator<Item = TargetId> + '_ {
    let serve = |target: &&Target| target.kind == TargetKind::Storage && target.reachability != Reachability::Offline;
    map.targets.iter().filter(serve).map(|target| target.id)
}

/// Whether it confirms; else it is offline.
async fn one(state: &Rc<State>, target: TargetId, session: SessionId) -> bool {
    let confirmed = async {
        while !fenced(state, target, session).await {
            tokio::time::sleep(RETRY).await;
        }
    };
    // A host that vanished lets us wait for longer than its lease lasts.
    let offline = async {
        while serving(&state.map()).any(|serves| serves == target) {
            tokio::time::sleep(RETRY).await;
        }
    };
    tokio::select! {
        () = confirmed => true,
        () = offline => false,
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

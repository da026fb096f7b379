// SPDX-License-Identifier: Apache-2.0

//! Has storage refuse what a client may still change whose session ended without its knowledge.
//!
//! Failure model: a storage target may be slow, down, or cut off, and this service may be restarted meanwhile. A target that the
//! cluster map does not call offline is asked until it confirms, because it may still serve the client: one that is
//! probably offline has its lease still. One that is offline has no lease and refuses everybody. That it has not confirmed is
//! written down ([`keys::fence`]) and is on disk before what the session held is given away; from then on it is asked whenever a
//! map does not call it offline, also by later runs of this service, until it confirms or is removed from the map.
//!
//! Such a target does not serve clients when it comes back before it has asked here what was written down for it
//! (`nyala_storage`, `service::sessions`). It asks under a map that does not call it offline, and is answered under
//! that map or a newer one. Whether a target is offline is decided, and written down, without a pause in between: so a decision
//! under an older map is in the answer, and one that comes after the answer finds the target in its map, and asks it.
//! What the map is behind of, mirror groups settle among themselves: a member that has confirmed tells those that join it. Fencing
//! twice is fine. If this service dies before it has decided, the session's record is still there, and it is ended again.

pub mod settle;

use super::state::State;
use nyala_kv::{Batch, prefix_end};
use nyala_namespace::keys;
use nyala_namespace::view::View;
use nyala_wire::fences::{FencesReply, FencesRequest, MAX_FENCES};
use nyala_wire::map::{ClusterMap, Reachability, Target, TargetKind};
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{DataLocation, ErrorCode, InodeId, MapVersion, SessionId, TargetId, WireError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

const RETRY: Duration = Duration::from_millis(200);

/// Returns when every storage target that is not offline refuses the session, and it is on disk which are still to do so.
pub async fn everywhere(state: &Rc<State>, session: SessionId) -> Result<(), WireError> {
    let mut confirmed = BTreeSet::new();
    loop {
        let map = state.map();
        let open: Vec<TargetId> = serving(&map).filter(|target| !confirmed.contains(target)).collect();
        if open.is_empty() {
            // No pause between the look at the map and this.
            let mut batch = Batch::new();
            let storage = map.targets.iter().filter(|target| target.kind == TargetKind::Storage);
            for target in storage.filter(|target| !confirmed.contains(&target.id)) {
                batch.put(keys::fence(target.id, session), []);
            }
            if batch.is_empty() {
                return Ok(());
            }
            state.apply(&batch)?;
            state.flusher.flushed().await?;
            return state.durable().await;
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

/// What a storage target, which has come back under the map `theirs`, is still to fence.
pub fn pending(state: &State, theirs: MapVersion, request: &FencesRequest) -> Result<FencesReply, WireError> {
    if state.map().version < theirs {
        return Err(ErrorCode::NOT_READY.with("this metadata service has not heard of that cluster map yet"));
    }
    let from = keys::fence(request.target, SessionId(request.above.0.saturating_add(1)));
    let end = prefix_end(&keys::fence(request.target, SessionId(0))[..3]);
    let mut sessions = Vec::new();
    View::scan(&state.tables, &from, &end, &mut |key, _| {
        sessions.extend(keys::parse_fence(key).map(|(_, session)| session));
        if sessions.len() < MAX_FENCES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(FencesReply { sessions })
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

async fn fenced(state: &State, target: TargetId, session: SessionId) -> bool {
    let file = ChunkFileId { inode: InodeId::ROOT, index: 0 };
    match state.peers.storage(&state.map(), DataLocation::Target(target), file, StorageOp::Fence { session }).await {
        Ok(_) => true,
        Err(error) => {
            tracing::debug!(%target, %session, %error, "not fenced yet");
            false
        }
    }
}

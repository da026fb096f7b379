// SPDX-License-Identifier: Apache-2.0

//! Asks one metadata server who was fenced while we were away, and fences them.
//!
//! **Failure model.** See the parent module. Whatever goes wrong, that target was not heard: it is asked again.

use super::Sessions;
use crate::service::queue::{Task, stopping};
use crate::service::target::Target;
use nyala_transport::{Endpoint, Request};
use nyala_wire::fences::{FencesReply, FencesRequest, MAX_FENCES};
use nyala_wire::map::ClusterMap;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, WireError, codec, message_type};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Longest wait for its answer.
const WITHIN: Duration = Duration::from_secs(3);

impl Sessions {
    /// Fences what a metadata target has for ours.
    pub(super) async fn ask(&self, map: &ClusterMap, home: TargetId) -> Result<(), WireError> {
        let node = map.server_node(home).ok_or_else(|| ErrorCode::NOT_READY.with("it is on no node of the map"))?;
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        for (id, target) in &*self.targets {
            let mut above = SessionId(0);
            loop {
                let body = codec::encode(&FencesRequest { target: *id, above });
                let request = Request::new(message_type::META_FENCES, body).at(map.version.0, 0).with_timeout(WITHIN);
                let frame = self.pool.call(&endpoint, request).await;
                let frame = frame.map_err(|error| ErrorCode::NOT_READY.with(error.to_string()))?;
                if frame.is_error() {
                    return Err(codec::decode(&frame.body)?);
                }
                let FencesReply { sessions } = codec::decode(&frame.body)?;
                fence_all(target, &sessions).await?;
                match sessions.last() {
                    Some(last) if sessions.len() >= MAX_FENCES && *last > above => above = *last,
                    _ => break,
                }
            }
        }
        Ok(())
    }
}

/// Fences sessions on a target; on disk when it returns. Mirror groups hear of it when metadata asks for the same.
async fn fence_all(target: &Arc<Target>, sessions: &[SessionId]) -> Result<(), WireError> {
    let mut fences = JoinSet::new();
    for session in sessions.iter().copied().filter(|session| session.0 != 0 && !target.is_fenced(*session)) {
        let (target, file) = (target.clone(), ChunkFileId { inode: InodeId::ROOT, index: 0 });
        fences.spawn(async move { target.call(Task::Other(file, StorageOp::Fence { session })).await.map(drop) });
    }
    while let Some(fenced) = fences.join_next().await {
        fenced.map_err(|_| stopping())??;
    }
    Ok(())
}

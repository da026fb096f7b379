// SPDX-License-Identifier: Apache-2.0

//! Questions to services, each asked again for a while. Failure model: see the parent module.

use super::progress::Doing;
use crate::cluster::Cluster;
use crate::exit::Failure;
use nyala_client::Client;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::check::{ScanReply, ScanRequest};
use nyala_wire::map::{ClusterMap, Group};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::storage::{ChunkFileId, ListedFile, MAX_LISTED, StorageOp, StorageReply, StorageRequest};
use nyala_wire::{GroupId, TargetId, WireError, codec, message_type};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(10);
/// A target that does not answer is asked again for so long.
const TARGET: Duration = Duration::from_secs(20);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(300);

/// A way to all targets.
pub struct Ask {
    /// Knows the map, and makes `lost+found`.
    pub client: Client,
    /// Connections to all services.
    pub pool: Pool,
    /// What is being done.
    pub doing: Doing,
    cluster: Cluster,
}

impl Ask {
    /// Connects. `repair`: what is cut beside inline content needs delegations.
    pub async fn of(cluster: &Cluster, repair: bool) -> Result<Ask, Failure> {
        let client = if repair { cluster.leasing_client().await? } else { cluster.client().await? };
        let pool = Pool::new(cluster.handshake(), PoolOptions::default());
        Ok(Ask { client, pool, doing: Doing::default(), cluster: cluster.clone() })
    }

    /// The cluster map now.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.client.map()
    }

    /// The primary of a mirror group as management has it now.
    pub async fn primary(&self, group: GroupId) -> Result<Option<TargetId>, Failure> {
        Ok(self.cluster.map().await?.group(group).and_then(Group::primary))
    }

    /// Has management do what an operator wants of a group.
    pub async fn order(&self, order: GroupOrder) -> Result<(), Failure> {
        self.cluster.order_groups(order).await
    }

    /// A page of facts.
    pub async fn scan(&self, target: TargetId, request: &ScanRequest) -> Result<ScanReply, Failure> {
        let body = self.call(target, message_type::META_SCAN, codec::encode(request)).await??;
        Ok(codec::decode(&body)?)
    }

    /// A page of chunk files, and where the list goes on.
    pub async fn list(
        &self,
        target: TargetId,
        from: ChunkFileId,
    ) -> Result<(Vec<ListedFile>, Option<ChunkFileId>), Failure> {
        let request = StorageRequest::new(target, from, StorageOp::List { most: MAX_LISTED });
        let body = self.call(target, message_type::STORAGE, codec::encode(&request)).await??;
        match codec::decode(&body)? {
            StorageReply::Listed { files, next } => Ok((files, next)),
            _ => Err(Failure::failed(format!("storage target {target} answers something else"))),
        }
    }

    /// The answer to a request, which may be sent several times; the inner error is the server's, and final.
    pub async fn call(
        &self,
        target: TargetId,
        message_type: u16,
        body: Vec<u8>,
    ) -> Result<Result<Vec<u8>, WireError>, Failure> {
        let began = Instant::now();
        loop {
            let map = self.map();
            // A storage target, or a metadata server where it works now.
            let node = map.server_node(target);
            let endpoint = node.map(|node| Endpoint { addresses: node.addresses.clone() });
            let endpoint = endpoint.ok_or_else(|| Failure::failed(format!("there is no target {target}")))?;
            let request = Request::new(message_type, body.clone()).at(map.version.0, 0).with_timeout(ANSWER);
            let failure = match self.pool.call(&endpoint, request).await {
                Ok(frame) if !frame.is_error() => return Ok(Ok(frame.body.to_vec())),
                Ok(frame) => {
                    let error: WireError = codec::decode(&frame.body)?;
                    if !error.code.is_transient() {
                        return Ok(Err(error));
                    }
                    Failure::from(error)
                }
                Err(error) => Failure::from(error),
            };
            if began.elapsed() >= TARGET {
                return Err(failure);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

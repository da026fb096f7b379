// SPDX-License-Identifier: Apache-2.0

//! Calls to other servers: transactions with metadata services, chunk files with storage services.
//!
//! Failure model: a peer may be down, slow, restarted or moved. One call is tried once, with a timeout; who calls
//! decides whether to try again, and everything that is called is idempotent.

use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::codec;
use nyala_wire::map::ClusterMap;
use nyala_wire::message_type::{META_TX, STORAGE};
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::storage::{StorageReply, StorageRequest};
use nyala_wire::{ErrorCode, TargetId, WireError};
use std::time::Duration;

const TX_TIMEOUT: Duration = Duration::from_secs(3);
const STORAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections to other servers.
pub struct Peers {
    pool: Pool,
}

impl Peers {
    /// No connections yet.
    pub fn new(handshake: HandshakeConfig) -> Peers {
        Peers { pool: Pool::new(handshake, PoolOptions::default()) }
    }

    /// One step of a transaction, on the server of a metadata target.
    pub async fn tx(&self, map: &ClusterMap, target: TargetId, request: &TxRequest) -> Result<TxReply, WireError> {
        let request = Request::new(META_TX, codec::encode(request)).with_timeout(TX_TIMEOUT);
        self.call(map, target, request).await
    }

    /// One request to a storage target.
    pub async fn storage(&self, map: &ClusterMap, request: &StorageRequest) -> Result<StorageReply, WireError> {
        let frame = Request::new(STORAGE, codec::encode(request)).with_timeout(STORAGE_TIMEOUT);
        self.call(map, request.target, frame).await
    }

    /// Whether a target is in no map any more: what it held is gone. Never true of a map that is not the cluster's.
    pub fn is_removed(map: &ClusterMap, target: TargetId) -> bool {
        map.version.0 > 0 && map.targets.iter().all(|known| known.id != target)
    }

    async fn call<T>(&self, map: &ClusterMap, target: TargetId, request: Request) -> Result<T, WireError>
    where
        T: for<'b> minicbor::Decode<'b, ()>,
    {
        let node = map.node_of(target).ok_or_else(|| unreachable(target, "it is not in the cluster map"))?;
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        let request = request.at(map.version.0, 0);
        let frame = self.pool.call(&endpoint, request).await.map_err(|error| unreachable(target, error))?;
        if frame.is_error() { Err(codec::decode(&frame.body)?) } else { codec::decode(&frame.body) }
    }
}

fn unreachable(target: TargetId, why: impl std::fmt::Display) -> WireError {
    ErrorCode::NOT_READY.with(format!("target {target} cannot be reached: {why}"))
}

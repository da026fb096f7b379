// SPDX-License-Identifier: Apache-2.0

//! Calls to other servers: transactions with metadata services, chunk files with storage services.
//!
//! Failure model: a peer may be down, slow, restarted or moved. One call is tried once, with a timeout; who calls
//! decides whether to try again, and everything that is called is idempotent. A copy of a call may lie in a queue or a connection until long
//! after another one was done: one that would then undo what clients have written since has a number ([`super::numbered`]), the
//! same in every copy, and is done once.

use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::codec;
use nyala_wire::map::ClusterMap;
use nyala_wire::message_type::{META_TX, STORAGE};
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::slots::Slots;
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageReply, StorageRequest};
use nyala_wire::{DataLocation, ErrorCode, TargetId, WireError};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

const TX_TIMEOUT: Duration = Duration::from_secs(3);
pub(super) const STORAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections to other servers.
pub struct Peers {
    pub(super) pool: Pool,
    /// Who we are to mirror groups, and the numbers of our requests to them: the last one, and those under way.
    pub(super) client: u64,
    pub(super) numbers: Mutex<(u64, BTreeSet<u64>)>,
    /// Changes under way with targets without mirrors.
    pub(super) slots: Mutex<Slots>,
    /// Members of mirror groups whose hosts did not answer, and when.
    pub(super) unreached: Mutex<HashMap<TargetId, Instant>>,
}

impl Peers {
    /// No connections yet.
    pub fn new(handshake: HandshakeConfig) -> Peers {
        // Without randomness two services may look like one to a mirror group, which refuses the later one's requests.
        let client = getrandom::u64().unwrap_or(1).max(1);
        Peers {
            pool: Pool::new(handshake, PoolOptions::default()),
            client,
            numbers: Mutex::default(),
            slots: Mutex::default(),
            unreached: Mutex::default(),
        }
    }

    /// One step of a transaction, at a metadata server.
    pub async fn tx(&self, map: &ClusterMap, target: TargetId, request: &TxRequest) -> Result<TxReply, WireError> {
        let request = Request::new(META_TX, codec::encode(request)).with_timeout(TX_TIMEOUT);
        let works_on = map.server_target(target).map(|target| target.id);
        self.call(map, works_on.ok_or_else(|| unreachable(target, "it is not in the cluster map"))?, request).await
    }

    /// One request about a chunk file that may be done twice, also after others.
    pub async fn storage(
        &self,
        map: &ClusterMap,
        location: DataLocation,
        file: ChunkFileId,
        op: StorageOp,
    ) -> Result<StorageReply, WireError> {
        match location {
            DataLocation::Target(target) => {
                let body = codec::encode(&StorageRequest::new(target, file, op));
                self.call(map, target, Request::new(STORAGE, body).with_timeout(STORAGE_TIMEOUT)).await
            }
            DataLocation::Group(group) => {
                let change = self.number_in_group(location);
                self.group(map, group, change.number(), &StorageRequest::new(TargetId(0), file, op)).await
            }
        }
    }

    /// Whether it is in no map any more: what it held is gone. Never true of a map that is not the cluster's.
    pub fn is_removed(map: &ClusterMap, location: DataLocation) -> bool {
        let known = match location {
            DataLocation::Target(target) => map.targets.iter().any(|known| known.id == target),
            DataLocation::Group(group) => map.group(group).is_some(),
        };
        map.version.0 > 0 && !known
    }

    pub(super) async fn call<T>(&self, map: &ClusterMap, target: TargetId, request: Request) -> Result<T, WireError>
    where
        T: for<'b> minicbor::Decode<'b, ()>,
    {
        let node = map.node_of(target).ok_or_else(|| unreachable(target, "it is not in the cluster map"))?;
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        let epoch = request.group_epoch;
        let request = request.at(map.version.0, epoch);
        let frame = self.pool.call(&endpoint, request).await.map_err(|error| unreachable(target, error))?;
        if frame.is_error() { Err(codec::decode(&frame.body)?) } else { codec::decode(&frame.body) }
    }
}

pub(super) fn unreachable(target: TargetId, why: impl std::fmt::Display) -> WireError {
    ErrorCode::NOT_READY.with(format!("target {target} cannot be reached: {why}"))
}

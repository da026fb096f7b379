// SPDX-License-Identifier: Apache-2.0

//! How one management node reaches the others.
//!
//! **Failure model.** A peer that refuses or does not answer is "unreachable": openraft pauses before it tries again. A
//! lost connection leaves it open whether the request was executed; all Raft messages may be repeated. A reply of the
//! wrong kind is an error of that call only.

use super::rpc::{RaftReply, RaftRequest};
use super::{LogId, TypeConfig, Vote};
use bytes::Bytes;
use nyala_transport::{Endpoint, Pool, Request, TransportError};
use nyala_wire::error::WireError;
use nyala_wire::{ErrorCode, codec, message_type};
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse};
use openraft::raft::{VoteRequest, VoteResponse};
use openraft::{AnyError, BasicNode};

type Answer<T, E = RaftError<u64>> = Result<T, RPCError<u64, BasicNode, E>>;

/// Makes clients for the peers.
pub(crate) struct Network {
    pool: Pool,
}

impl Network {
    pub(crate) fn new(pool: Pool) -> Network {
        Network { pool }
    }
}

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = PeerClient;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> PeerClient {
        PeerClient { pool: self.pool.clone(), target, address: node.addr.clone() }
    }
}

/// One peer.
pub(crate) struct PeerClient {
    pool: Pool,
    target: u64,
    address: String,
}

enum Failed {
    Unreachable(AnyError),
    Other(AnyError),
}

impl<E: std::error::Error> From<Failed> for RPCError<u64, BasicNode, E> {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreachable(e) => RPCError::Unreachable(Unreachable::from(e)),
            Failed::Other(e) => RPCError::Network(NetworkError::from(e)),
        }
    }
}

impl PeerClient {
    async fn call(&self, request: &RaftRequest, payload: Bytes, option: &RPCOption) -> Result<RaftReply, Failed> {
        let address = self.address.parse::<std::net::SocketAddr>().map_err(|_| {
            let e = ErrorCode::INVALID
                .with(format!("{:?} of management node {} is not ip:port", self.address, self.target));
            Failed::Unreachable(AnyError::new(&e))
        })?;
        let payload = if payload.is_empty() { Vec::new() } else { vec![payload] };
        let request = Request::new(message_type::MGMT_RAFT, codec::encode(request))
            .with_payload(payload)
            .with_timeout(option.hard_ttl());
        let frame = self.pool.call(&Endpoint::from(address), request).await.map_err(|e| match e {
            TransportError::Disconnected { .. } => Failed::Other(AnyError::new(&e)),
            _ => Failed::Unreachable(AnyError::new(&e)),
        })?;
        if frame.header.is_error() {
            let error = codec::decode::<WireError>(&frame.body).unwrap_or_else(|e| e);
            return Err(Failed::Unreachable(AnyError::new(&error)));
        }
        codec::decode(&frame.body).map_err(|e| Failed::Other(AnyError::new(&e)))
    }
}

fn unexpected() -> Failed {
    Failed::Other(AnyError::new(&ErrorCode::BAD_MESSAGE.with("a reply of another kind")))
}

impl RaftNetwork<TypeConfig> for PeerClient {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Answer<AppendEntriesResponse<u64>> {
        let reply = self.call(&RaftRequest::append(rpc), Bytes::new(), &option).await?;
        Ok(reply.into_append().ok_or_else(unexpected)?)
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>> {
        let (request, data) = RaftRequest::snapshot(rpc);
        match self.call(&request, data, &option).await? {
            RaftReply::SnapshotStored(vote) => Ok(InstallSnapshotResponse { vote: Vote::from(vote) }),
            other => {
                let mismatch = other.mismatch().ok_or_else(unexpected)?;
                let error = RaftError::APIError(InstallSnapshotError::SnapshotMismatch(mismatch));
                Err(RPCError::RemoteError(RemoteError::new(self.target, error)))
            }
        }
    }

    async fn vote(&mut self, rpc: VoteRequest<u64>, option: RPCOption) -> Answer<VoteResponse<u64>> {
        let request = RaftRequest::Vote { vote: rpc.vote.into(), last: rpc.last_log_id.map(Into::into) };
        match self.call(&request, Bytes::new(), &option).await? {
            RaftReply::Voted { vote, granted, last } => {
                Ok(VoteResponse { vote: Vote::from(vote), vote_granted: granted, last_log_id: last.map(LogId::from) })
            }
            _ => Err(unexpected().into()),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! How one management node reaches the others.
//!
//! **Failure model.** A peer that refuses or does not answer is "unreachable": openraft pauses before it tries again. A
//! lost connection leaves it open whether the request was executed; all Raft messages may be repeated. A connection that
//! swallows requests (a host that vanished, a network that was cut) is given up after a few, so that the peer is found
//! again soon after it is back. A reply of the wrong kind is an error of that call only. A peer may have another address
//! than when it became a member: the cluster state knows the newest.

use super::contacts::Contacts;
use super::machine::View;
use super::rpc::{RaftReply, RaftRequest};
use super::{LogId, TypeConfig, Vote};
use bytes::Bytes;
use nyala_transport::member::monotonic_ms;
use nyala_transport::{Endpoint, Pool, Request, TransportError};
use nyala_wire::error::WireError;
use nyala_wire::map::Role;
use nyala_wire::{ErrorCode, NodeId, codec, message_type};
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse};
use openraft::raft::{VoteRequest, VoteResponse};
use openraft::{AnyError, BasicNode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// So many requests in a row without an answer, and the connection is made anew.
const MOST_LOST: u32 = 4;
/// Between attempts to reach a peer that is away.
const BACKOFF: Duration = Duration::from_millis(100);

type Answer<T, E = RaftError<u64>> = Result<T, RPCError<u64, BasicNode, E>>;

/// Makes clients for the peers.
#[derive(Clone)]
pub(crate) struct Network {
    pool: Pool,
    view: Arc<View>,
    contacts: Arc<Contacts>,
    /// Nothing gets through; for tests.
    cut: Arc<AtomicBool>,
}

impl Network {
    pub(crate) fn new(pool: Pool, view: Arc<View>, cut: Arc<AtomicBool>) -> Network {
        Network { pool, view, contacts: Arc::default(), cut }
    }

    /// Who answered when.
    pub(crate) fn contacts(&self) -> Arc<Contacts> {
        self.contacts.clone()
    }
}

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = PeerClient;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> PeerClient {
        PeerClient { network: self.clone(), target, address: node.addr.clone(), lost: 0 }
    }
}

/// One peer.
pub(crate) struct PeerClient {
    network: Network,
    target: u64,
    /// Where it was when it became a member.
    address: String,
    /// Requests in a row that got no answer in time.
    lost: u32,
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
    fn endpoint(&self) -> Result<Endpoint, Failed> {
        let state = self.network.view.state();
        let known = u32::try_from(self.target).ok().and_then(|id| state.node(NodeId(id)));
        if let Some(node) = known.filter(|node| node.role == Role::Mgmt) {
            return Ok(Endpoint { addresses: node.addresses.clone() });
        }
        let address = self.address.parse::<std::net::SocketAddr>().map_err(|_| {
            let e = ErrorCode::INVALID
                .with(format!("{:?} of management node {} is not ip:port", self.address, self.target));
            Failed::Unreachable(AnyError::new(&e))
        })?;
        Ok(Endpoint::from(address))
    }

    async fn call(&mut self, request: &RaftRequest, payload: Bytes, option: &RPCOption) -> Result<RaftReply, Failed> {
        let endpoint = self.endpoint()?;
        if self.network.cut.load(Ordering::Relaxed) {
            return Err(Failed::Unreachable(AnyError::new(&ErrorCode::TIMED_OUT.with("cut off by a test"))));
        }
        let payload = if payload.is_empty() { Vec::new() } else { vec![payload] };
        let request = Request::new(message_type::MGMT_RAFT, codec::encode(request))
            .with_payload(payload)
            .with_timeout(option.hard_ttl());
        let peer = self.network.pool.peer(&endpoint);
        let sent_ms = monotonic_ms();
        // Counted beforehand: openraft may drop this future when its own time is up.
        self.lost += 1;
        if self.lost > MOST_LOST {
            self.lost = 1;
            peer.disconnect();
        }
        let frame = peer.call(request).await.map_err(|e| match e {
            TransportError::Disconnected { .. } => Failed::Other(AnyError::new(&e)),
            _ => Failed::Unreachable(AnyError::new(&e)),
        })?;
        self.lost = 0;
        if frame.header.is_error() {
            let error = codec::decode::<WireError>(&frame.body).unwrap_or_else(|e| e);
            return Err(Failed::Unreachable(AnyError::new(&error)));
        }
        self.network.contacts.answered(self.target, sent_ms);
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
        let (term, sent_ms) = (rpc.vote.leader_id.term, monotonic_ms());
        let reply = self.call(&RaftRequest::append(rpc), Bytes::new(), &option).await?;
        let answer = reply.into_append().ok_or_else(unexpected)?;
        if !matches!(answer, AppendEntriesResponse::HigherVote(_)) {
            self.network.contacts.accepted(self.target, term, sent_ms);
        }
        Ok(answer)
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

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}

// SPDX-License-Identifier: Apache-2.0

//! How one management node reaches the others.
//!
//! **Failure model.** A peer that refuses or does not answer is "unreachable": openraft pauses before it tries again. A
//! lost connection leaves it open whether the request was executed; all Raft messages may be repeated. A connection that
//! swallows requests (a host that vanished, a network that was cut) is given up after a few, so that the peer is found
//! again soon after it is back. A reply of the wrong kind is an error of that call only. A peer may have another address
//! than when it became a member, and its old one may be another node's: each address that is known for it is tried in
//! turn, and only the peer itself answers ([`Peers`]). What became of a peer is logged when it changes, not at each attempt.

use super::contacts::Contacts;
use super::machine::View;
use super::peers::Peers;
use super::rpc::{RaftReply, RaftRequest};
use super::{LogId, TypeConfig, Vote};
use bytes::Bytes;
use nyala_transport::member::monotonic_ms;
use nyala_transport::{Endpoint, Pool, Request, TransportError};
use nyala_wire::error::WireError;
use nyala_wire::{ErrorCode, codec, message_type};
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
    peers: Arc<Peers>,
    /// Nothing gets through; for tests.
    cut: Arc<AtomicBool>,
}

impl Network {
    pub(crate) fn new(pool: Pool, view: Arc<View>, peers: Arc<Peers>, cut: Arc<AtomicBool>) -> Network {
        Network { pool, view, contacts: Arc::default(), peers, cut }
    }

    /// Who answered when.
    pub(crate) fn contacts(&self) -> Arc<Contacts> {
        self.contacts.clone()
    }
}

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = PeerClient;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> PeerClient {
        PeerClient { network: self.clone(), target, address: node.addr.clone(), lost: 0, address_index: 0 }
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
    /// Which of the lists of its addresses is tried.
    address_index: usize,
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
        let mut candidates = self.network.peers.candidates(self.target, &self.network.view, &self.address);
        if candidates.is_empty() {
            let e = ErrorCode::INVALID.with(format!("no address of management node {} is known", self.target));
            return Err(Failed::Unreachable(AnyError::new(&e)));
        }
        let addresses = candidates.swap_remove(self.address_index % candidates.len());
        Ok(Endpoint { addresses })
    }

    async fn call(
        &mut self,
        term: u64,
        request: RaftRequest,
        payload: Bytes,
        option: &RPCOption,
    ) -> Result<RaftReply, Failed> {
        // Counted beforehand: openraft may drop this future when its own time is up.
        self.lost += 1;
        let answer = self.call_once(term, request, payload, option).await;
        match &answer {
            Ok(_) => self.lost = 0,
            Err(Failed::Unreachable(error)) => {
                self.address_index = self.address_index.wrapping_add(1);
                if self.network.contacts.failed(self.target) {
                    tracing::warn!(node = self.target, %error, "a management node does not answer");
                }
            }
            Err(Failed::Other(_)) => {}
        }
        answer
    }

    async fn call_once(
        &mut self,
        term: u64,
        request: RaftRequest,
        payload: Bytes,
        option: &RPCOption,
    ) -> Result<RaftReply, Failed> {
        if self.network.cut.load(Ordering::Relaxed) {
            return Err(Failed::Unreachable(AnyError::new(&ErrorCode::TIMED_OUT.with("cut off by a test"))));
        }
        let mut peer = self.network.pool.peer(&self.endpoint()?);
        if self.lost > MOST_LOST {
            self.lost = 1;
            peer.disconnect();
            self.address_index = self.address_index.wrapping_add(1);
            peer = self.network.pool.peer(&self.endpoint()?);
        }
        let payload = if payload.is_empty() { Vec::new() } else { vec![payload] };
        let message = self.network.peers.address(self.target, term, request, &self.network.view.state());
        let request = Request::new(message_type::MGMT_RAFT, codec::encode(&message))
            .with_payload(payload)
            .with_timeout(option.hard_ttl());
        let sent_ms = monotonic_ms();
        let frame = peer.call(request).await.map_err(|e| match e {
            TransportError::Disconnected { .. } => Failed::Other(AnyError::new(&e)),
            _ => Failed::Unreachable(AnyError::new(&e)),
        })?;
        if frame.header.is_error() {
            let error = codec::decode::<WireError>(&frame.body).unwrap_or_else(|e| e);
            self.network.peers.refused(&error);
            return Err(Failed::Unreachable(AnyError::new(&error)));
        }
        if self.network.contacts.answered(self.target, sent_ms) {
            tracing::info!(node = self.target, "a management node answers again");
        }
        codec::decode(&frame.body).map_err(|e| Failed::Other(AnyError::new(&e)))
    }

    /// A follower of this term that says that it lacks what it has confirmed is not believed any more; openraft would end
    /// this process.
    fn check_conflict(&self, term: u64, previous: Option<LogId>) -> Result<(), Failed> {
        let confirmed = self.network.peers.confirmed(self.target, term);
        if previous > confirmed || confirmed.is_none() {
            return Ok(());
        }
        let lost = format!("management node {} has lost a part of its log; remove it and add it anew", self.target);
        Err(Failed::Unreachable(AnyError::new(&ErrorCode::INVALID.with(lost))))
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
        let (previous, last) = (rpc.prev_log_id, rpc.entries.last().map(|entry| entry.log_id));
        let reply = self.call(term, RaftRequest::append(rpc), Bytes::new(), &option).await?;
        let answer = reply.into_append().ok_or_else(unexpected)?;
        match &answer {
            AppendEntriesResponse::Success => {
                self.network.peers.note_confirmed(self.target, term, last.or(previous));
            }
            AppendEntriesResponse::PartialSuccess(at) => self.network.peers.note_confirmed(self.target, term, *at),
            AppendEntriesResponse::Conflict => self.check_conflict(term, previous)?,
            AppendEntriesResponse::HigherVote(_) => return Ok(answer),
        }
        self.network.contacts.accepted(self.target, term, sent_ms);
        Ok(answer)
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>> {
        let term = rpc.vote.leader_id.term;
        let (request, data) = RaftRequest::snapshot(rpc);
        match self.call(term, request, data, &option).await? {
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
        match self.call(rpc.vote.leader_id.term, request, Bytes::new(), &option).await? {
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

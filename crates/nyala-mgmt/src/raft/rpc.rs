// SPDX-License-Identifier: Apache-2.0

//! Messages between management nodes: the body of `MGMT_RAFT` frames. The data of a snapshot is the frame's payload.
//!
//! **Failure model.** The message is for another node: refused ([`Peers`]). This node's log lacks what it has confirmed to
//! the leader (its directory was replaced by an older copy): it answers nothing from then on and the service ends, because a
//! majority that counts this node may not be one. openraft itself would end the *leader*, with an arithmetic overflow.

use super::log::{RaftLog, RecordError};
use super::machine::View;
use super::peers::{Peers, RaftMessage};
use super::record::{EntryRecord, Position, SnapshotHead, VoteRecord};
use super::{Entry, LogId, Raft, TypeConfig, Vote};
use bytes::Bytes;
use minicbor::{Decode, Encode};
use nyala_transport::{Frame, Reply};
use nyala_wire::error::WireError;
use nyala_wire::{ErrorCode, codec};
use openraft::SnapshotSegmentId;
use openraft::error::{InstallSnapshotError, RaftError, SnapshotMismatch};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, VoteRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A request of one management node to another.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum RaftRequest {
    /// New entries, or a heartbeat without any.
    #[n(0)]
    Append {
        #[n(0)]
        vote: VoteRecord,
        #[n(1)]
        previous: Option<Position>,
        #[n(2)]
        entries: Vec<EntryRecord>,
        #[n(3)]
        committed: Option<Position>,
    },
    /// A candidate wants a vote.
    #[n(1)]
    Vote {
        #[n(0)]
        vote: VoteRecord,
        #[n(1)]
        last: Option<Position>,
    },
    /// A piece of a snapshot; the piece is the payload.
    #[n(2)]
    Snapshot {
        #[n(0)]
        vote: VoteRecord,
        #[n(1)]
        head: SnapshotHead,
        #[n(2)]
        offset: u64,
        #[n(3)]
        done: bool,
    },
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum RaftReply {
    /// Entries are stored.
    #[n(0)]
    Appended,
    /// Entries up to here are stored.
    #[n(1)]
    AppendedUpTo(#[n(0)] Option<Position>),
    /// The log differs before them.
    #[n(2)]
    Conflict,
    /// There is a newer leader.
    #[n(3)]
    HigherVote(#[n(0)] VoteRecord),
    /// Answer to a candidate.
    #[n(4)]
    Voted {
        #[n(0)]
        vote: VoteRecord,
        #[n(1)]
        granted: bool,
        #[n(2)]
        last: Option<Position>,
    },
    /// The piece of the snapshot is stored.
    #[n(5)]
    SnapshotStored(#[n(0)] VoteRecord),
    /// Another piece is expected.
    #[n(6)]
    SnapshotMismatch {
        #[n(0)]
        expected_id: String,
        #[n(1)]
        expected_offset: u64,
        #[n(2)]
        got_id: String,
        #[n(3)]
        got_offset: u64,
    },
}

/// An entry that is looked for while the log is being rewritten may be missing for a moment.
const SECOND_LOOK: Duration = Duration::from_millis(300);

/// What answers the other management nodes.
pub(crate) struct Receiver {
    pub raft: Raft,
    pub peers: Arc<Peers>,
    pub log: RaftLog,
    pub view: Arc<View>,
    /// The last entry that this node has confirmed, once the log turns out not to have it.
    pub behind: watch::Sender<Option<u64>>,
}

impl Receiver {
    /// For a node whose log is `log`, and whose state `view` shows.
    pub(crate) fn new(raft: Raft, peers: Arc<Peers>, log: RaftLog, view: Arc<View>) -> Receiver {
        Receiver { raft, peers, log, view, behind: watch::Sender::new(None) }
    }

    /// Returns once the log turns out to be older than what it has confirmed: up to which entry.
    pub(crate) async fn is_behind(&self) -> u64 {
        let mut behind = self.behind.subscribe();
        match behind.wait_for(Option::is_some).await.map(|at| *at) {
            Ok(Some(at)) => at,
            // There is always a sender while `self` lives, and `wait_for` returned only for `Some`.
            _ => std::future::pending().await,
        }
    }

    /// Refuses if the sender leads and knows of more in this log than there is.
    async fn check_log(&self, vote: &VoteRecord, confirmed: Option<LogId>) -> Result<(), WireError> {
        let Some(confirmed) = confirmed else { return Ok(()) };
        let lacks = || -> Result<bool, WireError> {
            let unreadable = |e: RecordError| ErrorCode::NOT_READY.with(e.to_string());
            // A newer leader may have taken the entry back; then Raft tells the older one.
            let newer = self.log.vote().map_err(unreadable)?.is_some_and(|known| Vote::from(known) > Vote::from(*vote));
            Ok(!newer && self.log.lacks(confirmed).map_err(unreadable)?)
        };
        if !lacks()? {
            return Ok(());
        }
        tokio::time::sleep(SECOND_LOOK).await;
        if lacks()? {
            self.behind.send_replace(Some(confirmed.index));
        }
        Err(ErrorCode::NOT_READY.with(format!("entry {} is missing from the log", confirmed.index)))
    }
}

/// Answers a request of another management node. Without `votes` no candidate gets one: a node that has just started may
/// have promised itself to a leader an instant before, and openraft does not remember that over a restart.
pub(crate) async fn serve(receiver: &Receiver, frame: &Frame, votes: bool) -> Reply {
    match answer(receiver, frame, votes).await {
        Ok(reply) => Reply::ok(codec::encode(&reply)),
        Err(error) => Reply::error(codec::encode(&error)),
    }
}

async fn answer(receiver: &Receiver, frame: &Frame, votes: bool) -> Result<RaftReply, WireError> {
    let raft = &receiver.raft;
    let stopped = |e: &dyn std::fmt::Display| ErrorCode::NOT_READY.with(format!("Raft does not run here: {e}"));
    let message: RaftMessage = codec::decode(&frame.body)?;
    receiver.peers.check(&message, &receiver.view.state())?;
    if let Some(at) = *receiver.behind.borrow() {
        return Err(ErrorCode::NOT_READY.with(format!("this management node has lost entry {at} of its log")));
    }
    match message.request {
        RaftRequest::Append { vote, previous, entries, committed } => {
            receiver.check_log(&vote, message.confirmed.map(LogId::from)).await?;
            let request = AppendEntriesRequest::<TypeConfig> {
                vote: vote.into(),
                prev_log_id: previous.map(LogId::from),
                entries: entries.into_iter().map(Entry::from).collect(),
                leader_commit: committed.map(LogId::from),
            };
            check_whole(request.prev_log_id, &request.entries)?;
            let response = raft.append_entries(request).await.map_err(|e| stopped(&e))?;
            Ok(match response {
                AppendEntriesResponse::Success => RaftReply::Appended,
                AppendEntriesResponse::PartialSuccess(at) => RaftReply::AppendedUpTo(at.map(Position::from)),
                AppendEntriesResponse::Conflict => RaftReply::Conflict,
                AppendEntriesResponse::HigherVote(vote) => RaftReply::HigherVote(vote.into()),
            })
        }
        RaftRequest::Vote { .. } if !votes => Err(ErrorCode::NOT_READY.with("this management node has just started")),
        RaftRequest::Vote { vote, last } => {
            let request = VoteRequest::new(vote.into(), last.map(LogId::from));
            let response = raft.vote(request).await.map_err(|e| stopped(&e))?;
            let last = response.last_log_id.map(Position::from);
            Ok(RaftReply::Voted { vote: response.vote.into(), granted: response.vote_granted, last })
        }
        RaftRequest::Snapshot { vote, head, offset, done } => {
            let request = InstallSnapshotRequest::<TypeConfig> {
                vote: vote.into(),
                meta: head.into(),
                offset,
                data: frame.payload.to_vec(),
                done,
            };
            match raft.install_snapshot(request).await {
                Ok(response) => Ok(RaftReply::SnapshotStored(response.vote.into())),
                Err(RaftError::APIError(InstallSnapshotError::SnapshotMismatch(e))) => Ok(RaftReply::from(e)),
                Err(RaftError::Fatal(e)) => Err(stopped(&e)),
            }
        }
    }
}

/// A log with a hole would be lost data that nobody notices: whatever the sender does, it is not taken.
fn check_whole(previous: Option<LogId>, entries: &[Entry]) -> Result<(), WireError> {
    let first = previous.map_or(0, |at| at.index + 1);
    let whole = entries.iter().zip(first..).all(|(entry, index)| entry.log_id.index == index);
    whole.then_some(()).ok_or_else(|| ErrorCode::BAD_MESSAGE.with("entries are missing between those that were sent"))
}

impl From<SnapshotMismatch> for RaftReply {
    fn from(e: SnapshotMismatch) -> RaftReply {
        RaftReply::SnapshotMismatch {
            expected_id: e.expect.id,
            expected_offset: e.expect.offset,
            got_id: e.got.id,
            got_offset: e.got.offset,
        }
    }
}

impl RaftRequest {
    pub(crate) fn append(rpc: AppendEntriesRequest<TypeConfig>) -> RaftRequest {
        RaftRequest::Append {
            vote: rpc.vote.into(),
            previous: rpc.prev_log_id.map(Position::from),
            entries: rpc.entries.into_iter().map(EntryRecord::from).collect(),
            committed: rpc.leader_commit.map(Position::from),
        }
    }

    pub(crate) fn snapshot(rpc: InstallSnapshotRequest<TypeConfig>) -> (RaftRequest, Bytes) {
        let head = SnapshotHead::from(&rpc.meta);
        (RaftRequest::Snapshot { vote: rpc.vote.into(), head, offset: rpc.offset, done: rpc.done }, rpc.data.into())
    }
}

impl RaftReply {
    /// As the error that openraft knows; `None` for any other reply.
    pub(crate) fn mismatch(self) -> Option<SnapshotMismatch> {
        match self {
            RaftReply::SnapshotMismatch { expected_id, expected_offset, got_id, got_offset } => {
                Some(SnapshotMismatch {
                    expect: SnapshotSegmentId { id: expected_id, offset: expected_offset },
                    got: SnapshotSegmentId { id: got_id, offset: got_offset },
                })
            }
            _ => None,
        }
    }

    pub(crate) fn into_append(self) -> Option<AppendEntriesResponse<u64>> {
        match self {
            RaftReply::Appended => Some(AppendEntriesResponse::Success),
            RaftReply::AppendedUpTo(at) => Some(AppendEntriesResponse::PartialSuccess(at.map(LogId::from))),
            RaftReply::Conflict => Some(AppendEntriesResponse::Conflict),
            RaftReply::HigherVote(vote) => Some(AppendEntriesResponse::HigherVote(Vote::from(vote))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::{CommittedLeaderId, EntryPayload};

    #[test]
    fn entries_with_a_hole_are_not_taken() {
        let id = |index| LogId::new(CommittedLeaderId::new(1, 1), index);
        let entries = |all: &[u64]| -> Vec<Entry> {
            all.iter().map(|index| Entry { log_id: id(*index), payload: EntryPayload::Blank }).collect()
        };
        let taken = |previous, all: &[u64]| check_whole(previous, &entries(all)).is_ok();
        assert!(taken(None, &[]) && taken(None, &[0, 1]) && taken(Some(id(4)), &[5, 6]) && taken(Some(id(4)), &[]));
        assert!(!taken(None, &[1]) && !taken(Some(id(4)), &[6]) && !taken(Some(id(4)), &[5, 7]));
    }
}

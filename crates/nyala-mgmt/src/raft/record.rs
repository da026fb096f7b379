// SPDX-License-Identifier: Apache-2.0

//! The records of Raft as they are on disk and between management nodes: our own layouts, so that neither depends on
//! what openraft's structures look like in the next version. `docs/format-mgmt.md` shows them.

use super::{Entry, LogId, StoredMembership, Vote};
use minicbor::{Decode, Encode};
use nyala_cluster::Command;
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership, SnapshotMeta};
use std::collections::{BTreeMap, BTreeSet};

/// Position of an entry: index, and the leader that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Position {
    #[n(0)]
    term: u64,
    #[n(1)]
    leader: u64,
    #[n(2)]
    index: u64,
}

/// A vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct VoteRecord {
    #[n(0)]
    term: u64,
    #[n(1)]
    node: u64,
    #[n(2)]
    committed: bool,
}

/// Who takes part: one set of voters, or two while the set changes; and where each is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Members {
    #[n(0)]
    voters: Vec<Vec<u64>>,
    #[n(1)]
    nodes: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct Member {
    #[n(0)]
    id: u64,
    #[n(1)]
    address: String,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct EntryRecord {
    #[n(0)]
    position: Position,
    #[n(1)]
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
enum Content {
    #[n(0)]
    Blank,
    #[n(1)]
    Command(#[n(0)] Command),
    #[n(2)]
    Members(#[n(0)] Members),
}

/// What a snapshot stands for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SnapshotHead {
    #[n(0)]
    last: Option<Position>,
    #[n(1)]
    members_at: Option<Position>,
    #[n(2)]
    members: Members,
    #[n(3)]
    id: String,
}

/// A snapshot: its head and the encoded cluster state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SnapshotRecord {
    #[n(0)]
    pub head: SnapshotHead,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub state: Vec<u8>,
}

impl From<LogId> for Position {
    fn from(id: LogId) -> Position {
        Position { term: id.leader_id.term, leader: id.leader_id.node_id, index: id.index }
    }
}

impl From<Position> for LogId {
    fn from(at: Position) -> LogId {
        LogId::new(CommittedLeaderId::new(at.term, at.leader), at.index)
    }
}

impl From<Vote> for VoteRecord {
    fn from(vote: Vote) -> VoteRecord {
        VoteRecord { term: vote.leader_id.term, node: vote.leader_id.node_id, committed: vote.committed }
    }
}

impl From<VoteRecord> for Vote {
    fn from(vote: VoteRecord) -> Vote {
        if vote.committed { Vote::new_committed(vote.term, vote.node) } else { Vote::new(vote.term, vote.node) }
    }
}

impl From<&Membership<u64, BasicNode>> for Members {
    fn from(from: &Membership<u64, BasicNode>) -> Members {
        let voters = from.get_joint_config().iter().map(|set| set.iter().copied().collect()).collect();
        let nodes = from.nodes().map(|(id, node)| Member { id: *id, address: node.addr.clone() }).collect();
        Members { voters, nodes }
    }
}

impl From<Members> for Membership<u64, BasicNode> {
    fn from(from: Members) -> Membership<u64, BasicNode> {
        let nodes: BTreeMap<u64, BasicNode> =
            from.nodes.into_iter().map(|m| (m.id, BasicNode::new(m.address))).collect();
        let voters: Vec<BTreeSet<u64>> = from.voters.into_iter().map(|set| set.into_iter().collect()).collect();
        Membership::new(voters, nodes)
    }
}

impl From<Entry> for EntryRecord {
    fn from(entry: Entry) -> EntryRecord {
        let content = match entry.payload {
            EntryPayload::Blank => Content::Blank,
            EntryPayload::Normal(command) => Content::Command(command),
            EntryPayload::Membership(members) => Content::Members(Members::from(&members)),
        };
        EntryRecord { position: entry.log_id.into(), content }
    }
}

impl From<EntryRecord> for Entry {
    fn from(record: EntryRecord) -> Entry {
        let payload = match record.content {
            Content::Blank => EntryPayload::Blank,
            Content::Command(command) => EntryPayload::Normal(command),
            Content::Members(members) => EntryPayload::Membership(members.into()),
        };
        Entry { log_id: record.position.into(), payload }
    }
}

impl From<&SnapshotMeta<u64, BasicNode>> for SnapshotHead {
    fn from(meta: &SnapshotMeta<u64, BasicNode>) -> SnapshotHead {
        SnapshotHead {
            last: meta.last_log_id.map(Position::from),
            members_at: meta.last_membership.log_id().map(Position::from),
            members: Members::from(meta.last_membership.membership()),
            id: meta.snapshot_id.clone(),
        }
    }
}

impl From<SnapshotHead> for SnapshotMeta<u64, BasicNode> {
    fn from(head: SnapshotHead) -> SnapshotMeta<u64, BasicNode> {
        SnapshotMeta {
            last_log_id: head.last.map(LogId::from),
            last_membership: StoredMembership::new(head.members_at.map(LogId::from), head.members.into()),
            snapshot_id: head.id,
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Pieces of work that a member has under way.

use crate::clients::Asker;
use crate::input::{Job, Ticket};
use crate::message::{Change, Origin};
use crate::regions::Span;
use nyala_wire::TargetId;
use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, BTreeSet};

/// A piece of work.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub kind: Kind,
    /// The line in which it stands or has its turn.
    pub line: Option<ChunkFileId>,
    /// Disk work under way.
    pub job: Option<Job>,
    /// Of a client's request: when the service got it.
    pub began_us: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Primary: a client's change.
    Change(ReplicatedOp, Asker),
    /// Primary: a region for members that lack it.
    Copy(ReplicatedOp, Purpose),
    /// Member: a change or region that the primary sent.
    Taken { seq: u64, change: Change, payload: Ticket, origin: Option<Origin> },
    /// A client's read; `turn` at the primary.
    Read { asker: Asker, file: ChunkFileId, span: Span, turn: bool },
    /// Primary: everything acknowledged to disk, here (for a client) or at one member (for its resync).
    Sync { by: SyncBy, flushed: bool, acked: BTreeSet<TargetId>, sent: BTreeMap<TargetId, Sent> },
    /// Member: the same, asked by the primary.
    SyncHere { id: u64, flushed: bool },
    /// Disk work of an earlier role that cannot be called back; it keeps its turn until it ends.
    Ghost { change: Change, payload: Option<Ticket>, origin: Option<Origin> },
}

/// What goes from the primary to members.
#[derive(Clone, Debug)]
pub(super) struct ReplicatedOp {
    pub change: Change,
    pub payload: Ticket,
    /// Number in this term; 0 before its turn.
    pub seq: u64,
    /// Applied here; for a copy: read.
    pub here: bool,
    pub acked: BTreeSet<TargetId>,
    pub sent: BTreeMap<TargetId, Sent>,
}

impl ReplicatedOp {
    pub fn new(change: Change, payload: Ticket) -> ReplicatedOp {
        ReplicatedOp { change, payload, seq: 0, here: false, acked: BTreeSet::new(), sent: BTreeMap::new() }
    }
}

/// When a question was put to a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub since_ms: u64,
    /// The epoch and time of the last copy; a new epoch sends again at once.
    pub last_ms: u64,
    pub epoch: u32,
}

/// Why a region is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A new primary brings in-flight regions to agreement.
    Agree,
    /// A resync of this member.
    Resync(TargetId),
}

/// Why there is a sync; what it asks of members.
#[derive(Clone, Copy, Debug)]
pub(super) enum SyncBy {
    Client(Asker),
    Resync(TargetId),
    /// The end of an agreement: members learn which changes are done.
    Agree,
}

/// What a job's end means for its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// This row of intents is on disk ([`crate::tracking::Tracking::opened`]).
    Opened(u64),
    /// The change or region is in the file; the read has been read.
    Main,
    /// Rows are on disk (end of a member's sync).
    Rows,
    /// The periodic flush.
    Closing,
    /// Nobody waits for it.
    Nothing,
}

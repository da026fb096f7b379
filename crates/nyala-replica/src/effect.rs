// SPDX-License-Identifier: Apache-2.0

//! What goes into a member and what comes out of it.

use crate::message::{Change, Envelope};
use crate::regions::Span;
use crate::rows::Row;
use nyala_cluster::Command;
use nyala_wire::map::{ClusterMap, Group, Reachability};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{GroupId, MapVersion, TargetId};
use std::collections::BTreeSet;

/// Names a buffer that the shell holds: the payload of a change, or a region that was read. The shell numbers those that it
/// brings in below 2^63, the member those that it asks for from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Names a piece of disk work that the shell does; its end comes back as [`Input::Done`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Job(pub u64);

/// Names a request that waits for an answer; the shell's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// What a member sees of a cluster map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Version of the map.
    pub version: MapVersion,
    /// Its group.
    pub group: Group,
    /// Members that are not offline.
    pub reachable: BTreeSet<TargetId>,
}

impl View {
    /// A group as a map shows it.
    pub fn of(map: &ClusterMap, group: GroupId) -> Option<View> {
        let group = map.groups.iter().find(|g| g.id == group)?.clone();
        let online = |t: &&TargetId| map.target(**t).is_some_and(|t| t.reachability != Reachability::Offline);
        let reachable = group.members.iter().filter(online).copied().collect();
        Some(View { version: map.version, group, reachable })
    }
}

/// A request of a client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where the answer goes.
    pub token: Token,
    /// The client's session.
    pub client: u64,
    /// The client's number for this request; the same when it is sent again.
    pub seq: u64,
    /// The lowest number whose answer the client still waits for.
    pub lowest: u64,
    /// The group's epoch as the client knows it.
    pub epoch: u32,
    /// What it wants.
    pub wish: Wish,
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A change; its payload is in the buffer.
    Change(Change, Ticket),
    /// To read.
    Read(ChunkFileId, Span),
    /// Everything acknowledged before on disk, on every good member.
    Sync,
}

/// What happens to a member.
#[derive(Clone, Debug)]
pub enum Input {
    /// A newer map. The shell tells management that it has it only after this.
    Map(View),
    /// The lease was renewed: it is good until `until_ms`, for one who has map `version` or a newer one.
    Lease {
        /// By the member's clock.
        until_ms: u64,
        /// The map that it was granted under.
        version: MapVersion,
    },
    /// A client's request.
    Request(Request),
    /// A client's session has ended.
    Forget {
        /// The session.
        client: u64,
    },
    /// A message of another member's. `payload` is a buffer with what came beside it.
    Message {
        /// Who.
        from: TargetId,
        /// What.
        envelope: Envelope,
        /// The payload, for `Forward` and `Copy`.
        payload: Ticket,
    },
    /// A member's host refuses connections.
    Refused {
        /// The member.
        target: TargetId,
    },
    /// A piece of disk work ended.
    Done {
        /// Which.
        job: Job,
        /// It worked.
        ok: bool,
        /// For [`Effect::ReadRegion`]: the file ends in the region or before it.
        last: bool,
    },
    /// Time goes by. At least every 50 ms.
    Tick,
}

/// What a member wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An answer to a request.
    Reply(Token, Answer),
    /// A message, with the buffer that goes beside it.
    Send(TargetId, Envelope, Option<Ticket>),
    /// These rows into the log, as one record; earlier records are never lost before later ones. `durable`: done when on disk;
    /// else done when in the log.
    Persist {
        /// Name of the work.
        job: Job,
        /// Rows that change.
        rows: Vec<Row>,
        /// On disk.
        durable: bool,
    },
    /// A change into the chunk file. Done when it survives the death of the process.
    Apply {
        /// Name of the work.
        job: Job,
        /// The change.
        change: Change,
        /// Its payload.
        payload: Ticket,
    },
    /// Read for a client; the shell keeps the data under the job's name for [`Answer::Data`].
    Read {
        /// Name of the work.
        job: Job,
        /// The chunk file.
        file: ChunkFileId,
        /// The bytes.
        span: Span,
    },
    /// Read a region for a copy into a buffer.
    ReadRegion {
        /// Name of the work.
        job: Job,
        /// The chunk file.
        file: ChunkFileId,
        /// The bytes; holes are kept.
        span: Span,
        /// The buffer.
        into: Ticket,
    },
    /// Make a region what the buffer says, holes and end of file included.
    WriteRegion {
        /// Name of the work.
        job: Job,
        /// The chunk file.
        file: ChunkFileId,
        /// The bytes.
        span: Span,
        /// The buffer.
        from: Ticket,
    },
    /// Everything that was applied before to disk.
    Flush {
        /// Name of the work.
        job: Job,
    },
    /// The buffer is not needed any more.
    Drop(Ticket),
    /// Propose this to management; it may be refused, and is asked again as long as it is needed.
    Ask(Command),
    /// There is a newer map: fetch it.
    FetchMap,
}

/// An answer to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, on every good member.
    Done,
    /// What the named read brought.
    Data(Job),
    /// The client's view of the group is old, or ours is: fetch the map, send again.
    WrongEpoch,
    /// Not now: no lease, or a new reign that is not ready. Send again.
    NotReady,
    /// This member cannot tell yet whether the newest change there counts: ask the primary.
    AskPrimary,
    /// The disk failed and no other member can serve.
    Failed,
}

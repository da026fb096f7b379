// SPDX-License-Identifier: Apache-2.0

//! What goes into a member.

use crate::message::{Change, Envelope};
use crate::regions::Span;
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
    pub operation: Operation,
    /// When the service got it, by the clock of [`crate::Member::handle`]: what waits before the member waits for the client.
    pub came_us: u64,
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
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
    /// A member's host does not answer us, though management may hear it: there is no use in waiting for it, nor in bringing
    /// it up to date, before `until_ms`.
    Silent {
        /// The member.
        target: TargetId,
        /// By the clock of [`crate::Member::handle`], in milliseconds.
        until_ms: u64,
    },
    /// A piece of disk work ended.
    Done {
        /// Which.
        job: Job,
        /// It worked.
        ok: bool,
        /// For [`crate::Effect::ReadRegion`]: the file ends in the region or before it.
        last: bool,
        /// For [`crate::Effect::ReadRegion`]: what is to be sent, bytes.
        bytes: u64,
    },
    /// Chunk files that are here, asked for with [`crate::Effect::ListFiles`].
    Listed {
        /// The member that they are for.
        of: TargetId,
        /// As asked.
        after: Option<ChunkFileId>,
        /// In order; empty: there are no more. `None`: they cannot be listed.
        files: Option<Vec<ChunkFileId>>,
    },
    /// Time goes by. At least every 50 ms.
    Tick,
}

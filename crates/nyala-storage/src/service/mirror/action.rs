// SPDX-License-Identifier: Apache-2.0

//! What a step of the member asks of this server, with all that it takes to do it: nothing here refers to the member's state,
//! which may have moved on by the time it is done. Failure model: see the parent module.

use super::parse::{Asked, Payload, ReadKind};
use crate::service::read_reply::Found;
use nyala_cluster::Command;
use nyala_replica::{Envelope, Job, Question, Span, Ticket};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::storage::{ChunkFileId, StorageReply};
use nyala_wire::{ErrorCode, MapVersion, NodeId, SessionId, TargetId, WireError};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What came of a request.
pub enum Answered {
    Done,
    Read(Found),
    Reply(StorageReply),
}

/// Whom to tell that a session is fenced.
pub(super) type Fenced = oneshot::Sender<Result<(), WireError>>;

/// What happens to a member on the thread of all groups.
pub(super) enum Event {
    Map(Arc<ClusterMap>, oneshot::Sender<()>),
    /// The session is fenced on the target. Answer when it is in the group, and no write of the session is under way.
    Fence(SessionId, Fenced),
    Stop,
}

/// What members want of management.
pub(super) enum Ask {
    /// A member became something.
    News(MgmtRequest),
    /// The host of a service refuses connections.
    Refused(NodeId),
    /// There is a newer map than this.
    Behind(MapVersion),
}

/// Something to be done after a step.
pub(super) enum Action {
    /// Tell a client.
    Reply(oneshot::Sender<Result<Answered, WireError>>, Result<Answered, WireError>),
    /// Tell a member that waits for a reply.
    Answer(oneshot::Sender<Envelope>, Envelope),
    /// Send a message.
    Send(OutboundMessage),
    /// Memory that is not needed any more.
    Discard(Payload),
    /// Ask management.
    Ask(Command),
    /// There is a newer map than this.
    FetchMap(MapVersion),
    /// What a request is about.
    Main(Main),
    /// Disk work beside that.
    Work(Work),
}

/// What a request is about: mostly done by whoever has it.
pub(super) enum Main {
    /// Do a change.
    Apply { job: Job, file: ChunkFileId, ticket: Ticket, request: Option<Payload> },
    /// Read for a client; `None`: who has gone.
    Read { job: Job, file: ChunkFileId, kind: Option<ReadKind> },
}

/// Disk work that takes time and is not on the way of most requests.
pub(super) enum Work {
    /// Rows wait in the group's queue.
    WriteRows,
    /// Read a region for another member.
    ReadRegion { job: Job, file: ChunkFileId, span: Span, into: Ticket, as_is: bool },
    /// Take a region from another member.
    WriteRegion { job: Job, file: ChunkFileId, end: u64, region: Option<Payload> },
    /// Sync these files.
    Flush { job: Job, files: Vec<ChunkFileId> },
    /// List chunk files behind one, for a member.
    ListFiles { of: TargetId, after: Option<ChunkFileId> },
}

/// A message on its way out.
pub struct OutboundMessage {
    pub to: TargetId,
    /// Says where it is.
    pub map: Arc<ClusterMap>,
    pub envelope: Envelope,
    /// The question that it is, if it is one.
    pub question: Option<Question>,
    /// The trace of the request that it is sent for, if that is followed.
    pub trace: Option<u64>,
    pub(super) payload: Option<Payload>,
}

/// A client's request on its way to the member.
pub(super) struct Incoming {
    pub client: u64,
    pub number: u64,
    pub lowest: u64,
    pub epoch: u32,
    pub asked: Asked,
    /// When it came, in microseconds of the monotonic clock.
    pub came_us: u64,
    pub answer: oneshot::Sender<Result<Answered, WireError>>,
}

/// A request that waits for its answer.
pub(super) struct Waiting {
    pub answer: oneshot::Sender<Result<Answered, WireError>>,
    pub read: Option<ReadKind>,
    /// Client and number.
    pub origin: (u64, u64),
    /// When it came, in microseconds of the monotonic clock.
    pub came_us: u64,
}

/// What a client is told when nobody can serve.
pub(super) fn lost() -> WireError {
    ErrorCode::IO.with("the disk of this storage target fails, and no other member can serve")
}

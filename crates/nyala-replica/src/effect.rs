// SPDX-License-Identifier: Apache-2.0

//! What comes out of a member.

use crate::input::{Job, Ticket, Token};
use crate::message::{Change, Envelope};
use crate::regions::Span;
use crate::rows::Row;
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::storage::ChunkFileId;

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
        /// The request that it is for.
        token: Token,
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
        /// What cannot be read goes into it as such, so that the rest of it gets on. Otherwise that is a failure.
        as_is: bool,
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
    /// Which chunk files there are here, in order, behind `after`: some of them, at least one if there is any. The
    /// answer is [`crate::Input::Listed`].
    ListFiles {
        /// The member that they are for.
        of: TargetId,
        /// The last one of the list before.
        after: Option<ChunkFileId>,
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
    /// Not now: no lease, or a new term that is not ready. Send again.
    NotReady,
    /// This member cannot tell yet whether the newest change there counts: ask the primary.
    AskPrimary,
    /// The disk failed and no other member can serve.
    Failed,
}

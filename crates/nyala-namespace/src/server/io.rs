// SPDX-License-Identifier: Apache-2.0

//! What goes into a metadata server and what comes out of it.

pub use super::note::Note;
use crate::view::View;
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::MetaRequest;
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::mgmt::SlotStep;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, InodeId, SessionId, TargetId, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// When something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a monotonic clock that began with this run of the server.
    pub ms: u64,
    /// The server holds a valid lease from management: without one it answers nobody.
    pub serving: bool,
}

/// Names a request until it is answered; chosen by whoever delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Names something that the server asked for until it is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What happens to a server.
#[derive(Debug)]
pub enum Input {
    /// A client's request. Answered by one [`Effect::Reply`].
    Request(Token, MetaRequest),
    /// A step of a transaction, from another metadata server. Answered by one [`Effect::Answer`].
    Transaction(Token, TxRequest),
    /// What an effect came to. Each ticket is completed once.
    Completed(Ticket, Completion),
    /// The cluster map has changed.
    Map(Arc<ClusterMap>),
    /// Time has passed: [`super::Server::next_wake`] has come.
    Tick,
}

/// What an effect came to.
#[derive(Debug)]
pub enum Completion {
    /// Of [`Effect::Log`]. An error: the log cannot be written.
    Logged(Result<(), WireError>),
    /// Of [`Effect::Room`]. An error: a change of that kind is to be refused with it.
    Room(Result<(), WireError>),
    /// Of [`Effect::Ask`]. An error may also mean that the answer was lost.
    Heard(Result<TxReply, WireError>),
    /// Of [`Effect::Truncate`].
    Truncated,
    /// Of [`Effect::Fence`].
    Fenced(Result<(), WireError>),
}

/// How safe something has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives the death of the process.
    Written,
    /// It survives a power cut.
    OnDisk,
}

/// What a server wants done, in this order.
#[derive(Debug)]
pub enum Effect {
    /// Answer a client. The reply may reflect changes (including the absence of something) that are applied but not yet
    /// written: it must not leave before everything that is applied by now is written. The place in the log is that of the change's
    /// own record, if the reply is to a change that was made for it; otherwise the reply rests on all that is applied.
    Reply(Token, Result<Vec<u8>, WireError>, Option<u64>),
    /// Answer another metadata server; the same holds.
    Answer(Token, Result<TxReply, WireError>),
    /// Make everything that is applied by now this safe: [`Completion::Logged`].
    Log(Ticket, Durability),
    /// Wait until the tables have room: with a kind, for a change of that kind; without, for any change that maintains
    /// what is there: [`Completion::Room`].
    Room(Ticket, Option<ChangeKind>),
    /// Ask another metadata server once, with a time limit: [`Completion::Heard`].
    Ask(Ticket, TargetId, TxRequest),
    /// Truncate a chunk file to a length in bytes, however long that takes: [`Completion::Truncated`].
    Truncate(Ticket, DataLocation, ChunkFileId, u64),
    /// Have storage refuse what a session may still send: [`Completion::Fenced`].
    Fence(Ticket, SessionId),
    /// Tell management once how far a slot is that goes to another server. What came of it is in the map.
    SlotStep(SlotStep),
    /// Tell the operator.
    Note(Note),
}

impl Effect {
    /// What a task waits for that asked for it, in the words in which operators are told.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Effect::Log(_, Durability::Written) => "log",
            Effect::Log(_, Durability::OnDisk) => "sync",
            Effect::Room(..) => "room",
            Effect::Ask(..) => "other servers",
            Effect::Truncate(..) | Effect::Fence(..) => "storage",
            Effect::Reply(..) | Effect::Answer(..) | Effect::SlotStep(_) | Effect::Note(_) => "nothing",
        }
    }
}

/// A metadata server's tables. Applying is part of the server's step, because nothing may come between the look at the tables
/// and the change; it touches memory only. [`Effect::Log`] is what reaches a disk.
pub trait Tables: View {
    /// Applies a batch as a whole; it is visible at once. With an error nothing is done.
    fn apply(&self, batch: &Batch) -> Result<(), WireError>;
    /// Place in the log of what was applied last, in the numbering that clients are told.
    fn position(&self) -> u64;
    /// Whether something is applied that is not written.
    fn has_unwritten(&self) -> bool;
    /// Whether there is no memory for further changes until some are on disk.
    fn is_full(&self) -> bool;
    /// Whether a change of this kind may be applied now.
    fn admits(&self, kind: ChangeKind) -> bool;

    /// The inodes that the server itself holds open ([`crate::ns::deferred_unlink`]).
    fn deferred(&self) -> Result<BTreeSet<InodeId>, WireError> {
        Ok(self.opened_by(crate::ns::deferred_unlink::HOLDER)?.into_iter().collect())
    }
}

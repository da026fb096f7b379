// SPDX-License-Identifier: Apache-2.0

//! What a metadata server tells its operator.

use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, SessionId, Slot, TargetId, WireError};

/// Something that an operator may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A client has opened a session.
    SessionOpened(SessionId, String),
    /// So many changes of clients are done again, which a power cut may have taken back.
    DoesAgain(usize),
    /// A change, by its session and sequence number, cannot be done again; its client is told.
    NotDoneAgain(SessionId, u64, WireError),
    /// A session ends because its client was silent, or kept a delegation, for too long. The timeout is in milliseconds.
    SessionExpires(SessionId, u64),
    /// A session cannot be ended; it is tried again.
    SessionNotEnded(SessionId, WireError),
    /// All clients of before the restart have said what they still hold.
    Confirmed,
    /// A participant does not confirm a commit; it is told again.
    CommitUnconfirmed(TxId, TargetId, WireError),
    /// A finished transaction cannot be forgotten; after a restart its participants are told again.
    NotForgotten(WireError),
    /// A prepared transaction cannot be ended although it holds all locks: a fault of this program, or damaged tables.
    CannotEnd(TxId, String),
    /// The coordinator does not say what became of a transaction.
    OutcomeOpen(TxId, WireError),
    /// A truncation that an earlier run began cannot be completed.
    TruncationFailed(InodeId, WireError),
    /// A replaced file cannot be removed; it is tried again.
    DeferredUnlinkFailed(InodeId, WireError),
    /// A slot is another server's now, to which it was copied.
    SlotGiven(Slot, TargetId),
    /// A slot cannot be given to another server yet; it is tried again, and served here meanwhile.
    SlotNotGiven(Slot, WireError),
    /// Clients, or transactions, have not let go of a slot that is to go: of so many inodes, this one among them. It is open again, and
    /// tried again.
    SlotHeld(Slot, usize, Option<InodeId>),
    /// What came from other servers cannot be read, and so not be served.
    SlotNotTaken(WireError),
    /// A slot is served here from now on, with so many inodes.
    SlotTaken(Slot, u64),
    /// Rows of a slot that is another server's cannot be removed; it is tried again.
    SlotNotCleared(Slot, WireError),
    /// A server does not say who waits there for locks.
    LockEdgesUnknown(TargetId, WireError),
}

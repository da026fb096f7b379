// SPDX-License-Identifier: Apache-2.0

//! What a metadata server's tables say that is not about an inode.

use crate::ids::{SessionId, Slot, TargetId};
use crate::meta_tx::TxId;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Something of a whole server.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ServerFact {
    /// Replies are kept for a session that there is not.
    #[n(0)]
    StrayReplies {
        /// The session.
        #[n(0)]
        session: SessionId,
    },
    /// A part of a transaction is prepared here.
    #[n(1)]
    Prepared {
        /// The transaction.
        #[n(0)]
        tx: TxId,
    },
    /// A transaction was decided here, and these have not confirmed it.
    #[n(2)]
    Committed {
        /// Its number.
        #[n(0)]
        number: u64,
        /// Who has not.
        #[n(1)]
        waits_for: Vec<TargetId>,
    },
    /// The next inode of a slot gets this sequence number, or a larger one.
    #[n(3)]
    NextSequence {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The number.
        #[n(1)]
        next: u64,
    },
    /// So many inodes are here, by the server's count.
    #[n(4)]
    Count {
        /// Number.
        #[n(0)]
        inodes: u64,
    },
    /// A row that cannot be read.
    #[n(5)]
    Unreadable {
        /// Its key.
        #[n(0)]
        key: ByteVec,
    },
}

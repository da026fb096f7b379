// SPDX-License-Identifier: Apache-2.0

//! Repairs of what a server keeps beside inodes.

use crate::ids::{SessionId, Slot};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// As [`super::Repair`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ServerRepair {
    /// Remove the kept replies of a session that does not exist.
    #[n(0)]
    RemoveReplies {
        /// The session.
        #[n(0)]
        session: SessionId,
    },
    /// The next inode of a slot gets at least this sequence number.
    #[n(1)]
    RaiseSequence {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The number.
        #[n(1)]
        to: u64,
    },
    /// Correct the number of inodes on the server.
    #[n(2)]
    SetCount {
        /// What it is now.
        #[n(0)]
        from: u64,
        /// What it is to be.
        #[n(1)]
        to: u64,
    },
    /// Keep a row that cannot be read where nobody reads it, if [`crate::check::may_be_set_aside`] says that it may.
    #[n(3)]
    SetAside {
        /// Its key.
        #[n(0)]
        key: ByteVec,
    },
}

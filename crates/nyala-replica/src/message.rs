// SPDX-License-Identifier: Apache-2.0

//! What members say to each other. Every message carries group, epoch and term: one of another epoch is not acted upon.
//! CBOR with numbered fields; `docs/replication.md` lists them. Payloads (data of changes and regions) travel beside.

use crate::lists::FileRegions;
use crate::regions::Span;
use minicbor::{Decode, Encode};
use nyala_wire::GroupId;
use nyala_wire::storage::ChunkFileId;

/// A change of a chunk file. What exactly is done there is in the payload and no business of the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Change {
    /// The chunk file.
    #[n(0)]
    pub file: ChunkFileId,
    /// The bytes that it touches; to the end of the file for one that changes its length, all for one that removes it.
    #[n(1)]
    pub span: Span,
}

/// Whose change it is: so that every good member can tell one that is sent again, also when it is primary by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Origin {
    /// The client's session.
    #[n(0)]
    pub client: u64,
    /// The client's number.
    #[n(1)]
    pub seq: u64,
    /// The lowest number whose answer the client still waited for.
    #[n(2)]
    pub lowest: u64,
}

/// A message with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Envelope {
    /// The group.
    #[n(0)]
    pub group: GroupId,
    /// The sender's epoch.
    #[n(1)]
    pub epoch: u32,
    /// The term that the sender is in.
    #[n(2)]
    pub term: u32,
    /// What it says.
    #[n(3)]
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Body {
    /// Primary to member: do this change. Payload: the change's.
    #[n(0)]
    Forward {
        /// Its number in this term.
        #[n(0)]
        seq: u64,
        /// All changes with lower numbers are committed.
        #[n(1)]
        committed_below: u64,
        /// The change.
        #[n(2)]
        change: Change,
        /// Whose it is.
        #[n(3)]
        origin: Origin,
    },
    /// Answer: done, or it failed here.
    #[n(1)]
    Forwarded {
        /// As in the question.
        #[n(0)]
        seq: u64,
        /// Done.
        #[n(1)]
        ok: bool,
    },
    /// Primary to members: all changes with lower numbers are committed. Like `Forward`, it says that the primary leads: what
    /// earlier terms left in flight is agreed on.
    #[n(2)]
    Committed {
        /// The number.
        #[n(0)]
        committed_below: u64,
    },
    /// Primary to member: what may differ at yours?
    #[n(3)]
    Gather {
        /// A new primary's notes of clients' changes that are in its file.
        #[n(0)]
        done: Vec<Origin>,
    },
    /// Answer.
    #[n(4)]
    Gathered {
        /// Regions by file.
        #[n(0)]
        regions: Vec<FileRegions>,
    },
    /// Primary to member: this is what the region holds. Numbered and answered like a change. Payload: the region's.
    #[n(5)]
    Copy {
        /// Its number in this term.
        #[n(0)]
        seq: u64,
        /// All changes and copies with lower numbers are done with.
        #[n(1)]
        committed_below: u64,
        /// The chunk file and the bytes; up to `u64::MAX` if the file ends in there.
        #[n(2)]
        change: Change,
    },
    /// Primary to member: answer when all that you have acknowledged is on disk.
    #[n(6)]
    Sync {
        /// Number of the question.
        #[n(0)]
        id: u64,
        /// Put it on disk; else just answer.
        #[n(1)]
        flush: bool,
        /// Clients' changes that the primary knows to be done, for a member that may not know.
        #[n(2)]
        done: Option<Vec<Origin>>,
    },
    /// Answer.
    #[n(7)]
    Synced {
        /// As in the question.
        #[n(0)]
        id: u64,
        /// Done.
        #[n(1)]
        ok: bool,
    },
    /// To one whose message had an older epoch: there is a newer map.
    #[n(8)]
    Behind,
}

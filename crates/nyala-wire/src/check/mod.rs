// SPDX-License-Identifier: Apache-2.0

//! What a metadata server's tables say, as facts that a check of the whole file system compares with what other servers say
//! (`nyala fsck`). A fact is small whatever its row is: content and values of attributes stay where they are.

mod fact;
mod inode_fact;
mod server_fact;

pub use fact::Fact;
pub use inode_fact::InodeFact;
pub use server_fact::ServerFact;

use crate::ids::{InodeId, TargetId};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Most rows that one request looks at.
pub const MAX_SCAN_ROWS: u32 = 4096;
/// Most inodes that one request names.
pub const MAX_SCAN_INODES: usize = 256;

/// Most bytes of the key of a row that can be set aside.
pub const MAX_ASIDE_KEY: usize = 300;

/// Whether a row that cannot be read may be taken out of the tables by its key: of a name, content, attributes, open files, locks, kept
/// replies and queues of removals. What hangs from an inode's record would go with it; transactions and numbers of slots would begin anew.
pub fn may_be_set_aside(key: &[u8]) -> bool {
    matches!(key.first(), Some(b'E' | b'D' | b'X' | b'O' | b'L' | b'K' | b'R' | b'G')) && key.len() <= MAX_ASIDE_KEY
}

/// Asks a metadata server for facts, from its tables as they are when it answers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScanRequest {
    /// Only records of inodes, or only everything else.
    #[n(0)]
    pub inodes: bool,
    /// Where to go on, as the reply before said; empty: from the beginning.
    #[n(1)]
    pub from: ByteVec,
    /// Rows to look at, at most [`MAX_SCAN_ROWS`].
    #[n(2)]
    pub most: u32,
    /// If there are any, at most [`MAX_SCAN_INODES`]: all that the tables say of these inodes, at one moment, their names apart. The
    /// other fields do not count.
    #[n(3)]
    #[cbor(default)]
    pub of: Vec<InodeId>,
    /// If so: no facts, but whether the members of the mirror group hold the same rows, at the same place of its log. Counts with `from` and
    /// `most` only, and with all rows.
    #[n(4)]
    pub compare: Option<bool>,
}

/// What a member of a metadata server's mirror group holds in a range of keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemberCompared {
    /// The member.
    #[n(0)]
    pub target: TargetId,
    /// Whether that is what the primary holds; absent: it did not say in time, or has more records already.
    #[n(1)]
    pub equal: Option<bool>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScanReply {
    /// What was found.
    #[n(0)]
    pub facts: Vec<Fact>,
    /// Where it goes on; absent: that was all.
    #[n(1)]
    pub next: Option<ByteVec>,
    /// Log position of the tables: while it stays, so do they.
    #[n(2)]
    pub position: u64,
    /// If that was asked: each good member but the primary. None of a server that is not mirrored.
    #[n(3)]
    pub compared: Option<Vec<MemberCompared>>,
}

// SPDX-License-Identifier: Apache-2.0

//! What a metadata server's tables say, as facts that a check of the whole file system compares with what other servers say
//! (`nyala fsck`). A fact is small whatever its row is: content and values of attributes stay where they are.

mod fact;
mod inode_fact;
mod server_fact;

pub use fact::Fact;
pub use inode_fact::InodeFact;
pub use server_fact::ServerFact;

use crate::ids::InodeId;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Most rows that one request looks at.
pub const MAX_SCAN_ROWS: u32 = 4096;
/// Most inodes that one request names.
pub const MAX_SCAN_INODES: usize = 256;

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
}

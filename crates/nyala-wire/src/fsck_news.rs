// SPDX-License-Identifier: Apache-2.0

//! How far a check of the file system is, as the command that runs it tells management.

use minicbor::{Decode, Encode};

/// For so long a check is taken to go on after it was last heard of, seconds. It tells something new more often.
pub const FSCK_HEARD_S: u64 = 60;
/// Longest text of each kind, bytes; what is longer is refused.
pub const MAX_FSCK_TEXT: usize = 512;

/// News of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FsckNews {
    /// Random number of the run.
    #[n(0)]
    pub run: u64,
    /// Whether it repairs what it finds.
    #[n(1)]
    pub repairs: bool,
    /// What it is doing, for people, one line.
    #[n(2)]
    pub progress: String,
    /// What came of it, once it is over.
    #[n(3)]
    pub outcome: Option<String>,
}

// SPDX-License-Identifier: Apache-2.0

//! What a recovery comes to.

/// What a recovery did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The largest number that an operation has had.
    pub number: u64,
    /// Logged writes that were done again.
    pub replayed: u64,
    /// Logged writes that had not begun.
    pub dropped: u64,
    /// Removals that were done again.
    pub discarded: u64,
    /// Stripes that were written without a log and looked at.
    pub resolved: u64,
    /// Blocks in them whose content was never synced and is not what was written.
    pub torn_blocks: u64,
}

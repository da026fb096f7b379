// SPDX-License-Identifier: Apache-2.0

//! How far a storage service has scrubbed a target by itself, and what it found (`nyala scrub status`).

use crate::TargetId;
use crate::walk::WalkAt;
use minicbor::{Decode, Encode};

/// Asks for a target's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScrubRequest {
    /// The target.
    #[n(0)]
    pub target: TargetId,
}

/// The state. Times are milliseconds since 1970; 0: never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ScrubState {
    /// The target is scrubbed once in this time, milliseconds; 0: not by itself.
    #[n(0)]
    pub interval_ms: u64,
    /// Most bytes that are read in a second; 0: no limit.
    #[n(1)]
    pub rate: u64,
    /// Since when it is scrubbed by itself.
    #[n(2)]
    pub since_ms: u64,
    /// When the scrub began that is under way, or was last.
    #[n(3)]
    pub began_ms: u64,
    /// When the last whole one ended.
    #[n(4)]
    pub ended_ms: u64,
    /// When the next one is due.
    #[n(5)]
    pub due_ms: u64,
    /// Where the one goes on that is under way; absent: none is.
    #[n(6)]
    pub at: Option<WalkAt>,
    /// Bytes that it has compared with their checksums.
    #[n(7)]
    pub bytes: u64,
    /// Bytes of data on the target, about; 0: not known, 1: there is none.
    #[n(8)]
    pub total_bytes: u64,
    /// Bytes that it found damaged and that were not known to be.
    #[n(9)]
    pub found_bytes: u64,
    /// Of damaged bytes, those that are right again.
    #[n(10)]
    pub repaired_bytes: u64,
    /// Bytes that are known to be damaged now.
    #[n(11)]
    pub damaged_bytes: u64,
    /// No whole one has ended in three intervals.
    #[n(12)]
    pub late: bool,
    /// Damaged pieces, the first ones.
    #[n(13)]
    pub damage: Vec<ScrubDamage>,
}

/// A damaged piece that was not repaired.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScrubDamage {
    /// Where.
    #[n(0)]
    pub at: WalkAt,
    /// A bit for each block, the first is the lowest: it is damaged.
    #[n(1)]
    pub bad: u64,
    /// When that was found.
    #[n(2)]
    pub found_ms: u64,
    /// Why it was not repaired, for people.
    #[n(3)]
    pub reason: String,
}

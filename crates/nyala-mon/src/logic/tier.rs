// SPDX-License-Identifier: Apache-2.0

//! Words of the history: which rounds, how many of them, what that means for the disk.

/// Which rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// As they were sampled.
    Raw,
    /// Folded into steps.
    Folded,
}

impl Tier {
    /// Both.
    pub const ALL: [Tier; 2] = [Tier::Raw, Tier::Folded];
}

/// What has to be done on disk, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// These bytes come to the end of a segment, which begins with them if there is none.
    Append(Tier, u64, Vec<u8>),
    /// A segment goes.
    Remove(Tier, u64),
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rounds as sampled, milliseconds.
    pub raw_ms: u64,
    /// Folded rounds, milliseconds.
    pub folded_ms: u64,
    /// Length of the step that is folded, milliseconds.
    pub step_ms: u64,
    /// Most series; samples of more are not kept.
    pub series: usize,
    /// Most memory, bytes.
    pub memory: usize,
    /// Most space on disk, bytes.
    pub disk: u64,
}

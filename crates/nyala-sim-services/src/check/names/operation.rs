// SPDX-License-Identifier: Apache-2.0

//! What clients do to names, and what they are told. Pure.

/// Nanoseconds of the simulation.
pub type Nanos = u64;
/// Names of a directory that this is about.
pub const NAMES: [&str; 3] = ["n0", "n1", "n2"];

/// What a client does; names by their place in [`NAMES`], inodes by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Exclusively.
    Create(usize),
    Unlink(usize),
    Lookup(usize),
    Rename {
        from: usize,
        to: usize,
        no_replace: bool,
    },
    Link {
        inode: u64,
        to: usize,
    },
    /// No client's: whatever there is may be gone, or there again.
    Shake,
}

/// What it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done; of [`Op::Create`] and [`Op::Lookup`] the inode, else 0.
    Done(u64),
    Exists,
    Missing,
    /// Nothing, or it counts for nothing: may be done until then.
    Unknown(Nanos),
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub client: u32,
    pub op: Op,
    pub begun: Nanos,
    /// Its answer's time; of an unknown outcome, the last time at which it may come about.
    pub ended: Nanos,
    pub outcome: Outcome,
}

impl Entry {
    /// Whether what came of it is known, and has to be right.
    pub fn is_known(&self) -> bool {
        !matches!(self.outcome, Outcome::Unknown(_))
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What goes into operations on a stripe, and what comes of them.

use crate::ids::StripeId;

/// What may be done with the member of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read and written.
    Good,
    /// Written; read only if it cannot be done without.
    Slow,
    /// It is missing, or its content of this stripe is out of date: neither.
    Stale,
}

/// What a member did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The member.
    pub member: usize,
    /// Where.
    pub stripe: StripeId,
    /// What.
    pub kind: DamageKind,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// A block is not what was written.
    Checksum,
    /// A read failed.
    Unreadable,
    /// The row is missing, damaged or out of date.
    Row,
    /// Parity is not what follows from data, though each block is what was written.
    Parity,
}

/// What was read, and what was found meanwhile.
#[derive(Clone, Debug, Default)]
pub struct ReadOutcome {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What was wrong; it was written anew.
    pub damage: Vec<Damage>,
    /// Members that were read around because they were late.
    pub late: Vec<usize>,
}

/// How an operation may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteMode {
    /// The number of the operation, larger than all before.
    pub number: u64,
    /// The stripe was first written since the last checkpoint began: nothing in it has been promised to survive a power cut.
    pub open: bool,
}

/// What came of a write. It may be acknowledged once the members that failed have durably left the set.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The stripe was not there before: it is open until the next checkpoint.
    pub fresh: bool,
    /// Bytes that went into logs.
    pub logged_bytes: u64,
    /// Members that could not take part to the end. They have missed the stripe.
    pub failed: Vec<usize>,
    /// What was found wrong meanwhile.
    pub damage: Vec<Damage>,
}

/// What a repair found and did.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    /// What was wrong; it was written anew.
    pub damage: Vec<Damage>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written to members that had missed them.
    pub rebuilt_bytes: u64,
    /// Members that could not be written.
    pub failed: Vec<usize>,
}

/// What became of a stripe.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// Blocks whose content was never synced and is not what was written.
    pub torn_blocks: u64,
    /// Members that could not be written.
    pub failed: Vec<usize>,
    /// What was found wrong.
    pub damage: Vec<Damage>,
}

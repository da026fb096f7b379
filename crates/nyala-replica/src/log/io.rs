// SPDX-License-Identifier: Apache-2.0

//! What goes into a member of a metadata group and what comes out of it.

use super::message::LogEnvelope;
use super::position::{Position, Terms};
use super::ranges::{CopyState, RangeSum, Summed};
use super::recent::Record;
use crate::input::View;
use crate::share::ShareLimits;
use nyala_cluster::Command;
use nyala_wire::{MapVersion, TargetId};

/// What a member found on its disk.
#[derive(Clone, Debug, Default)]
pub struct LogState {
    /// Number of the last record that is there.
    pub last: u64,
    /// Which terms began with which records.
    pub terms: Terms,
    /// It was being given everything, and that had not ended.
    pub copying: Option<CopyState>,
}

/// What happens to a member.
#[derive(Clone, Debug)]
pub enum LogInput {
    /// A newer map. The shell tells management that it has it only after this.
    Map(View),
    /// The lease was renewed: it is good until `until_ms`, for one who has map `version` or a newer one.
    Lease {
        /// By the member's clock.
        until_ms: u64,
        /// The map that it was granted under.
        version: MapVersion,
    },
    /// The primary has applied these records, in this order. They are to get everywhere, and are written here when they are.
    Append(Vec<Record>),
    /// All up to this record survives the death of the process here.
    Written(u64),
    /// All up to this record survives a power cut here.
    Durable(u64),
    /// Somebody waits until all up to this record is on disk at every good member.
    WantDurable(u64),
    /// A message of another member's, with the records that came beside it.
    Message(TargetId, LogEnvelope, Vec<Record>),
    /// A member's host refuses connections.
    Refused(TargetId),
    /// A member's host does not answer us, though management may hear it, before this moment.
    Silent(TargetId, u64),
    /// Rows for a copy, asked for with [`LogEffect::ReadRows`], as one record that puts them; all that was applied before was
    /// appended before.
    Rows {
        /// The member that they are for.
        member: TargetId,
        /// First key of the range, as asked.
        from: Vec<u8>,
        /// The key behind the range; empty: there are no more rows.
        to: Vec<u8>,
        /// The rows.
        rows: Record,
    },
    /// A copy's rows, or its beginning, are in the tables ([`LogEffect::BeginCopy`], [`LogEffect::PutRows`]).
    CopyTaken,
    /// Compare a range of keys with good members, as of the last record that was appended: [`LogEffect::Compared`], for each that
    /// answers.
    Compare(RangeSum),
    /// A range is summed up ([`LogEffect::SumUp`]), or cannot be.
    Summed(u64, Option<Summed>),
    /// A client's request that came at `began_us` (by the member's clock) is answered for; a change, or one that only reads.
    Served {
        /// A change.
        change: bool,
        /// When it came, microseconds.
        began_us: u64,
    },
    /// Time goes by. At least every 50 ms.
    Tick,
}

/// What a member wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEffect {
    /// A message, with the records that go beside it.
    Send(TargetId, LogEnvelope, Vec<Record>),
    /// Apply these records, the first of which has this number, and write them: [`LogInput::Written`].
    Apply {
        /// Number of the first one.
        first: u64,
        /// The records.
        records: Vec<Record>,
    },
    /// All up to this record is at every good member: write it here, and answer for it.
    Committed(u64),
    /// All up to this record is on disk at every good member.
    DurableEverywhere(u64),
    /// Put all up to this record on disk: [`LogInput::Durable`].
    Sync(u64),
    /// It is primary of this term and has everything. Append a record that remembers the term and its own number: it is the
    /// next one. When it is committed, [`LogEffect::Lead`] follows.
    BeginTerm {
        /// The term.
        term: u32,
        /// Number that the record has to have.
        index: u64,
    },
    /// Serve clients from now on, as the primary of this term.
    Lead(u32),
    /// It is not primary any more: answer nobody, and forget what is applied and not written.
    StepDown,
    /// Read rows for a copy, from this key on, after appending all that is applied: [`LogInput::Rows`].
    ReadRows {
        /// The member that they are for.
        member: TargetId,
        /// First key.
        from: Vec<u8>,
        /// About so many bytes.
        bytes: usize,
    },
    /// What the tables hold counts for nothing from now on, until a copy has ended; remember that, and where records go on.
    BeginCopy {
        /// How far it is.
        state: CopyState,
        /// Place of the last record that counts.
        position: Position,
        /// All terms of the log.
        terms: Vec<(u32, u64)>,
    },
    /// All rows of a range are these; remember how far the copy is. With an empty cursor it has ended: all of it on disk.
    PutRows {
        /// First key of the range.
        from: Vec<u8>,
        /// The key behind it, empty for the end of the tables.
        to: Vec<u8>,
        /// Puts the rows.
        rows: Record,
        /// Number of the last record that the member has.
        last: u64,
        /// Number of the copy.
        copy: u64,
    },
    /// Sum up the rows of a range, as they are when all that was to be done before is done: [`LogInput::Summed`].
    SumUp(RangeSum),
    /// A member's answer to the question of this number.
    Compared(TargetId, u64, Option<Summed>),
    /// Propose this to management; it may be refused, and is asked again as long as it is needed.
    Ask(Command),
    /// There is a newer map: fetch it.
    FetchMap,
}

/// Settings of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A message without an answer is sent again after so long, milliseconds.
    pub resend_ms: u64,
    /// A member that has not answered for so long is to be marked needs-resync, milliseconds.
    pub give_up_ms: u64,
    /// A resync that failed is tried again after so long, milliseconds.
    pub retry_ms: u64,
    /// Newest records that are kept in memory for members that return, bytes.
    pub recent_bytes: usize,
    /// Records in one message, bytes.
    pub append_bytes: usize,
    /// Rows in one message, bytes.
    pub copy_bytes: usize,
    /// What copies may take of what clients want.
    pub share: ShareLimits,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            resend_ms: 200,
            give_up_ms: 8000,
            retry_ms: 2000,
            recent_bytes: 64 << 20,
            append_bytes: 1 << 20,
            copy_bytes: 256 << 10,
            share: ShareLimits { min_bytes_per_s: 2 << 20, ..ShareLimits::default() },
        }
    }
}

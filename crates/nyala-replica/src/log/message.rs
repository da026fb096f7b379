// SPDX-License-Identifier: Apache-2.0

//! What members of a metadata group say to each other (CBOR, `docs/replication.md`), with group and epoch: another epoch's does not count.

use super::position::Position;
use super::ranges::{CopyState, RangeSum, Summed};
use minicbor::{Decode, Encode};
use nyala_wire::GroupId;

/// A message with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogEnvelope {
    /// The group.
    #[n(0)]
    pub group: GroupId,
    /// The sender's epoch.
    #[n(1)]
    pub epoch: u32,
    /// What it says.
    #[n(2)]
    pub body: LogBody,
}

impl LogBody {
    /// Whether a primary asks, and the member answers.
    pub fn is_question(&self) -> bool {
        use LogBody::{Append, CopyBegin, CopyRows, Fetch, Status};
        matches!(self, Status | Append { .. } | Fetch { .. } | CopyBegin { .. } | CopyRows { .. })
    }
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LogBody {
    /// Primary to member: what do you have?
    #[n(0)]
    Status,
    /// Answer.
    #[n(1)]
    StatusIs {
        /// What it has.
        #[n(0)]
        position: Position,
        /// It is not whole: it is being given everything.
        #[n(1)]
        copying: Option<CopyState>,
    },
    /// Primary to member: the records (beside) that follow this place. Also without any.
    #[n(2)]
    Append {
        /// Where they belong.
        #[n(0)]
        after: Position,
        /// Terms that begin within these records, with their first records.
        #[n(1)]
        terms: Vec<(u32, u64)>,
        /// Records up to this one are to be on disk soon.
        #[n(2)]
        durable_to: u64,
        /// Sum this range up behind the last one of these records.
        #[n(3)]
        question: Option<RangeSum>,
    },
    /// Answer to `Append`, and news of what is on disk.
    #[n(3)]
    Have {
        /// Last record that survives the death of the member's process.
        #[n(0)]
        index: u64,
        /// Last record that survives a power cut.
        #[n(1)]
        durable: u64,
    },
    /// Answer to `Append` or a copy that does not fit to what the member has; the primary asks again what that is.
    #[n(4)]
    Misfit,
    /// New primary to a good member that has more: your records behind this place.
    #[n(5)]
    Fetch {
        /// The last record that the primary has.
        #[n(0)]
        after: Position,
    },
    /// Answer; the records are beside. None: they are not known any more.
    #[n(6)]
    Fetched {
        /// As asked.
        #[n(0)]
        after: Position,
        /// Terms that begin within these records.
        #[n(1)]
        terms: Vec<(u32, u64)>,
    },
    /// Primary to member: what you have counts for nothing; you are given everything, as of this place.
    #[n(7)]
    CopyBegin {
        /// Number of the copy.
        #[n(0)]
        copy: u64,
        /// Where the records go on.
        #[n(1)]
        position: Position,
        /// All terms of the log.
        #[n(2)]
        terms: Vec<(u32, u64)>,
    },
    /// Primary to member: all rows (beside, as one record that puts them) from `from` on and before `to` are these, as of a
    /// record that the member has.
    #[n(8)]
    CopyRows {
        /// Number of the copy.
        #[n(0)]
        copy: u64,
        /// The record.
        #[n(1)]
        at: u64,
        /// First key of the range.
        #[cbor(n(2), with = "minicbor::bytes")]
        from: Vec<u8>,
        /// The key behind the range; empty: all that there are.
        #[cbor(n(3), with = "minicbor::bytes")]
        to: Vec<u8>,
    },
    /// Answer to `CopyBegin` and `CopyRows`.
    #[n(9)]
    Copied {
        /// Number of the copy.
        #[n(0)]
        copy: u64,
        /// It has all rows before this key.
        #[cbor(n(1), with = "minicbor::bytes")]
        cursor: Vec<u8>,
        /// It has all rows that there are, on disk.
        #[n(2)]
        done: bool,
    },
    /// To one whose message had an older epoch: there is a newer map.
    #[n(10)]
    Behind,
    /// Answer to the question of an `Append`, some time after the answer to that; none: it cannot be read there.
    #[n(11)]
    Compared {
        /// Number of the question.
        #[n(0)]
        number: u64,
        /// See there.
        #[n(1)]
        sum: Option<Summed>,
    },
}

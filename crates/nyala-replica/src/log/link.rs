// SPDX-License-Identifier: Apache-2.0

//! What a primary knows of one member, and what it has sent there. One message is under way at a time: what comes meanwhile goes
//! with the next one, and nothing overtakes anything.

use super::position::Position;
use super::ranges::RangeSum;
use super::recent::Record;

/// The message that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnderWay {
    Status,
    /// Up to this record.
    Append(u64),
    Fetch,
    Copy,
}

/// A copy of everything, in parts.
#[derive(Clone, Debug)]
pub(super) struct Copying {
    pub copy: u64,
    pub stage: CopyStage,
    /// What is before this key was sent.
    pub cursor: Vec<u8>,
    pub bytes: u64,
    /// When it was begun, or gone on with.
    pub began_ms: u64,
}

impl Copying {
    /// A part is on its way.
    pub fn is_under_way(&self) -> bool {
        matches!(self.stage, CopyStage::Reading | CopyStage::Part { .. })
    }
}

/// Where a copy is.
#[derive(Clone, Debug)]
pub(super) enum CopyStage {
    /// The member is to be told.
    Begin,
    /// The next part is to be read.
    Next,
    /// Being read.
    Reading,
    /// As of record `at`: to be sent when the member has that, and before it has more.
    Part { at: u64, to: Vec<u8>, rows: Record },
}

/// How a member is brought up to date.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    /// What it has is not known.
    Unknown,
    /// It shares the log up to what it has, and gets what follows.
    Stream,
    Copy(Copying),
}

/// A range that a member is to sum up as of a record.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub at: u64,
    pub range: RangeSum,
    /// It went with the records up to `at`, which the member may not have yet.
    pub sent: bool,
}

/// A member, as its primary sees it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub mode: Mode,
    /// What a good member has, while a new primary gathers that.
    pub found: Option<Position>,
    /// Last records that survive the death of the process, and a power cut, there.
    pub acked: u64,
    pub durable: u64,
    /// Asked for on disk.
    pub asked_durable: u64,
    /// Since when it has put nothing on disk of what is wanted there.
    pub disk_since_ms: Option<u64>,
    /// Since when the present message is under way, and when it was sent last.
    pub under_way: Option<(UnderWay, u64, u64)>,
    /// Of one that is resyncing: it has everything, and nothing is answered for any more without it.
    pub caught_up: bool,
    /// What it is asked with the record that it is to have then; it gets none behind that before.
    pub question: Option<Question>,
}

impl Link {
    pub(super) fn new() -> Link {
        Link {
            mode: Mode::Unknown,
            found: None,
            acked: 0,
            durable: 0,
            asked_durable: 0,
            disk_since_ms: None,
            under_way: None,
            caught_up: false,
            question: None,
        }
    }

    /// Whether something may be sent now; a message that was not answered is sent again.
    pub(super) fn is_free(&self, now_ms: u64, resend_ms: u64) -> bool {
        self.under_way.is_none_or(|(_, _, sent_ms)| now_ms >= sent_ms + resend_ms)
    }

    /// A message goes out.
    pub(super) fn sent(&mut self, what: UnderWay, now_ms: u64) {
        let since_ms = self.under_way.map_or(now_ms, |(_, since_ms, _)| since_ms);
        self.under_way = Some((what, since_ms, now_ms));
    }

    /// An answer came.
    pub(super) fn heard(&mut self) {
        self.under_way = None;
    }

    pub(super) fn copying(&self) -> Option<&Copying> {
        match &self.mode {
            Mode::Copy(copying) => Some(copying),
            _ => None,
        }
    }
}

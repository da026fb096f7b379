// SPDX-License-Identifier: Apache-2.0

//! What happens to members, and what to do about it.

use crate::ids::StripeId;
use crate::member::{DriveId, MemberState};

/// When a member has made too many errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorLimit {
    /// So many errors ...
    pub errors: u32,
    /// ... within so many milliseconds.
    pub within_ms: u64,
}

impl Default for ErrorLimit {
    fn default() -> ErrorLimit {
        ErrorLimit { errors: 100, within_ms: 3_600_000 }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Members could not write.
    Failed {
        /// Numbers of members.
        members: Vec<usize>,
    },
    /// A member returned something wrong, or nothing; it was made good from others.
    Errors {
        /// The member.
        member: usize,
        /// How often.
        count: u32,
    },
    /// A member that was missing is there again, with what it had.
    Returned {
        /// The member.
        member: usize,
        /// The last state of its own that it heard of.
        had: MemberState,
    },
    /// An empty drive takes the place of a member that is missing.
    Replaced {
        /// The member.
        member: usize,
        /// The drive.
        drive: DriveId,
    },
    /// A member that is rebuilding has all stripes up to this one, durably.
    Progress {
        /// The member.
        member: usize,
        /// The last stripe that it has.
        behind: StripeId,
    },
    /// A member has everything, durably.
    Complete {
        /// The member.
        member: usize,
    },
}

/// What to do about it, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write the superblock to all good members, and those that are catching up or rebuilding, durably.
    Store,
    /// Give a member what it misses.
    Rebuild {
        /// The member.
        member: usize,
    },
    /// A spare is wanted in the place of a member.
    WantSpare {
        /// The member.
        member: usize,
    },
    /// A group has fewer members than it needs: nothing is written any more. What was acknowledged is on the drives.
    Stop {
        /// The group.
        group: usize,
    },
}

// SPDX-License-Identifier: Apache-2.0

//! What cannot be made, and what cannot be done.

use crate::geometry::StripeId;
use crate::level::Level;

/// Why there is no such set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// No level has this name.
    #[error("there is no RAID level `{text}`: give 0, 1, 5, 6, 7.3, 10, n+m, 50, 60 or 70")]
    UnknownLevel {
        /// What was written, cut.
        text: String,
    },
    /// Nested levels need a number of groups.
    #[error("levels 50, 60 and 70 need a number of groups")]
    GroupsMissing,
    /// N+M needs parity.
    #[error("level n+m needs a number of parity strips, at least 1")]
    NoParity,
    /// Not enough drives.
    #[error("RAID {level} needs at least {least} drives, not {drives}")]
    TooFewDrives {
        /// The level.
        level: Level,
        /// Drives given.
        drives: usize,
        /// Drives needed.
        least: usize,
    },
    /// A nested level has at least two groups.
    #[error("RAID {level} needs at least 2 groups, not {groups}")]
    TooFewGroups {
        /// The level.
        level: Level,
        /// Groups given.
        groups: usize,
    },
    /// Groups of different sizes.
    #[error("{drives} drives do not make {groups} equal groups for RAID {level}")]
    Uneven {
        /// The level.
        level: Level,
        /// Drives given.
        drives: usize,
        /// Groups wanted.
        groups: usize,
    },
    /// Too many drives.
    #[error("a set has at most {most} drives, not {drives}")]
    TooManyDrives {
        /// Drives given.
        drives: usize,
        /// Most drives.
        most: usize,
    },
    /// A strip size that is not supported.
    #[error("a strip has 4096 to 1048576 bytes, a multiple of 4096, not {bytes}")]
    StripBytes {
        /// What was given.
        bytes: usize,
    },
}

/// Why an operation on a stripe did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripeError {
    /// These members failed: they have to leave the set, durably, and then the operation is tried again.
    #[error("members {members:?} failed")]
    Failed {
        /// Numbers of members.
        members: Vec<usize>,
    },
    /// More was lost than parity can bring back.
    #[error("stripe {} of object {:x} cannot be read: more strips are lost or damaged than parity can bring back", .stripe.number, .stripe.object.0)]
    Lost {
        /// The stripe.
        stripe: StripeId,
    },
    /// Parity of these members is older than the data: the stripe has to be repaired before it is written.
    #[error("stripe {} of object {:x} has parity that is out of date at members {members:?}: repair it first", .stripe.number, .stripe.object.0)]
    OutOfDate {
        /// The stripe.
        stripe: StripeId,
        /// Numbers of members.
        members: Vec<usize>,
    },
    /// A record in the log of a member cannot be read.
    #[error("member {member} has an intent that is not one: check the drive, or start without it")]
    Intent {
        /// The member.
        member: usize,
    },
}

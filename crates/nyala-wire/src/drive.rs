// SPDX-License-Identifier: Apache-2.0

//! Between a storage service and a drive service: the drives of other hosts, as members of a drive set.
//!
//! A drive has one holder at a time: who attached to it with the largest epoch. What others ask is refused.

pub use crate::drive_effect::{DriveEffect, DriveObject, MAX_DRIVE_BYTES};
pub use crate::drive_look::DriveLook;
use crate::ids::ClusterId;
use minicbor::{Decode, Encode};

/// A request for a drive.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DriveRequest {
    /// Its name at the drive service.
    #[n(0)]
    pub drive: String,
    /// What is asked.
    #[n(1)]
    pub order: DriveOrder,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DriveOrder {
    /// How is it? The reply is [`DriveReply::Looked`].
    #[n(0)]
    Look,
    /// Make a drive of the directory, which is empty.
    #[n(1)]
    Make,
    /// Hold the drive. The reply is [`DriveReply::Attached`]; [`crate::ErrorCode::WRONG_EPOCH`] if somebody has or had it with a larger epoch, or another holder with the same;
    /// [`crate::ErrorCode::STALE`] if this holder has taken it again since, or the instance is another one.
    #[n(2)]
    Attach {
        /// Whose it is to be.
        #[n(0)]
        hold: DriveHold,
        /// Only if nothing was lost since this instance, which the holder knows from before.
        #[n(1)]
        instance: Option<String>,
    },
    /// Do something. The reply is the effect's; [`crate::ErrorCode::STALE_SESSION`] if the attachment is not the newest one.
    #[n(3)]
    Run {
        /// What [`DriveReply::Attached`] gave.
        #[n(0)]
        attachment: u64,
        /// What.
        #[n(1)]
        effect: DriveEffect,
    },
    /// Make a drive of the directory for a set, if it is empty, or of what this set began there before and never finished. It happens once:
    /// [`crate::ErrorCode::EXISTS`] for whoever else wants it.
    #[n(4)]
    Take {
        /// The set.
        #[n(0)]
        set: ClusterId,
    },
    /// Give the directory back that a set took and never finished.
    #[n(5)]
    Release {
        /// The set.
        #[n(0)]
        set: ClusterId,
    },
    /// The drive goes with its set; zero: with no set that is known, since it was never finished. Without `finish` that is only written down: nobody has it from then on.
    /// [`crate::ErrorCode::EXISTS`] if it is another set's.
    #[n(6)]
    Delete {
        /// The set.
        #[n(0)]
        set: ClusterId,
        /// Remove what it has: all drives of the set know that they go.
        #[n(1)]
        finish: bool,
    },
}

/// Who has a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DriveHold {
    /// Larger than those of all holders before.
    #[n(0)]
    pub epoch: u64,
    /// Random, once for each opening of a set.
    #[n(1)]
    pub holder: ClusterId,
    /// Larger than for all times before that this holder took this drive: what it sent then and comes late is refused.
    #[n(2)]
    pub turn: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DriveReply {
    /// How the drive is.
    #[n(0)]
    Looked(#[n(0)] DriveLook),
    /// The drive is the sender's.
    #[n(1)]
    Attached {
        /// For what it asks then, on any connection, until the next attachment.
        #[n(0)]
        attachment: u64,
        /// What changes when something that was not synced may be lost.
        #[n(1)]
        instance: String,
    },
    /// It is done; bytes that were read are the payload.
    #[n(2)]
    Done,
    /// Whether the key has a value, which is the payload.
    #[n(3)]
    Value(#[n(0)] bool),
    /// The payload is an encoded batch that puts all pairs.
    #[n(4)]
    Pairs {
        /// There are more, which did not fit.
        #[n(0)]
        more: bool,
    },
}

// SPDX-License-Identifier: Apache-2.0

//! What an operator asks of a storage target that lies on a drive set, and what it says (`nyala raid`).

use crate::TargetId;
pub use crate::raid_options::RaidOptions;
use minicbor::{Decode, Encode};
use serde::Serialize;

/// A request to the set of a target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RaidRequest {
    /// The target.
    #[n(0)]
    pub target: TargetId,
    /// What to do.
    #[n(1)]
    pub order: RaidOrder,
}

/// What a set is to do.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RaidOrder {
    /// Say how it is.
    #[n(0)]
    Show,
    /// Take an empty directory of the storage host in the place of a member.
    #[n(1)]
    Replace {
        /// The member's number.
        #[n(0)]
        member: u16,
        /// The directory.
        #[n(1)]
        drive: String,
    },
    /// Compare all stripes, from the beginning, and heal them.
    #[n(2)]
    Check,
    /// Rebuild and check at this rate; absent: at one that gives way to work.
    #[n(3)]
    Rate {
        /// Bytes a second; 0: as fast as it goes.
        #[n(0)]
        bytes_per_s: Option<u64>,
    },
    /// Change what is kept with the set, for good, and which spares it may take, until the service is started again.
    #[n(4)]
    Modify {
        /// Bytes a second for rebuild and check; 0: as fast as it goes; the largest number: what leaves room for work.
        #[n(0)]
        bytes_per_s: Option<u64>,
        /// So many errors of a drive make it leave the set, if the others can do without it ...
        #[n(1)]
        errors: Option<u32>,
        /// ... within so many milliseconds.
        #[n(2)]
        within_ms: Option<u64>,
        /// Spares that the set may take from now on.
        #[n(3)]
        add_spares: Vec<String>,
        /// Spares that it may not take any more.
        #[n(4)]
        remove_spares: Vec<String>,
    },
}

/// How a set is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct RaidState {
    /// Its level.
    #[n(0)]
    pub level: String,
    /// Bytes of a strip.
    #[n(1)]
    pub strip_bytes: u64,
    /// Members that each group can do without.
    #[n(2)]
    pub parity: u16,
    /// By number.
    #[n(3)]
    pub members: Vec<RaidMember>,
    /// Directories that wait to take the place of a member.
    #[n(4)]
    pub spares: Vec<String>,
    /// What was wrong and was made good since the service was started.
    #[n(5)]
    pub healed: u64,
    /// Bytes that members got that had missed them, since then.
    #[n(6)]
    pub rebuilt_bytes: u64,
    /// Something is being rebuilt.
    #[n(7)]
    pub rebuilding: bool,
    /// Bytes a second for rebuild and check; 0: as fast as it goes.
    #[n(8)]
    pub rate: u64,
    /// The check.
    #[n(9)]
    pub scrub: RaidScrub,
    /// What is kept with the set.
    #[n(10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<RaidOptions>,
}

/// How a member is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct RaidMember {
    /// Its directory; absent if no drive of it was there.
    #[n(0)]
    pub drive: Option<String>,
    /// `good`, `missing`, `catching-up` or `rebuilding`.
    #[n(1)]
    pub state: String,
    /// Stripes of which it misses writes.
    #[n(2)]
    pub missed: u64,
    /// What it returned that was wrong, since the service was started.
    #[n(3)]
    pub errors: u64,
}

/// How the check is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct RaidScrub {
    /// It is under way.
    #[n(0)]
    pub running: bool,
    /// Stripes that it has looked at.
    #[n(1)]
    pub stripes: u64,
    /// What it found wrong and made good.
    #[n(2)]
    pub healed: u64,
    /// Stripes that cannot be read any more.
    #[n(3)]
    pub lost: u64,
    /// When the last whole one ended, seconds since 1970; 0: none has.
    #[n(4)]
    pub ended_s: u64,
}

// SPDX-License-Identifier: Apache-2.0

//! How commands name a member.

use minicbor::{Decode, Encode};
use nyala_wire::{GroupId, TargetId};
use serde::{Deserialize, Serialize};

/// A member of a group, in the epoch that the sender saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub struct MemberAt {
    /// The group.
    #[n(0)]
    pub group: GroupId,
    /// Its epoch as the sender knows it.
    #[n(1)]
    pub epoch: u32,
    /// The member.
    #[n(2)]
    pub target: TargetId,
}

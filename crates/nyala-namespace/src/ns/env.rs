// SPDX-License-Identifier: Apache-2.0

//! What an operation needs from outside.

use crate::change::Step;
use nyala_cluster::placement::PlacementTable;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{Caller, Owner, Want};
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, Time};

/// What an operation needs from outside: who asks, when, the cluster as it is, and entropy.
pub struct Env<'a> {
    /// The metadata target that runs the operation.
    pub me: TargetId,
    /// The cluster map.
    pub map: &'a ClusterMap,
    /// The map's targets, prepared for choosing.
    pub placement: &'a PlacementTable,
    /// The client's session.
    pub session: SessionId,
    /// A new file is open under the delegation that comes with it, and not noted as open.
    pub implicit_open: bool,
    /// Owner of what is made.
    pub owner: Owner,
    /// Who has to be allowed to do it; absent: everything is allowed.
    pub user: Option<&'a Caller>,
    /// What is asked for besides.
    pub want: Want,
    /// Time stamp of what changes.
    pub now: Time,
    /// A random number for placement.
    pub random: u64,
}

impl Env<'_> {
    /// Whether an inode lives on this target.
    pub fn is_here(&self, inode: InodeId) -> bool {
        self.map.slot_target(inode.slot()) == Some(self.me)
    }
}

/// EINVAL if a time stamp has more than a second's nanoseconds.
pub fn check_time(time: Time) -> Step<()> {
    match time.nanos < 1_000_000_000 {
        true => Ok(()),
        false => Err(ErrorCode::INVALID.with("nanoseconds of a time stamp are a second or more").into()),
    }
}

// SPDX-License-Identifier: Apache-2.0

//! `Capacities`: what all targets reported last; targets not heard since this node leads are missing.

use crate::core::Core;
use nyala_wire::mgmt::{MgmtReply, TargetCapacity};

pub(super) fn handle(core: &Core) -> MgmtReply {
    let leader = core.leader.lock();
    let all = leader.capacities().iter().map(|(target, capacity)| TargetCapacity {
        inodes: leader.inodes(*target),
        ..TargetCapacity::new(*target, *capacity)
    });
    MgmtReply::Capacities(all.collect())
}

// SPDX-License-Identifier: Apache-2.0

//! **One primary.** At no moment do two servers lead the group with a lease, and no epoch is ever led by two.

use crate::node::{Node, Power};
use nyala_replica::MemberRole;
use nyala_wire::TargetId;
use std::collections::BTreeMap;

/// Who led which epoch.
#[derive(Clone, Debug, Default)]
pub struct Primary {
    led: BTreeMap<u32, TargetId>,
}

impl Primary {
    /// Looks at all servers.
    pub fn check(&mut self, nodes: &[Node], now_us: u64) -> Result<(), String> {
        let mut leading = None;
        for node in nodes.iter().filter(|n| n.power == Power::Up) {
            let Some(member) = node.member.as_ref().filter(|m| m.role() == MemberRole::Primary) else { continue };
            if !member.has_lease(node.clock_ms(now_us)) {
                continue;
            }
            let epoch = member.epoch().map_or(0, |(epoch, _)| epoch);
            let other = *self.led.entry(epoch).or_insert(node.target);
            if other != node.target {
                return Err(format!("epoch {epoch} was led by {other} and by {}", node.target));
            }
            if let Some(other) = leading.replace(node.target) {
                return Err(format!("{other} and {} lead at once", node.target));
            }
        }
        Ok(())
    }
}

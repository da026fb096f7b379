// SPDX-License-Identifier: Apache-2.0

//! **Who leads knows every fence.** A fence is told to all members that are good or resyncing at that moment, as metadata and the
//! primary do; whoever leads the group's newest epoch with a lease, then or later, knows all of them. Members that were
//! away can have heard of them only from others.

use crate::node::Node;
use nyala_replica::MemberRole;
use nyala_wire::map::{Group, MemberState};

/// How many sessions were fenced: their names are the numbers up to there.
#[derive(Clone, Debug, Default)]
pub struct Fences {
    acknowledged: u64,
}

impl Fences {
    /// One more session is fenced.
    pub fn fence(&mut self, group: &Group, nodes: &mut [Node]) {
        self.acknowledged += 1;
        let acts = |state| matches!(state, Some(MemberState::Good | MemberState::Resyncing));
        for node in nodes.iter_mut().filter(|node| acts(group.state(node.target))) {
            node.disk.fences.insert(self.acknowledged);
        }
    }

    /// Looks at one server.
    pub fn check(&self, group: &Group, node: &Node, now_us: u64) -> Result<(), String> {
        let Some(member) = node.member.as_ref().filter(|m| m.role() == MemberRole::Primary) else { return Ok(()) };
        let newest = member.epoch().is_some_and(|(epoch, _)| epoch == group.epoch);
        if !newest || group.primary() != Some(node.target) || !member.has_lease(node.clock_ms(now_us)) {
            return Ok(());
        }
        match (1..=self.acknowledged).find(|session| !node.disk.fences.contains(session)) {
            Some(session) => {
                Err(format!("fences: {} leads and does not know that session {session} is fenced", node.target))
            }
            None => Ok(()),
        }
    }
}

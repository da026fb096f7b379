// SPDX-License-Identifier: Apache-2.0

//! Which members hold everything: what a loss can take away, and what it cannot.

use crate::disk::Tag;
use crate::event::Asked;
use crate::node::{Node, Power};
use crate::world::World;
use nyala_wire::TargetId;
use nyala_wire::map::{Group, MemberState};

impl World {
    /// Members that lost power, were found out and are good again have everything again.
    pub fn good_again(&mut self, group: &Group) {
        for node in &mut self.nodes {
            match group.state(node.target) {
                Some(MemberState::Good) if node.found_out => (node.lost_power, node.found_out) = (false, false),
                Some(MemberState::Good) => {}
                _ => node.found_out |= node.lost_power,
            }
        }
    }

    /// After a loss: if no complete copy is left, what members have on disk may come back.
    ///
    /// A copy is complete if its member is good and has not lost power. In the moment of a loss (`at_once`) it must also be up:
    /// management may give up one that is not and keep the one that has lost power.
    pub fn count_copies(&mut self, at_once: bool) {
        let group = self.group().clone();
        let good = |target: TargetId| group.state(target) == Some(MemberState::Good);
        let whole = |n: &Node| good(n.target) && !n.lost_power && (!at_once || (n.power == Power::Up && n.registered));
        if self.nodes.iter().any(whole) {
            return;
        }
        self.lost_all_us = Some(self.now_us);
        for pending in self.clients.iter().filter_map(|client| client.pending.as_ref()) {
            if let Asked::Write(file, _, data) = &pending.asked {
                let blocks = data.tags.iter().enumerate();
                blocks.for_each(|(n, tag)| self.fresh.may_repeat((*file, data.first + n as u64), *tag));
            }
        }
        let lost: Vec<usize> =
            (0..self.nodes.len()).filter(|at| good(self.nodes[*at].target) && self.nodes[*at].lost_power).collect();
        let all: Vec<_> = self.fresh.blocks().collect();
        for at in lost {
            let values: Vec<(_, Tag)> = all.iter().map(|b| (*b, self.nodes[at].disk.durable(b.0, b.1))).collect();
            values.into_iter().for_each(|(block, tag)| self.fresh.may_return(block, tag));
        }
    }
}

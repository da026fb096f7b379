// SPDX-License-Identifier: Apache-2.0

//! Lines between the members of a mirror group, from side to side of their targets.

use super::shapes::{CHIP, Chip, Edge, NodeBox};
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, MemberState};
use std::collections::BTreeMap;

/// All lines between targets that are drawn.
pub fn edges(map: &ClusterMap, nodes: &[NodeBox]) -> Vec<Edge> {
    let chips: BTreeMap<TargetId, &Chip> =
        nodes.iter().flat_map(|node| &node.chips).map(|chip| (chip.id, chip)).collect();
    let mut all = Vec::new();
    for group in &map.groups {
        let Some(from) = group.primary().and_then(|primary| chips.get(&primary)) else { continue };
        for (member, state) in group.members_with_states().skip(1) {
            let Some(to) = chips.get(&member) else { continue };
            all.push(Edge {
                points: curve(from, to),
                state,
                well: from.well && to.well && state == MemberState::Good,
                said: format!("mirror group {}: target {} is primary, target {member} mirrors it", group.id, from.id),
            });
        }
    }
    all
}

/// From the side of one to the nearer side of the other.
fn curve(from: &Chip, to: &Chip) -> [(f64, f64); 4] {
    let middle = |chip: &Chip| chip.at.1 + CHIP / 2.0;
    let ((left, width), (other, _)) = ((from.at.0, from.at.2), (to.at.0, to.at.2));
    let (begin, end, bend) = if other > left {
        (left + width, other, (other - left - width).max(40.0) / 2.0)
    } else if other < left {
        (left, other + width, -(left - other - width).max(40.0) / 2.0)
    } else {
        (left + width, left + width, 34.0)
    };
    // Straight above or below: out and back on the same side.
    let back = if other == left { bend } else { -bend };
    [(begin, middle(from)), (begin + bend, middle(from)), (end + back, middle(to)), (end, middle(to))]
}

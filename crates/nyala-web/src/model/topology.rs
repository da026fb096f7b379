// SPDX-License-Identifier: Apache-2.0

//! Where everything is drawn: nodes in a row for each role, their targets in them, and a line from each primary to the other members.

mod edges;
mod shapes;

pub use shapes::{CHIP, Chip, Drawing, Edge, NodeBox, WIDTH};

use crate::facts::Facts;
use edges::edges;
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, Consistency, MemberState, Node, Reachability, Role, Target};
use std::collections::BTreeMap;

const COLUMNS: usize = 4;
const BOX: f64 = 208.0;
const GAP: f64 = 48.0;
const MARGIN: f64 = 12.0;
const HEAD: f64 = 34.0;
const SECTION: f64 = 34.0;
/// Most nodes of a role that are drawn.
const MOST_NODES: usize = 40;
/// Most targets of a node that are drawn.
const MOST_CHIPS: usize = 8;

/// Draws everything that there is room for.
pub fn drawing(facts: &Facts<'_>) -> Drawing {
    let map = facts.map;
    let members = members(map);
    let mut targets: BTreeMap<_, Vec<&Target>> = BTreeMap::new();
    map.targets.iter().for_each(|target| targets.entry(target.node).or_default().push(target));
    let mut drawing = Drawing { height: 0.0, ..Drawing::default() };
    for (role, title) in [(Role::Mgmt, "Management"), (Role::Meta, "Metadata"), (Role::Storage, "Storage")] {
        let mut nodes: Vec<&Node> = map.nodes.iter().filter(|node| node.role == role).collect();
        if nodes.is_empty() {
            continue;
        }
        let more = nodes.len().saturating_sub(MOST_NODES);
        nodes.sort_by_key(|node| (node.reachability == Reachability::Online, node.id));
        nodes.truncate(MOST_NODES);
        nodes.sort_by_key(|node| node.id);
        let left_out = if more > 0 { format!(", and {more} more nodes") } else { String::new() };
        drawing.titles.push((drawing.height + 22.0, format!("{title}{left_out}")));
        drawing.height += SECTION;
        for row in nodes.chunks(COLUMNS) {
            let boxes: Vec<NodeBox> = row
                .iter()
                .enumerate()
                .map(|(column, node)| {
                    let x = MARGIN + column as f64 * (BOX + GAP);
                    let own = targets.get(&node.id).map_or(&[][..], Vec::as_slice);
                    node_box(node, own, &members, x, drawing.height)
                })
                .collect();
            drawing.height += boxes.iter().map(|node| node.at.3).fold(0.0, f64::max) + 20.0;
            drawing.nodes.extend(boxes);
        }
        drawing.height += 8.0;
    }
    drawing.edges = edges(map, &drawing.nodes);
    drawing
}

type Members = BTreeMap<TargetId, (u16, bool, MemberState)>;

fn members(map: &ClusterMap) -> Members {
    let mut all = Members::new();
    for group in &map.groups {
        for (at, (target, state)) in group.members_with_states().enumerate() {
            all.insert(target, (group.id.0, at == 0, state));
        }
    }
    all
}

fn node_box(node: &Node, targets: &[&Target], members: &Members, x: f64, y: f64) -> NodeBox {
    let more = targets.len().saturating_sub(MOST_CHIPS);
    let chips = targets.iter().take(MOST_CHIPS).enumerate().map(|(at, target)| Chip {
        at: (x, y + HEAD + at as f64 * CHIP, BOX),
        id: target.id,
        alias: target.alias.clone(),
        member: members.get(&target.id).copied(),
        well: target.reachability != Reachability::Offline && target.consistency == Consistency::Good,
        class: class(target),
    });
    let chips: Vec<Chip> = chips.collect();
    let lines = chips.len() + usize::from(more > 0);
    let height = HEAD + lines as f64 * CHIP + if lines > 0 { 6.0 } else { 0.0 };
    NodeBox { at: (x, y, BOX, height), alias: node.alias.clone(), reachability: node.reachability, chips, more }
}

fn class(target: &Target) -> &'static str {
    match (target.reachability, target.consistency) {
        (Reachability::Offline, _) | (_, Consistency::Bad) => "critical",
        _ if super::targets::is_well(target) => "good",
        _ => "warning",
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Targets and what is free of them.

use super::{Cut, MOST_ROWS};
use crate::facts::Facts;
use crate::figures::TargetFigures;
use nyala_wire::map::{CapacityPool, Consistency, Group, Node, Reachability, Target};
use std::collections::BTreeMap;

/// A target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetRow<'a> {
    /// As the map has it.
    pub target: &'a Target,
    /// Its node.
    pub node: Option<&'a Node>,
    /// The mirror group that it is in.
    pub group: Option<&'a Group>,
    /// What its service said.
    pub figures: Option<TargetFigures>,
}

/// Targets; those that need a look first, then by id.
pub fn rows<'a>(facts: &Facts<'a>) -> Cut<TargetRow<'a>> {
    let map = facts.map;
    let groups: BTreeMap<_, _> =
        map.groups.iter().flat_map(|group| group.members.iter().map(move |member| (*member, group))).collect();
    let mut all: Vec<&Target> = map.targets.iter().collect();
    all.sort_by_key(|target| (is_well(target), target.id));
    let cut = Cut::of(all, MOST_ROWS);
    let row = |target: &'a Target| TargetRow {
        target,
        node: map.node(target.node),
        group: groups.get(&target.id).copied(),
        figures: facts.figures.and_then(|figures| figures.targets.get(&target.id).copied()),
    };
    Cut { rows: cut.rows.into_iter().map(row).collect(), more: cut.more }
}

/// Whether nothing is wrong with it.
pub fn is_well(target: &Target) -> bool {
    target.reachability == Reachability::Online
        && target.consistency == Consistency::Good
        && target.capacity_pool == CapacityPool::Normal
}

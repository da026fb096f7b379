// SPDX-License-Identifier: Apache-2.0

//! Which targets have to change their capacity pools, from what all targets of a kind and a storage pool reported.

use crate::capacity::{TargetUsage, changes};
use crate::command::Command;
use crate::state::ClusterState;
use nyala_wire::TargetId;
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::Capacity;
use std::collections::BTreeMap;

/// The change of capacity pools that the reported capacities call for, if there is one.
pub(super) fn changes_of_pools(state: &ClusterState, reported: &BTreeMap<TargetId, Capacity>) -> Option<Command> {
    let mut by_pool: BTreeMap<(TargetKind, u16), Vec<TargetUsage>> = BTreeMap::new();
    for t in &state.targets {
        if let Some(capacity) = reported.get(&t.id).copied() {
            let usage = TargetUsage { target: t.id, capacity, current: t.capacity_pool };
            by_pool.entry((t.kind, t.pool.0)).or_default().push(usage);
        }
    }
    let moves: Vec<_> = by_pool
        .iter()
        .flat_map(|((kind, _), usage)| {
            let limits = if *kind == TargetKind::Meta { &state.limits.meta } else { &state.limits.storage };
            changes(usage, limits)
        })
        .collect();
    (!moves.is_empty()).then_some(Command::SetCapacityPools(moves))
}

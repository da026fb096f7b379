// SPDX-License-Identifier: Apache-2.0

//! Who serves which slot by the cluster state, and where metadata servers work.

use crate::ClusterState;
use crate::states::TargetState;
use nyala_wire::map::{Consistency, MemberState, Reachability, SlotRange};
use nyala_wire::{Slot, TargetId};
use std::collections::BTreeSet;

/// The metadata server of a slot.
pub(crate) fn slot_server(state: &ClusterState, slot: Slot) -> Option<TargetId> {
    let holds = |range: &&SlotRange| range.first <= slot && slot.0 - range.first.0 < range.count;
    state.slots.iter().find(holds).map(|range| range.target)
}

/// Metadata servers that serve slots.
pub(crate) fn serving(state: &ClusterState) -> BTreeSet<TargetId> {
    state.slots.iter().map(|range| range.target).collect()
}

/// The target on which a metadata server works and is good: its own, or the primary of its mirror group once everybody agrees on that.
pub(crate) fn works_on(state: &ClusterState, server: TargetId) -> Option<TargetId> {
    let good = |target: TargetId| {
        let TargetState { reachability, consistency } = state.target(target)?.state;
        (reachability == Reachability::Online && consistency == Consistency::Good).then_some(target)
    };
    let Some(group) = state.groups.iter().find(|group| group.serves == Some(server)) else { return good(server) };
    let primary = group.primary().filter(|primary| group.state(*primary) == Some(MemberState::Good))?;
    good(primary).filter(|_| group.is_settled())
}

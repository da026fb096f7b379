// SPDX-License-Identifier: Apache-2.0

//! Which targets' disks fail, by what services report, and what takes the places of those that do in mirror groups.
//!
//! A member whose disk fails stops being primary, gets a replacement if there is one, and leaves its group once the replacement holds everything:
//! until then it is a copy like any other. What a group does not have is moved away by clients.
//!
//! **Failure model.** A new leader has heard nobody: it calls nobody failing before a report says so, and takes no target for empty. What is done so far
//! is in the cluster state, so each look finds the next step. Between a look and its command the group may have changed:
//! the command is then refused, and the next look sees why.

use crate::command::Command;
use crate::group::member_at::MemberAt;
use crate::state::{ClusterState, TargetRecord};
use crate::states::Trigger;
use nyala_wire::TargetId;
use nyala_wire::map::{CapacityPool, Consistency, Group, MemberState, Reachability, TargetKind};
use nyala_wire::mgmt::{Capacity, DiskErrors, TargetCapacity};
use std::collections::{BTreeMap, BTreeSet};

/// What storage targets reported last of their disks.
#[derive(Clone, Debug, Default)]
pub(super) struct Evacuation {
    errors: BTreeMap<TargetId, DiskErrors>,
    data_bytes: BTreeMap<TargetId, u64>,
}

impl Evacuation {
    pub(super) fn reported(&mut self, report: &TargetCapacity) {
        self.errors.extend(report.errors.map(|errors| (report.target, errors)));
        self.data_bytes.extend(report.data_bytes.map(|bytes| (report.target, bytes)));
    }

    /// Errors that a target has found since it was made, as last reported.
    pub(super) fn errors(&self, target: TargetId) -> Option<u64> {
        self.errors.get(&target).map(|errors| errors.total)
    }

    /// What is due now; `capacities`: of each target, as last reported.
    pub(super) fn due(&self, state: &ClusterState, capacities: &BTreeMap<TargetId, Capacity>) -> Vec<Command> {
        let mut all: Vec<Command> = self.newly_failing(state).collect();
        let mut taken = BTreeSet::new();
        if all.is_empty() && !state.failing.is_empty() {
            let groups = state.groups.iter().filter(|group| group.kind == TargetKind::Storage);
            all.extend(groups.filter_map(|group| {
                let fails = |target: &&TargetId| state.failing(**target).is_some();
                let member = *group.members.iter().find(fails)?;
                next_step(state, group, member).unwrap_or_else(|| {
                    let by = self.spare(state, capacities, group, member, &taken)?;
                    taken.insert(by);
                    Some(Command::ReplaceFailing { group: group.id, target: member, by })
                })
            }));
        }
        all
    }

    fn newly_failing<'a>(&'a self, state: &'a ClusterState) -> impl Iterator<Item = Command> + 'a {
        let known = self.errors.iter().filter(|(target, _)| {
            state.failing(**target).is_none()
                && state.target(**target).is_some_and(|record| record.kind == TargetKind::Storage)
        });
        let passes = |(target, errors): &(&TargetId, &DiskErrors)| {
            let counted = errors.recent.min(errors.total.saturating_sub(state.forgiven(**target)));
            errors.limit > 0 && counted >= errors.limit
        };
        known.filter(passes).map(|(target, errors)| Command::CallFailing { target: *target, errors: errors.total })
    }

    /// A target that can take a member's place: in the same pool, of no group, without data, with room for what the member holds, on a node
    /// that has no other member. The one with most room.
    fn spare(
        &self,
        state: &ClusterState,
        capacities: &BTreeMap<TargetId, Capacity>,
        group: &Group,
        member: TargetId,
        taken: &BTreeSet<TargetId>,
    ) -> Option<TargetId> {
        let old = state.target(member)?;
        let used = |capacity: &Capacity| capacity.total_bytes.saturating_sub(capacity.free_bytes);
        let needed = self.data_bytes.get(&member).copied().or_else(|| capacities.get(&member).map(used))?;
        let nodes: BTreeSet<_> =
            group.members.iter().filter(|t| **t != member).filter_map(|t| state.target(*t)).map(|t| t.node).collect();
        let fits = |target: &&TargetRecord| {
            target.kind == TargetKind::Storage
                && target.pool == old.pool
                && is_sound(state, target)
                && target.capacity_pool != CapacityPool::Emergency
                && !nodes.contains(&target.node)
                && !taken.contains(&target.id)
                && state.group_of(target.id).is_none()
                && self.data_bytes.get(&target.id) == Some(&0)
        };
        let free = |target: &TargetRecord| capacities.get(&target.id).map_or(0, |capacity| capacity.free_bytes);
        let with_room = state.targets.iter().filter(fits).filter(|target| free(target) > needed);
        with_room.max_by_key(|target| (free(target), std::cmp::Reverse(target.id))).map(|target| target.id)
    }
}

fn is_sound(state: &ClusterState, target: &TargetRecord) -> bool {
    target.state.reachability == Reachability::Online
        && target.state.consistency == Consistency::Good
        && state.failing(target.id).is_none()
}

/// The next step for a group with a member whose disk fails, if it is none towards a replacement; the inner one absent: wait.
fn next_step(state: &ClusterState, group: &Group, member: TargetId) -> Option<Option<Command>> {
    let (id, epoch) = (group.id, group.epoch);
    let serves = |target: TargetId| {
        let sound = state.target(target).is_some_and(|record| is_sound(state, record));
        sound && group.state(target) == Some(MemberState::Good)
    };
    let other = group.members.iter().copied().find(|target| serves(*target));
    if group.primary() == Some(member)
        && let Some(target) = other
    {
        return Some(Some(Command::Failover(MemberAt { group: id, epoch, target })));
    }
    let replacement = state.failing(member)?.replacement.filter(|by| group.members.contains(by))?;
    if !serves(replacement) {
        return Some(None);
    }
    Some(match group.state(member) {
        // It loses its rights before it leaves.
        Some(MemberState::Good) => Some(Command::SetConsistency { target: member, trigger: Trigger::DeclaredStale }),
        Some(_) if group.fencing.contains(&member) => None,
        _ => Some(Command::RemoveMember { group: id, target: member }),
    })
}

#[cfg(test)]
mod tests;

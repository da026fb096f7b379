// SPDX-License-Identifier: Apache-2.0

//! Which free targets become mirror groups when an operator leaves the choice to us.
//!
//! Members of a group are on different nodes (a node is what fails as one) and of about the same size, since a group holds
//! no more than its smallest member. Groups stay within a storage pool. Primaries are dealt out evenly over the nodes. What
//! cannot be done so is refused, unless the wish says that it may be done all the same.

use crate::limits::MAX_MEMBERS;
use crate::{ClusterError, ClusterState};
use nyala_wire::map::{Consistency, Reachability, TargetKind};
use nyala_wire::{NodeId, PoolId, TargetId};
use std::collections::BTreeMap;

/// Members of a group may differ in size by so much, in percent of the largest.
const SIZE_PERCENT: u64 = 10;

/// What groups are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRequest {
    /// What the members hold.
    pub kind: TargetKind,
    /// Members of each group.
    pub members: usize,
    /// Sizes may differ.
    pub ignore_space: bool,
    /// Targets for which no partner is left may stay as they are.
    pub ignore_uneven: bool,
}

/// A target without a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    target: TargetId,
    bytes: u64,
}

/// Free targets of one pool by node, the largest last.
type ByNode = BTreeMap<NodeId, Vec<Free>>;

/// Groups of all free targets, the primary of each first. `sizes`: bytes in all of each target, as far as they are known.
pub fn plan_groups(
    state: &ClusterState,
    request: &GroupRequest,
    sizes: &BTreeMap<TargetId, u64>,
) -> Result<Vec<Vec<TargetId>>, ClusterError> {
    if !(2..=MAX_MEMBERS).contains(&request.members) {
        return Err(ClusterError::invalid(format!("a mirror group has 2 to {MAX_MEMBERS} members")));
    }
    if request.kind == TargetKind::Meta {
        return plan_meta::plan(state, request, sizes);
    }
    let mut primaries: BTreeMap<NodeId, usize> = BTreeMap::new();
    for first in state.groups.iter().filter_map(|group| group.primary()) {
        *primaries.entry(state.target(first).map_or(NodeId(0), |t| t.node)).or_default() += 1;
    }
    let mut groups = Vec::new();
    for (pool, mut free) in free_targets(state, request, sizes)? {
        drop_uneven(&mut free, request, pool)?;
        while free.values().any(|targets| !targets.is_empty()) {
            let members = take_group(&mut free, request.members);
            if !request.ignore_space {
                check_sizes(&members)?;
            }
            groups.push(primary_first(members, &mut primaries));
        }
    }
    if groups.is_empty() {
        return Err(ClusterError::invalid(format!(
            "there are no free {:?} targets for a mirror group: it takes {} on different nodes that are in no group yet",
            request.kind, request.members
        )));
    }
    Ok(groups)
}

/// Targets in no group, by pool and node. One that is away or not good is no reason to leave it out silently.
fn free_targets(
    state: &ClusterState,
    request: &GroupRequest,
    sizes: &BTreeMap<TargetId, u64>,
) -> Result<BTreeMap<PoolId, ByNode>, ClusterError> {
    let mut pools: BTreeMap<PoolId, ByNode> = BTreeMap::new();
    for target in state.targets.iter().filter(|t| t.kind == request.kind && state.group_of(t.id).is_none()) {
        if target.state.reachability != Reachability::Online || target.state.consistency != Consistency::Good {
            return Err(ClusterError::invalid(format!(
                "target {} ({}) is not online and good; bring it back or remove it first, or name the members of each group",
                target.id, target.alias
            )));
        }
        let Some(bytes) = sizes.get(&target.id).copied().or(request.ignore_space.then_some(0)) else {
            return Err(ClusterError::invalid(format!(
                "the size of target {} is not known yet; try again in a moment, or say that sizes do not matter",
                target.id
            )));
        };
        let node = pools.entry(target.pool).or_default().entry(target.node).or_default();
        node.push(Free { target: target.id, bytes });
    }
    for targets in pools.values_mut().flat_map(|nodes| nodes.values_mut()) {
        targets.sort_by_key(|free| (free.bytes, std::cmp::Reverse(free.target)));
    }
    Ok(pools)
}

/// Leaves away the smallest targets of the fullest nodes until the rest can be grouped without one over.
fn drop_uneven(free: &mut ByNode, request: &GroupRequest, pool: PoolId) -> Result<(), ClusterError> {
    loop {
        let total: usize = free.values().map(Vec::len).sum();
        let Some((_, fullest)) = free.iter_mut().max_by_key(|(_, targets)| targets.len()) else { return Ok(()) };
        if total.is_multiple_of(request.members) && fullest.len() <= total / request.members {
            return Ok(());
        }
        if !request.ignore_uneven {
            return Err(ClusterError::invalid(format!(
                "the {total} free {:?} targets of pool {pool} do not make whole groups of {} on different nodes; add targets, \
                 name the members of each group, or say that some may be left over",
                request.kind, request.members
            )));
        }
        fullest.remove(0);
    }
}

/// The next group: the largest target of the fullest node, and from other nodes those next to it in size. Nodes that have one
/// target for each group that is still to be made take part in every one of them.
fn take_group(free: &mut ByNode, members: usize) -> Vec<(NodeId, Free)> {
    let groups = free.values().map(Vec::len).sum::<usize>() / members;
    let mut nodes: Vec<NodeId> = free.iter().filter(|(_, t)| !t.is_empty()).map(|(node, _)| *node).collect();
    nodes.sort_by_key(|node| (std::cmp::Reverse(free[node].len()), *node));
    let size = free[&nodes[0]].last().map_or(0, |free| free.bytes);
    let nearest = |node: &NodeId| {
        let targets = &free[node];
        (0..targets.len()).rev().min_by_key(|at| targets[*at].bytes.abs_diff(size)).unwrap_or(0)
    };
    nodes[1..].sort_by_key(|node| (free[node].len() < groups, free[node][nearest(node)].bytes.abs_diff(size), *node));
    let chosen: Vec<(NodeId, usize)> = nodes.iter().take(members).map(|node| (*node, nearest(node))).collect();
    let mut take = |(node, at): (NodeId, usize)| Some((node, free.get_mut(&node)?.remove(at)));
    chosen.into_iter().filter_map(&mut take).collect()
}

fn check_sizes(members: &[(NodeId, Free)]) -> Result<(), ClusterError> {
    let by_size = |(_, free): &&(NodeId, Free)| free.bytes;
    let (least, most) = (members.iter().min_by_key(by_size), members.iter().max_by_key(by_size));
    let (Some((_, least)), Some((_, most))) = (least, most) else { return Ok(()) };
    if (most.bytes - least.bytes) / SIZE_PERCENT > most.bytes / 100 {
        return Err(ClusterError::invalid(format!(
            "targets {} and {} differ in size by more than {SIZE_PERCENT} percent, and a group holds no more than its smallest \
             member; name the members of each group, or say that sizes do not matter",
            least.target, most.target
        )));
    }
    Ok(())
}

/// The primary is on the node that has fewest.
fn primary_first(mut members: Vec<(NodeId, Free)>, primaries: &mut BTreeMap<NodeId, usize>) -> Vec<TargetId> {
    members.sort_by_key(|(node, free)| (primaries.get(node).copied().unwrap_or(0), free.target));
    if let Some((node, _)) = members.first() {
        *primaries.entry(*node).or_default() += 1;
    }
    members.into_iter().map(|(_, free)| free.target).collect()
}

#[path = "plan_meta.rs"]
mod plan_meta;

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

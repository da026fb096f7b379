// SPDX-License-Identifier: Apache-2.0

//! Which spare targets mirror which metadata servers when an operator leaves the choice to us: each server that is in no group
//! yet gets spares on other nodes than its own, and each other's, those next to it in size first.

use super::{Free, GroupRequest, check_sizes, free_targets};
use crate::{ClusterError, ClusterState};
use nyala_wire::{NodeId, PoolId, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// Groups of all metadata servers that are not mirrored, the server first.
pub(super) fn plan(
    state: &ClusterState,
    request: &GroupRequest,
    sizes: &BTreeMap<TargetId, u64>,
) -> Result<Vec<Vec<TargetId>>, ClusterError> {
    let free = free_targets(state, request, sizes)?.remove(&PoolId(0)).unwrap_or_default();
    let all = free.into_iter().flat_map(|(node, targets)| targets.into_iter().map(move |free| (node, free)));
    let (servers, mut spares): (Vec<(NodeId, Free)>, Vec<_>) = all.partition(|(_, free)| state.has_slots(free.target));
    let mut groups = Vec::new();
    for server in servers {
        let members = with_spares(server, &mut spares, request.members);
        if members.len() < request.members {
            if request.ignore_uneven {
                continue;
            }
            return Err(ClusterError::invalid(format!(
                "metadata server {} finds only {} of {} spare targets on other nodes; start more with --spare, name the members of \
                 each group, or say that some may be left over",
                server.1.target,
                members.len() - 1,
                request.members - 1
            )));
        }
        if !request.ignore_space {
            check_sizes(&members)?;
        }
        groups.push(members.into_iter().map(|(_, free)| free.target).collect());
    }
    if groups.is_empty() {
        return Err(ClusterError::invalid(
            "there is no metadata server that is not mirrored and for which there are spares",
        ));
    }
    Ok(groups)
}

/// A server and as many spares as it needs, which are taken only if there are enough.
fn with_spares(server: (NodeId, Free), spares: &mut Vec<(NodeId, Free)>, members: usize) -> Vec<(NodeId, Free)> {
    let mut chosen = vec![server];
    let mut order: Vec<(NodeId, Free)> = spares.clone();
    order.sort_by_key(|(node, free)| (free.bytes.abs_diff(server.1.bytes), *node, free.target));
    for (node, free) in order {
        if chosen.len() < members && chosen.iter().all(|(used, _)| *used != node) {
            chosen.push((node, free));
        }
    }
    if chosen.len() == members {
        let taken: BTreeSet<TargetId> = chosen.iter().map(|(_, free)| free.target).collect();
        spares.retain(|(_, free)| !taken.contains(&free.target));
    }
    chosen
}

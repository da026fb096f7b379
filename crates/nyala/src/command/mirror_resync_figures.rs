// SPDX-License-Identifier: Apache-2.0

//! How far resyncs are, as the services of the members say.

use crate::cluster::{Cluster, ask_node};
use crate::exit::Failure;
use nyala_wire::map::{ClusterMap, MemberState};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{GroupId, TargetId};
use serde::Serialize;

/// How far the resync of a member is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub group: GroupId,
    pub target: TargetId,
    pub state: MemberState,
    pub stopped: bool,
    /// Absent where the primary does not say.
    pub copied_bytes: Option<u64>,
    pub left_bytes: Option<u64>,
    pub bytes_per_s: Option<u64>,
    pub left_s: Option<u64>,
    /// Bytes that the member was given by resyncs since its service was started.
    pub taken_bytes: Option<u64>,
}

/// What the service of a target says of itself.
async fn figures(cluster: &Cluster, map: &ClusterMap, target: Option<TargetId>) -> ServiceStats {
    match target.and_then(|target| map.node_of(target)) {
        Some(node) => ask_node(&node.addresses, &cluster.handshake()).await.stats.unwrap_or_default(),
        None => ServiceStats::default(),
    }
}

/// Asks the primaries of these groups about their members.
pub async fn ask(cluster: &Cluster, map: &ClusterMap, of: &[GroupId], every: bool) -> Result<Vec<Progress>, Failure> {
    let mut all = Vec::new();
    for group in map.groups.iter().filter(|group| of.contains(&group.id)) {
        let behind = |state| every || state != MemberState::Good;
        let behind: Vec<_> = group.members_with_states().filter(|(_, state)| behind(*state)).collect();
        if behind.is_empty() {
            continue;
        }
        let stats = figures(cluster, map, group.primary()).await;
        for (target, state) in behind {
            let own = figures(cluster, map, Some(target)).await;
            // The largest number says that it is not known.
            let find = |stats: &ServiceStats, what: &str| {
                let name = format!("mirror.{}.{target}.{what}", group.id);
                let counter = stats.counters.iter().find(|(is, _)| *is == name);
                counter.map(|(_, value)| *value).filter(|value| *value != u64::MAX)
            };
            let value = |what: &str| find(&stats, what);
            all.push(Progress {
                group: group.id,
                target,
                state,
                stopped: group.resync_stopped,
                copied_bytes: value("copied_bytes"),
                left_bytes: value("left_bytes"),
                bytes_per_s: value("bytes_per_s"),
                left_s: value("left_s"),
                taken_bytes: find(&own, "taken_bytes"),
            });
        }
    }
    Ok(all)
}

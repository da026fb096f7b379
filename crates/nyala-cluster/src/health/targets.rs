// SPDX-License-Identifier: Apache-2.0

//! Targets that cannot be reached, lack something, or are full.

use super::finding::{About, Finding, Severity};
use crate::word::Word;
use nyala_wire::TargetId;
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, Reachability, Target};
use std::collections::BTreeSet;

pub(super) fn check(map: &ClusterMap, all: &mut Vec<Finding>) {
    let mirrored: BTreeSet<TargetId> = map.groups.iter().flat_map(|group| group.members.iter().copied()).collect();
    for target in &map.targets {
        let name = format!("{} target {} ({})", target.kind.word(), target.id, target.alias);
        let mut found = |severity, what, advice| {
            all.push(Finding { severity, about: About::Target(target.id), what, advice });
        };
        let alone = !mirrored.contains(&target.id);
        if target.reachability != Reachability::Online {
            let severity = match (alone, target.reachability) {
                (true, Reachability::Offline) => Severity::Down,
                _ => Severity::Degraded,
            };
            let what = format!("{name} is {}", target.reachability.word());
            found(severity, what, reach(map, target, alone));
        }
        if target.consistency != Consistency::Good {
            let severity = if alone { Severity::Down } else { Severity::Degraded };
            let what = format!("{name} has the consistency {}", target.consistency.word());
            found(severity, what, consistency(target, alone));
        }
        if target.capacity_pool != CapacityPool::Normal {
            let what = format!("{name} runs out of space (capacity pool {})", target.capacity_pool.word());
            let advice = "Remove what is not needed, or add targets: new files go elsewhere while there is room \
                          elsewhere, files that are there grow where they are.";
            found(Severity::Degraded, what, advice.to_owned());
        }
    }
}

fn reach(map: &ClusterMap, target: &Target, alone: bool) -> String {
    let node = map.node(target.node).map_or_else(|| target.node.to_string(), |node| node.alias.clone());
    match (alone, target.reachability) {
        (_, Reachability::ProbablyOffline) => {
            format!("Wait a few seconds: node {node} missed heartbeats and still has its lease.")
        }
        (true, _) => format!(
            "Start the service of node {node}: the target is not mirrored, and what it holds waits until it is back."
        ),
        (false, _) => format!(
            "Start the service of node {node}: the other members of its mirror group serve meanwhile, and resync brings \
             it up to date once it is back."
        ),
    }
}

fn consistency(target: &Target, alone: bool) -> String {
    let id = target.id;
    match (alone, target.consistency) {
        (true, _) => format!(
            "It is in no mirror group that could bring it up to date: restore what is lost from a backup, then `nyala \
             target set-state {id} good`."
        ),
        (false, Consistency::Bad) => {
            format!("`nyala target set-state {id} needs-resync` lets resync fill it from the other members.")
        }
        (false, _) => "Nothing, if its node is online: resync brings it up to date. Else start its service.".to_owned(),
    }
}

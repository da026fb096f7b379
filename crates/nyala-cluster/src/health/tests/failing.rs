// SPDX-License-Identifier: Apache-2.0

//! What is said of targets whose disks fail.

use super::{map, node, target};
use crate::health::{About, ClusterMap, Finding, Probe, Severity, findings};
use nyala_wire::map::{FailingTarget, Role, TargetKind};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{NodeId, TargetId};

fn only(map: &ClusterMap, probes: &[Probe]) -> Finding {
    let mut all = findings(map, probes);
    assert_eq!(all.len(), 1, "{all:#?}");
    let found = all.remove(0);
    assert_eq!((found.severity, found.about), (Severity::Degraded, About::Target(TargetId(101))));
    found
}

fn failing(mirrored: bool) -> ClusterMap {
    let failing = vec![FailingTarget { target: TargetId(101), errors: 70, replacement: None }];
    ClusterMap { failing, ..map(mirrored) }
}

#[test]
fn it_is_said_how_much_is_left_and_that_it_moves() {
    let counters = vec![("failing.101.data_bytes".to_owned(), (3 << 20) + 1), ("failing.x.data_bytes".to_owned(), 1)];
    let probe = Probe::answered(NodeId(2), &ServiceStats { counters, ..ServiceStats::default() });
    let found = only(&failing(false), &[probe]);
    assert!(found.what.contains("had made 70 errors") && found.what.contains("about 4 MiB of data"), "{found:?}");
    assert!(found.advice.starts_with("Mounts move files") && found.advice.contains("--targets 101"), "{found:?}");
    let mut full = failing(false);
    full.targets.retain(|target| target.id != TargetId(102));
    assert!(only(&full, &[]).advice.starts_with("Files that are not mirrored stay"), "nothing else is there");
}

#[test]
fn a_member_has_a_replacement_or_needs_one() {
    let mut map = failing(true);
    let lone = only(&map, &[]).advice;
    assert!(
        lone.contains("No spare takes its place in mirror group 1") && lone.contains("other node than n3"),
        "{lone}"
    );
    map.nodes.push(node(4, Role::Storage));
    map.targets.push(target(103, TargetKind::Storage, 4));
    map.groups[0].members.push(TargetId(103));
    map.failing[0].replacement = Some(TargetId(103));
    let replaced = only(&map, &[]).advice;
    assert!(replaced.starts_with("Target 103 takes its place in mirror group 1"), "{replaced}");
    map.groups[0].members.remove(0);
    assert!(only(&map, &[]).advice.starts_with("Mounts move"), "it has left the group");
}

// SPDX-License-Identifier: Apache-2.0

//! What is found, how bad it is, and what to do.

mod failing;
mod links;
mod reported;

use super::*;
use nyala_wire::map::{CapacityPool, Consistency, Group, MemberState, Node, Reachability, Role, Target, TargetKind};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{GroupId, MapVersion, NodeId, PoolId, TargetId};

pub(super) fn node(id: u32, role: Role) -> Node {
    let addresses = vec!["10.0.0.1:1".parse().unwrap()];
    Node { id: NodeId(id), alias: format!("n{id}"), role, addresses, reachability: Reachability::Online }
}

pub(super) fn target(id: u16, kind: TargetKind, node: u32) -> Target {
    Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    }
}

pub(super) fn map(mirrored: bool) -> ClusterMap {
    let group = Group {
        id: GroupId(1),
        kind: TargetKind::Storage,
        epoch: 1,
        members: vec![TargetId(101), TargetId(102)],
        states: vec![MemberState::Good, MemberState::Good],
        term: 1,
        since: MapVersion(1),
        fencing: Vec::new(),
        resync_stopped: false,
        full: Vec::new(),
        losses: 0,
        serves: None,
    };
    ClusterMap {
        nodes: vec![node(1, Role::Meta), node(2, Role::Storage), node(3, Role::Storage)],
        targets: vec![
            target(1, TargetKind::Meta, 1),
            target(101, TargetKind::Storage, 2),
            target(102, TargetKind::Storage, 3),
        ],
        groups: if mirrored { vec![group] } else { Vec::new() },
        ..ClusterMap::default()
    }
}

fn take_away(map: &mut ClusterMap, at: usize) {
    map.targets[at].reachability = Reachability::Offline;
    let node = map.targets[at].node;
    map.nodes.iter_mut().filter(|n| n.id == node).for_each(|n| n.reachability = Reachability::Offline);
}

#[test]
fn a_whole_cluster_has_no_findings() {
    assert_eq!(worst(&findings(&map(true), &[])), None);
    let silent = Probe { node: NodeId(2), checksum_errors: Some(0), ..Probe::default() };
    assert_eq!(findings(&map(true), &[silent]), []);
}

#[test]
fn a_lost_copy_is_less_than_lost_files() {
    for (mirrored, expected) in [(true, Severity::Degraded), (false, Severity::Down)] {
        let mut map = map(mirrored);
        take_away(&mut map, 1);
        assert_eq!(worst(&findings(&map, &[])), Some(expected), "mirrored: {mirrored}");
    }
    let mut map = map(true);
    map.groups[0].states[1] = MemberState::NeedsResync;
    take_away(&mut map, 1);
    let all = findings(&map, &[]);
    let group = all.iter().find(|finding| finding.about == About::Group(GroupId(1))).unwrap();
    assert_eq!((group.severity, group.advice.as_str()), (Severity::Down, "Start the service of node n2."));
}

#[test]
fn resync_is_a_notice_until_somebody_stops_it() {
    let mut map = map(true);
    map.groups[0].states[1] = MemberState::Resyncing;
    let all = findings(&map, &[]);
    assert_eq!((all.len(), all[0].severity), (1, Severity::Notice));
    map.groups[0].resync_stopped = true;
    let all = findings(&map, &[]);
    assert_eq!(all[0].severity, Severity::Degraded);
    assert!(all[0].advice.contains("resync start 1"), "{}", all[0].advice);
}

#[test]
fn what_nodes_say_themselves_counts() {
    let failed = Probe::silent(NodeId(3), "connection refused".into());
    let counters = [("checksum.errors", 2), ("checksum.other_errors", 1), ("slow.lately", 7)];
    let counters = counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let damaged = Probe::answered(NodeId(2), &ServiceStats { counters, ..ServiceStats::default() });
    assert_eq!(damaged.slow_operations, Some(7));
    let all = findings(&map(true), &[failed, damaged]);
    let said: Vec<&str> = all.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(
        said,
        [
            "storage node n2 [ID: 2] found 3 blocks that do not match their checksum; see its log",
            "storage node n3 [ID: 3] cannot be reached: connection refused",
        ]
    );
    assert!(all[1].advice.contains("10.0.0.1") && all[1].advice.contains("nyala-storage"), "{}", all[1].advice);
}

#[test]
fn what_scrubs_could_not_repair_and_scrubs_that_do_not_end_are_findings() {
    let counter = |name: &str, value| (name.to_owned(), value);
    let counters = [
        counter("scrub.102.damaged_bytes", 8192),
        counter("scrub.102.late", 0),
        counter("scrub.101.damaged_bytes", 0),
        counter("scrub.101.late", 1),
        counter("scrub.99.late", 1),
        counter("scrub.x.late", 1),
        counter("scrub.101.late.odd", 1),
        counter("checksum.errors", 0),
    ];
    let scrubs = TargetScrub::among(&counters);
    assert_eq!(scrubs[1], TargetScrub { target: TargetId(101), damaged_bytes: 0, late: true });
    let probe = Probe { node: NodeId(2), scrubs, ..Probe::default() };
    let all = findings(&map(true), &[probe]);
    let said: Vec<_> = all.iter().map(|finding| (finding.about, finding.what.as_str())).collect();
    assert_eq!(
        said,
        [
            (About::Target(TargetId(101)), "storage target 101 (t101) was not scrubbed as a whole for three intervals"),
            (
                About::Target(TargetId(102)),
                "storage target 102 (t102) has 8192 damaged bytes that could not be repaired"
            ),
        ]
    );
    assert!(
        all.iter().all(|finding| finding.advice.contains("nyala scrub status 10") && finding.advice.ends_with('.'))
    );
}

#[test]
fn every_finding_says_what_to_do() {
    let mut map = map(true);
    map.nodes[0].reachability = Reachability::ProbablyOffline;
    take_away(&mut map, 0);
    map.targets[1].consistency = Consistency::Bad;
    map.targets[2].capacity_pool = CapacityPool::Emergency;
    map.targets[2].consistency = Consistency::NeedsResync;
    map.groups[0].states = vec![MemberState::Bad, MemberState::NeedsResync];
    let all = [findings(&map, &[]), findings(&ClusterMap::default(), &[])].concat();
    assert!(all.len() > 8, "{all:#?}");
    for finding in all {
        assert!(finding.advice.len() > 20 && finding.advice.ends_with('.'), "{finding:?}");
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Which disk counts as slow next to which.

use super::super::disk_group::median_without;
use super::super::disk_times::Mean;
use super::super::tests::{map, node};
use super::*;
use nyala_wire::TargetId;

const ID: Whose = Whose::Target(TargetId(101));

fn times(count: u64, each_us: u64) -> DiskTimes {
    let now = Mean { count, us: count * each_us };
    DiskTimes { whose: ID, kind: DiskKind::Sync, now, before: Mean::default(), waiting_ms: 0 }
}

fn before(times: DiskTimes, each_us: u64) -> DiskTimes {
    DiskTimes { before: Mean { count: 10, us: 10 * each_us }, ..times }
}

fn waiting(ms: u64) -> DiskTimes {
    DiskTimes { waiting_ms: ms, ..times(0, 0) }
}

fn slow(disk: DiskTimes, peers: &[DiskTimes]) -> bool {
    judge(disk, peers).is_some()
}

fn judge(disk: DiskTimes, peers: &[DiskTimes]) -> Option<DiskProblem> {
    Group::of(peers.iter().chain([&disk])).judge(&disk)
}

#[test]
fn the_median_of_the_others_is_that_of_a_list_without_oneself() {
    for all in [vec![5], vec![1, 1], vec![3, 1, 2], vec![4, 4, 4, 9], vec![7, 1, 9, 3, 3], vec![8, 2, 6, 4, 1, 1]] {
        let mut sorted = all.clone();
        sorted.sort_unstable();
        for at in 0..all.len() {
            let mut others = all.clone();
            let own = others.remove(at);
            others.sort_unstable();
            let expected = others.len().checked_sub(1).map(|last| others[last / 2]);
            assert_eq!(median_without(&sorted, Some(own)), expected, "{own} of {all:?}");
        }
        assert_eq!(median_without(&sorted, None), Some(sorted[(sorted.len() - 1) / 2]));
    }
    assert_eq!(median_without(&[], None), None);
}

#[test]
fn ten_times_the_median_of_its_peers_is_slow() {
    let peers = [times(50, 3_000), times(50, 4_000), times(50, 400_000)];
    assert!(slow(times(5, 40_000), &peers));
    assert!(!slow(times(5, 39_000), &peers));
    assert!(!slow(times(50, 4_000), &[times(5, 40_000)]), "the peer of a slow disk is none");
}

#[test]
fn what_is_quick_is_not_slow_and_what_is_slow_for_any_disk_is_however_slow_its_peers() {
    assert!(!slow(times(50, 19_000), &[times(50, 100)]));
    assert!(slow(times(50, 20_000), &[times(50, 100)]));
    assert!(!slow(times(5, 1_900_000), &[times(5, 1_500_000)]), "all of them have much to do");
    assert!(slow(times(5, 2_000_000), &[times(5, 1_500_000)]));
}

#[test]
fn without_a_peer_that_did_the_same_the_limit_is_a_second() {
    for peers in [&[][..], &[times(0, 0)], &[times(4, 100)]] {
        assert!(!slow(times(5, 900_000), peers) && slow(times(5, 1_000_000), peers));
    }
    assert!(slow(times(5, 900_000), &[before(times(0, 0), 1_000)]), "what a peer did before counts too");
}

#[test]
fn few_operations_say_nothing_unless_they_took_long() {
    let peers = [times(50, 1_000)];
    assert!(!slow(times(4, 200_000), &peers) && slow(times(5, 200_000), &peers));
    assert!(!slow(times(1, 9_000_000), &peers) && slow(times(2, 500_000), &peers));
}

#[test]
fn what_is_near_the_limit_does_not_come_and_go() {
    let peers = [times(50, 10_000)];
    assert!(slow(before(times(50, 60_000), 120_000), &peers), "it was slow, and is not yet twice as quick");
    assert!(!slow(before(times(50, 49_000), 120_000), &peers));
    assert!(!slow(before(times(50, 60_000), 90_000), &peers), "it was not slow");
    assert!(!slow(before(times(0, 0), 120_000), &peers), "what nobody asks is not known to be slow");
}

#[test]
fn a_disk_without_an_answer_is_named_if_its_peers_have_theirs() {
    assert!(slow(waiting(6_000), &[waiting(10)]) && slow(waiting(6_000), &[]));
    assert!(!slow(waiting(5_900), &[waiting(10)]));
    assert!(!slow(waiting(20_000), &[waiting(10_000)]), "all wait");
    assert!(slow(waiting(30_000), &[waiting(30_000)]));
    assert!(
        judge(DiskTimes { waiting_ms: 7_000, ..times(9, 3_000_000) }, &[]) == Some(DiskProblem::Waits { ms: 7_000 })
    );
}

fn probe(node: u32, target: u16, kind: &str, times: [u64; 5]) -> Probe {
    let names = ["count", "us", "before_count", "before_us", "waiting_ms"];
    let counters: Vec<_> =
        names.iter().zip(times).map(|(what, value)| (format!("disk.{target}.{kind}.{what}"), value)).collect();
    Probe { node: NodeId(node), disks: DiskTimes::among(&counters), ..Probe::default() }
}

fn found(map: &ClusterMap, probes: &[Probe]) -> Vec<Finding> {
    let mut all = Vec::new();
    check(map, probes, &mut all);
    all
}

#[test]
fn the_target_its_figures_and_its_host_are_named() {
    let quick = probe(2, 101, "sync", [100, 300_000, 0, 0, 0]);
    let all = found(&map(false), &[probe(3, 102, "sync", [4, 3_400_000, 0, 0, 0]), quick.clone()]);
    assert_eq!(
        all.iter().map(|f| (f.about, f.what.as_str())).collect::<Vec<_>>(),
        [(
            About::Target(TargetId(102)),
            "the disk of storage target 102 (t102) is slow: a sync of data takes 850 ms, at its peers 3.0 ms"
        )]
    );
    assert!(all[0].advice.contains("10.0.0.1") && all[0].advice.contains("replace the disk"), "{}", all[0].advice);
    let all = found(&map(true), &[probe(3, 102, "sync", [4, 3_400_000, 0, 0, 0]), quick]);
    assert!(all[0].advice.contains("the other members go on"), "{}", all[0].advice);
}

#[test]
fn other_kinds_pools_and_strangers_are_no_peers() {
    let slow = probe(3, 102, "sync", [10, 500_000, 0, 0, 0]);
    for other in ["job", "read", "log"] {
        assert_eq!(found(&map(false), &[slow.clone(), probe(2, 101, other, [100, 100_000, 0, 0, 0])]), []);
    }
    let quick = probe(2, 101, "sync", [100, 100_000, 0, 0, 0]);
    assert_eq!(found(&map(false), &[slow.clone(), quick.clone()]).len(), 1);
    let mut pools = map(false);
    pools.targets[1].pool = PoolId(2);
    assert_eq!(found(&pools, &[slow.clone(), quick.clone()]), []);
    let elsewhere = Probe { node: NodeId(1), ..quick };
    assert_eq!(found(&map(false), &[slow, elsewhere]), [], "a node speaks for its own targets");
}

#[test]
fn one_disk_is_one_finding_and_the_worst_is_said() {
    let mut all = probe(3, 102, "sync", [10, 20_000_000, 0, 0, 0]);
    all.disks.extend(probe(3, 102, "log", [10, 30_000_000, 0, 0, 0]).disks);
    let said = found(&map(false), &[all.clone()]);
    assert!(said.len() == 1 && said[0].what.contains("a sync of its log takes 3000 ms"), "{said:#?}");
    all.disks.extend(probe(3, 102, "job", [0, 0, 0, 0, 8_100]).disks);
    let said = found(&map(false), &[all]);
    assert!(said.len() == 1 && said[0].what.contains("a write or read has waited for 8 s"), "{said:#?}");
}

#[test]
fn a_management_node_is_named_by_itself() {
    let mut map = map(false);
    map.nodes.push(node(9, Role::Mgmt));
    let counters = [("disk.own.log.waiting_ms".to_owned(), 9_000), ("disk.own.odd.count".to_owned(), 1)];
    let disks = DiskTimes::among(&counters);
    assert_eq!(disks.len(), 1);
    let said = found(&map, &[Probe { node: NodeId(9), disks, ..Probe::default() }]);
    assert_eq!(said[0].about, About::Node(NodeId(9)));
    assert!(said[0].what.starts_with("the disk of mgmt node n9 [ID: 9] does not answer"), "{}", said[0].what);
}

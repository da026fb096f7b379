// SPDX-License-Identifier: Apache-2.0

//! Placement: what may be chosen, how evenly, and the test vectors of `docs/decisions/0003-placement.md`.

use nyala_cluster::{PlacementTable, choose_targets, pick_slot};
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, FailingTarget, Group, MemberState, Placement};
use nyala_wire::map::{Reachability, SlotRange, Target, TargetKind};
use nyala_wire::{GroupId, NodeId, Pattern, PoolId, Slot, StripePattern, TargetId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn target(id: u16, node: u32) -> Target {
    Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind: TargetKind::Storage,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    }
}

/// `nodes` nodes with `each` targets, ids from 101.
fn grid(nodes: u32, each: u16) -> ClusterMap {
    let targets = (0..nodes).flat_map(|n| (0..each).map(move |i| target(101 + n as u16 * each + i, n + 1)));
    ClusterMap { targets: targets.collect(), ..ClusterMap::default() }
}

fn pattern(num_targets: u16) -> StripePattern {
    StripePattern { num_targets, ..StripePattern::default() }
}

fn group(id: u16, a: u16, b: u16, state: MemberState) -> Group {
    Group {
        id: GroupId(id),
        kind: TargetKind::Storage,
        epoch: 1,
        members: vec![TargetId(a), TargetId(b)],
        states: vec![MemberState::Good, state],
        term: 1,
        since: Default::default(),
        fencing: vec![],
        resync_stopped: false,
        losses: 0,
        serves: None,
        full: Vec::new(),
    }
}

fn ids(targets: &[TargetId]) -> Vec<u16> {
    targets.iter().map(|t| t.0).collect()
}

fn meta_map() -> ClusterMap {
    let meta = |id| Target { kind: TargetKind::Meta, pool: PoolId(0), ..target(id, id.into()) };
    let range = |first, target| SlotRange { first: Slot(first), count: 64, target: TargetId(target) };
    let slots = vec![range(0, 1), range(64, 2), range(128, 3)];
    ClusterMap { targets: vec![meta(1), meta(2), meta(3)], slots, ..ClusterMap::default() }
}

#[test]
fn vectors() {
    let map = grid(4, 2);
    let table = PlacementTable::new(&map);
    let choose = |placement, seed, counter| ids(&table.choose(&pattern(4), placement, &[], seed, counter));
    let preferred = ids(&table.choose(&pattern(4), Placement::Random, &[TargetId(108)], 42, 0));
    let slots: Vec<_> = (0..4).map(|c| PlacementTable::new(&meta_map()).pick_slot(42, c).unwrap().0).collect();
    let got = [
        choose(Placement::Random, 0, 0),
        choose(Placement::Random, 42, 0),
        choose(Placement::Random, 42, 1),
        choose(Placement::RandomInternode, 42, 0),
        choose(Placement::RandomInternode, 42, 1),
        choose(Placement::RoundRobin, 42, 0),
        choose(Placement::RoundRobin, 42, 1),
        preferred,
        slots,
    ];
    let expected: [&[u16]; 9] = [
        &[104, 102, 106, 107],
        &[103, 104, 101, 102],
        &[106, 102, 104, 101],
        &[106, 108, 101, 104],
        &[105, 102, 104, 107],
        &[103, 104, 105, 106],
        &[104, 105, 106, 107],
        &[108, 103, 101, 102],
        &[50, 76, 176, 40],
    ];
    assert_eq!(got.each_ref().map(Vec::as_slice), expected);
}

#[test]
fn offline_and_bad_targets_are_never_chosen() {
    let mut map = grid(2, 2);
    map.targets[0].reachability = Reachability::Offline;
    map.targets[1].consistency = Consistency::Bad;
    for placement in [Placement::Random, Placement::RoundRobin, Placement::RandomInternode] {
        for counter in 0..50 {
            let mut got = ids(&choose_targets(&map, &pattern(4), placement, &[TargetId(101)], 1, counter));
            got.sort();
            assert_eq!(got, [103, 104]);
        }
    }
    map.targets.iter_mut().for_each(|t| t.reachability = Reachability::Offline);
    assert_eq!(choose_targets(&map, &pattern(4), Placement::Random, &[], 1, 1), []);
    let elsewhere = StripePattern { pool: PoolId(2), ..pattern(1) };
    assert_eq!(choose_targets(&grid(1, 1), &elsewhere, Placement::Random, &[], 1, 1), []);
}

#[test]
fn lower_classes_come_last_and_preferred_ones_first_within_a_class() {
    let mut map = grid(5, 1);
    map.targets[0].capacity_pool = CapacityPool::Emergency;
    map.targets[1].capacity_pool = CapacityPool::Low;
    map.targets[2].reachability = Reachability::ProbablyOffline;
    let table = PlacementTable::new(&map);
    for placement in [Placement::Random, Placement::RoundRobin, Placement::RandomInternode] {
        for counter in 0..50 {
            let got = ids(&table.choose(&pattern(9), placement, &[], 1, counter));
            assert_eq!(got[..2].iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([104, 105]));
            assert_eq!(got[2..], [103, 102, 101], "probably offline, low, emergency");
            let preferred = [TargetId(103), TargetId(101)];
            let got = ids(&table.choose(&pattern(9), placement, &preferred, 1, counter));
            assert_eq!((got[0], &got[3..]), (103, &[102, 101][..]));
        }
    }
}

#[test]
fn random_placement_is_even_in_every_position() {
    let table = PlacementTable::new(&grid(3, 3));
    let mut counts = BTreeMap::new();
    for counter in 0..9000 {
        for (place, id) in table.choose(&pattern(3), Placement::Random, &[], 7, counter).into_iter().enumerate() {
            *counts.entry((place, id)).or_insert(0_u32) += 1;
        }
    }
    assert_eq!(counts.len(), 27);
    assert!(counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
}

#[test]
fn round_robin_takes_turns_in_every_position() {
    let table = PlacementTable::new(&grid(4, 1));
    let first: Vec<_> = (0..8).map(|c| table.choose(&pattern(4), Placement::RoundRobin, &[], 0, c)[0].0).collect();
    assert_eq!(first, [101, 102, 103, 104, 101, 102, 103, 104]);
}

#[test]
fn internode_spreads_over_nodes_first() {
    // One node with many targets among small ones: it gets its share of the rounds, not of the targets.
    let mut map = grid(3, 2);
    map.targets.extend((0..6).map(|i| target(201 + i, 9)));
    let table = PlacementTable::new(&map);
    let node = |id: &TargetId| map.target(*id).unwrap().node;
    let mut of_nine = BTreeMap::new();
    for counter in 0..6000 {
        let four = table.choose(&pattern(4), Placement::RandomInternode, &[], 3, counter);
        assert_eq!(four.iter().map(node).collect::<BTreeSet<_>>().len(), 4);
        let seven = table.choose(&pattern(7), Placement::RandomInternode, &[], 3, counter);
        assert_eq!(seven.iter().collect::<BTreeSet<_>>().len(), 7, "no target twice");
        for n in [1, 2, 3, 9] {
            let count = seven.iter().filter(|t| node(t) == NodeId(n)).count();
            assert!(count == 1 || count == 2, "{seven:?}");
        }
        four.iter().filter(|t| t.0 > 200).for_each(|t| *of_nine.entry(*t).or_insert(0_u32) += 1);
    }
    assert!(of_nine.len() == 6 && of_nine.values().all(|n| (850..1150).contains(n)), "{of_nine:?}");
}

#[test]
fn slots_are_spread_over_live_metadata_targets() {
    let mut map = meta_map();
    let mut per_target = [0; 3];
    let mut slots = BTreeSet::new();
    for counter in 0..3000 {
        let slot = pick_slot(&map, 5, counter).unwrap();
        slots.insert(slot);
        per_target[usize::from(slot.0) / 64] += 1;
    }
    assert_eq!((per_target, slots.len()), ([1000; 3], 192));
    let near = PlacementTable::new(&map);
    let slots: BTreeSet<_> = (0..3000).map(|seed| near.pick_slot_of(TargetId(2), seed).unwrap().0).collect();
    assert_eq!(slots, (64..128).collect(), "all slots of one server");
    assert_eq!(near.pick_slot_of(TargetId(4), 5), None);
    map.targets[1].reachability = Reachability::Offline;
    map.targets[2].capacity_pool = CapacityPool::Low;
    assert_eq!(PlacementTable::new(&map).pick_slot_of(TargetId(3), 5), None, "another one is better");
    assert!((0..300).all(|counter| pick_slot(&map, 5, counter).unwrap().0 < 64));
    map.targets[0].consistency = Consistency::Bad;
    assert!((0..300).all(|counter| (128..192).contains(&pick_slot(&map, 5, counter).unwrap().0)));
    map.targets[2].reachability = Reachability::Offline;
    assert_eq!(pick_slot(&map, 5, 0), None);
}

proptest! {
    #[test]
    fn always_distinct_and_as_many_as_there_are(
        states in proptest::collection::vec((0_u32..5, 0_u8..3, 0_u8..3, 0_u8..3, 1_u16..3), 0..40),
        width in 1_u16..50, how in 0_usize..3, seed: u64, counter: u64, preferred in proptest::collection::vec(100_u16..145, 0..4),
    ) {
        let pick = |i: u8| usize::from(i);
        let targets: Vec<_> = states.iter().enumerate().map(|(at, (node, r, c, p, pool))| Target {
            reachability: [Reachability::Online, Reachability::ProbablyOffline, Reachability::Offline][pick(*r)],
            consistency: [Consistency::Good, Consistency::NeedsResync, Consistency::Bad][pick(*c)],
            capacity_pool: [CapacityPool::Normal, CapacityPool::Low, CapacityPool::Emergency][pick(*p)],
            pool: PoolId(*pool),
            ..target(101 + at as u16, *node)
        }).collect();
        let map = ClusterMap { targets, ..ClusterMap::default() };
        let placement = [Placement::Random, Placement::RoundRobin, Placement::RandomInternode][how];
        let preferred: Vec<_> = preferred.into_iter().map(TargetId).collect();
        let got = choose_targets(&map, &pattern(width), placement, &preferred, seed, counter);
        let usable = |t: &&Target| t.pool == PoolId(1)
            && t.reachability != Reachability::Offline && t.consistency != Consistency::Bad;
        prop_assert_eq!(got.len(), map.targets.iter().filter(usable).count().min(width.into()));
        prop_assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), got.len());
        prop_assert!(got.iter().all(|id| usable(&map.target(*id).unwrap())));
        let classes: Vec<_> = got.iter().map(|id| map.target(*id).unwrap().capacity_pool).collect();
        prop_assert!(classes.is_sorted());
        prop_assert_eq!(choose_targets(&map, &pattern(width), placement, &preferred, seed, counter), got);
    }
}

#[test]
fn mirrored_files_get_groups_that_somebody_can_serve() {
    let mut map = grid(4, 1);
    let mirror = |n| StripePattern { pattern: Pattern::Mirror, ..pattern(n) };
    let choose = |map: &ClusterMap| {
        let mut got = ids(&choose_targets(map, &mirror(4), Placement::Random, &[], 1, 1));
        got.sort_unstable();
        got
    };
    assert_eq!(choose(&map), [], "no group, no place");
    map.groups = vec![group(1, 101, 102, MemberState::Good), group(2, 103, 104, MemberState::NeedsResync)];
    assert_eq!(choose(&map), [1, 2]);
    map.targets[0].reachability = Reachability::Offline;
    assert_eq!(choose(&map), [1, 2], "its other member serves");
    map.targets[2].reachability = Reachability::Offline;
    assert_eq!(choose(&map), [1], "nobody good is in reach");
    map.targets[1].capacity_pool = CapacityPool::Low;
    map.targets[2].reachability = Reachability::Online;
    let first = ids(&choose_targets(&map, &mirror(1), Placement::RoundRobin, &[], 1, 1));
    assert_eq!(first, [2], "as good as the worst member");
}

#[test]
fn what_fails_gets_nothing_while_others_have_room() {
    let mut map = grid(4, 1);
    let failing = |target: u16| FailingTarget { target: TargetId(target), errors: 64, replacement: None };
    map.failing = vec![failing(102)];
    let chosen = |map: &ClusterMap| {
        let mut chosen = ids(&choose_targets(map, &pattern(4), Placement::Random, &[], 1, 1));
        chosen.sort_unstable();
        chosen
    };
    assert_eq!(chosen(&map), [101, 103, 104], "fewer, rather than one that fails");
    let preferred = choose_targets(&map, &pattern(1), Placement::Random, &[TargetId(102)], 1, 1);
    assert_ne!(ids(&preferred), [102]);
    [0, 2, 3].iter().for_each(|at: &usize| map.targets[*at].capacity_pool = CapacityPool::Emergency);
    assert_eq!(chosen(&map), [101, 102, 103, 104], "nothing else has room");
    map.targets[0].capacity_pool = CapacityPool::Low;
    assert_eq!(chosen(&map), [101, 103, 104]);
    map.failing = (101..105).map(failing).collect();
    assert_eq!(chosen(&map), [101, 102, 103, 104], "all fail");
}

#[test]
fn a_mirror_group_with_a_failing_member_gets_nothing_while_there_is_another() {
    let mut map = grid(4, 1);
    map.groups = vec![group(1, 101, 102, MemberState::Good), group(2, 103, 104, MemberState::Good)];
    map.failing = vec![FailingTarget { target: TargetId(104), errors: 64, replacement: None }];
    let mirror = StripePattern { pattern: Pattern::Mirror, ..pattern(4) };
    let chosen = |map: &ClusterMap| ids(&choose_targets(map, &mirror, Placement::Random, &[], 1, 1));
    assert_eq!(chosen(&map), [1]);
    map.groups.remove(0);
    assert_eq!(chosen(&map), [2]);
}

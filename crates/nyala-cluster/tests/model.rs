// SPDX-License-Identifier: Apache-2.0

//! Random commands against the state machine; after each one, everything that must always hold is checked.

use nyala_cluster::capacity::TargetPool;
use nyala_cluster::{CapacityLimits, states};
use nyala_cluster::{ClusterError, ClusterState, Command, MemberAt, NewTarget, RegisterNode, SLOTS_PER_TARGET, Thing};
use nyala_wire::map::{CapacityPool, MemberState, Reachability, Role, Settings, TargetKind};
use nyala_wire::{ClusterId, GroupId, InodeId, NodeId, PoolId, Slot, TargetId, codec};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn uuid(n: u8) -> ClusterId {
    ClusterId([n; 16])
}

fn command() -> impl Strategy<Value = Command> {
    let node = || (0_u32..9).prop_map(NodeId);
    let target = || prop_oneof![0_u16..6, 100_u16..112].prop_map(TargetId);
    let pool = || (0_u16..4).prop_map(PoolId);
    let alias = || prop_oneof![Just(String::new()), "[abm1-]{1,5}", Just("meta1".to_owned()), Just("t101".to_owned())];
    let reachability =
        prop_oneof![Just(Reachability::Online), Just(Reachability::ProbablyOffline), Just(Reachability::Offline)];
    let classes = prop_oneof![Just(CapacityPool::Normal), Just(CapacityPool::Low), Just(CapacityPool::Emergency)];
    let thing =
        prop_oneof![node().prop_map(Thing::Node), target().prop_map(Thing::Target), pool().prop_map(Thing::Pool)];
    let new_target = (1_u8..12, prop_oneof![4 => Just(TargetId(0)), 1 => target()], alias(), any::<bool>());
    let member = || {
        (1_u16..3, 1_u32..8, 100_u16..112).prop_map(|(group, epoch, target)| MemberAt {
            group: GroupId(group),
            epoch,
            target: TargetId(target),
        })
    };
    let slots = || proptest::collection::vec((0_u16..192).prop_map(Slot), 0..3);
    let settings = (1_u32..5, 0_u16..4).prop_map(|(beats, pool)| {
        let mut settings = Settings { lease_ms: 500 * beats, ..Settings::default() };
        settings.default_pattern.pool = PoolId(pool);
        settings
    });
    prop_oneof![
        1 => (1_u8..3).prop_map(|n| Command::Init { cluster: uuid(n), settings: Settings::default() }),
        12 => (0_u8..3, 1_u8..6, alias(), 0_u64..3, proptest::collection::vec(new_target, 0..3), any::<bool>())
            .prop_map(|(cluster, id, alias, incarnation, targets, storage)| {
                let kind = |odd: bool| if odd != storage { TargetKind::Meta } else { TargetKind::Storage };
                let target = |(id, wanted, alias, odd): (u8, TargetId, String, bool)| NewTarget {
                    uuid: uuid(id), id: wanted, alias, kind: kind(odd && id % 5 == 0), losses: 0, spare: false,
                };
                Command::RegisterNode(RegisterNode {
                    cluster: uuid(cluster), role: if storage { Role::Storage } else { Role::Meta }, uuid: uuid(100 + id),
                    alias, addresses: vec![([127, 0, 0, 1], 8000 + u16::from(id)).into()], incarnation,
                    targets: targets.into_iter().map(target).collect(),
                })
            }),
        6 => (node(), 0_u64..3, reachability).prop_map(|(node, incarnation, reachability)| {
            Command::SetReachability { node, incarnation, reachability }
        }),
        4 => (target(), 0_usize..8).prop_map(|(target, t)| {
            Command::SetConsistency { target, trigger: states::TRIGGERS[t] }
        }),
        2 => proptest::collection::vec((target(), classes), 0..3).prop_map(|pools| {
            Command::SetCapacityPools(pools.into_iter().map(|(target, pool)| TargetPool { target, pool }).collect())
        }),
        1 => settings.prop_map(Command::SetSettings),
        1 => (100_u32..300).prop_map(|dynamic| {
            let mut limits = CapacityLimits::default();
            limits.meta.dynamic_percent = dynamic;
            Command::SetLimits(limits)
        }),
        2 => (thing, alias()).prop_map(|(thing, alias)| Command::Rename { thing, alias }),
        2 => alias().prop_map(|alias| Command::CreatePool { alias }),
        1 => pool().prop_map(|pool| Command::RemovePool { pool }),
        2 => (target(), pool()).prop_map(|(target, pool)| Command::SetPool { target, pool }),
        2 => node().prop_map(|node| Command::RemoveNode { node }),
        2 => (target(), any::<bool>()).prop_map(|(target, content_gone)| Command::RemoveTarget { target, content_gone }),
        4 => proptest::collection::vec((100_u16..112).prop_map(TargetId), 2..4).prop_map(|members| {
            Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members }
        }),
        1 => any::<bool>().prop_map(|content_gone| Command::RemoveGroup { group: GroupId(1), content_gone }),
        4 => (member(), (100_u16..112).prop_map(TargetId)).prop_map(|(member, by)| Command::MarkNeedsResync { member, by }),
        4 => member().prop_map(Command::StartResync),
        4 => member().prop_map(Command::MemberResynced),
        2 => member().prop_map(Command::Failover),
        2 => member().prop_map(Command::Fenced),
        3 => (1_u16..3, 100_u16..112).prop_map(|(group, target)| {
            Command::AddMember { group: GroupId(group), target: TargetId(target) }
        }),
        3 => (1_u16..3, 100_u16..112).prop_map(|(group, target)| {
            Command::RemoveMember { group: GroupId(group), target: TargetId(target) }
        }),
        2 => (target(), 0_u64..99).prop_map(|(target, errors)| Command::CallFailing { target, errors }),
        1 => (target(), 0_u64..99).prop_map(|(target, errors)| Command::Forgive { target, errors }),
        3 => (1_u16..3, 100_u16..112, 100_u16..112).prop_map(|(group, target, by)| {
            Command::ReplaceFailing { group: GroupId(group), target: TargetId(target), by: TargetId(by) }
        }),
        1 => any::<bool>().prop_map(|stopped| Command::StopResync { group: GroupId(1), stopped }),
        3 => (slots(), target()).prop_map(|(slots, to)| Command::MoveSlots { slots, to }),
        1 => slots().prop_map(|slots| Command::CancelMoves { slots }),
        3 => (slots(), target()).prop_map(|(slots, to)| Command::PlanMoves { to, slots }),
        3 => (slots(), target()).prop_map(|(slots, to)| Command::ReleaseMoves { to, slots }),
    ]
}

/// What holds in every group.
fn check_groups(state: &ClusterState) {
    assert!(unique(state.groups.iter().flat_map(|g| g.members.iter())), "a target is in one group");
    for group in &state.groups {
        assert_eq!(group.members.len(), group.states.len());
        assert!(1 <= group.term && group.term <= group.epoch && group.since <= state.version);
        let offline = |t: TargetId| state.target(t).unwrap().state.reachability == Reachability::Offline;
        let all: Vec<_> = group.members_with_states().collect();
        let good = || all.iter().filter(|(_, s)| *s == MemberState::Good).map(|(t, _)| *t);
        if let Some(primary) = good().next() {
            assert_eq!(group.primary(), Some(primary), "the primary is good: {group:?}");
            assert!(!offline(primary) || good().count() == 1, "only the last good one is good while away: {group:?}");
        }
        for (target, member) in &all {
            assert!(*member != MemberState::Good || !offline(*target) || good().count() == 1);
            assert!(*member != MemberState::Resyncing || !offline(*target));
            let shown = state.target(*target).unwrap().state.consistency as u8;
            assert_eq!(shown, [0, 1, 1, 2][*member as usize]);
        }
        assert!(group.full.iter().all(|t| group.state(*t).is_some_and(|state| state != MemberState::Good)));
        assert!(group.fencing.iter().all(|t| !offline(*t) && group.members.contains(t)));
    }
}

fn unique<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().all(|item| seen.insert(item))
}

/// What holds in every state.
fn check(state: &ClusterState) {
    assert!(state.nodes.is_sorted_by(|a, b| a.id < b.id) && state.targets.is_sorted_by(|a, b| a.id < b.id));
    assert!(state.pools.is_sorted_by(|a, b| a.id < b.id));
    assert!(unique(state.nodes.iter().map(|n| n.uuid)) && unique(state.targets.iter().map(|t| t.uuid)));
    assert!(unique(state.nodes.iter().map(|n| &n.alias)) && unique(state.targets.iter().map(|t| &t.alias)));
    assert!(unique(state.pools.iter().map(|p| &p.alias)));
    for list in [&state.failing, &state.forgiven] {
        assert!(list.is_sorted_by(|a, b| a.target < b.target));
        assert!(list.iter().all(|entry| state.target(entry.target).is_some()), "of targets that are there");
    }
    let map = state.map();
    assert_eq!((map.version, map.cluster), (state.version, state.cluster));
    for target in &state.targets {
        assert_ne!(target.id, TargetId(0));
        let node = state.node(target.node).expect("a target's node exists");
        assert_eq!(target.kind == TargetKind::Meta, node.role == Role::Meta);
        let expected = if target.listed { node.reachability } else { Reachability::Offline };
        assert_eq!(target.state.reachability, expected, "{target:?}");
        assert_eq!(map.node_of(target.id).map(|n| n.id), Some(node.id));
        assert_eq!(map.target(target.id).map(|t| t.consistency), Some(target.state.consistency));
        if target.kind == TargetKind::Storage {
            assert!(state.pools.iter().any(|p| p.id == target.pool));
        }
        let slots: Vec<_> = map.slots_of(target.id).collect();
        assert_eq!(slots.len(), if target.kind == TargetKind::Meta { SLOTS_PER_TARGET.into() } else { 0 });
        assert!(slots.iter().all(|slot| map.slot_target(*slot) == Some(target.id)));
    }
    check_groups(state);
    for plan in &state.planned {
        assert!(map.slots_of(plan.to).next().is_some() && state.arrived.contains(&plan.to), "{plan:?}");
        assert!(!plan.slots.is_empty() || state.moves.iter().any(|moving| moving.to == plan.to), "{plan:?}");
    }
    assert!(state.moves.is_sorted_by(|a, b| a.slot < b.slot) && state.arrived.is_sorted_by(|a, b| a < b));
    let ends = state.slots.iter().map(|r| (u32::from(r.first.0), u32::from(r.first.0) + u32::from(r.count)));
    assert!(ends.clone().zip(ends.skip(1)).all(|(a, b)| a.1 <= b.0), "slots overlap: {:?}", state.slots);
    assert!(state.slots.iter().all(|range| state.target(range.target).is_some()));
    assert!(state.slots.is_empty() || map.slot_target(InodeId::ROOT.slot()).is_some(), "the root has a server");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn invariants_hold_after_any_commands(commands in proptest::collection::vec(command(), 0..60)) {
        let mut state = ClusterState::default();
        let mut twin = ClusterState::default();
        // The model: which directory got which number, for ever.
        let (mut node_ids, mut target_ids) = (BTreeMap::new(), BTreeMap::new());
        prop_assert_eq!(state.apply(Command::CreatePool { alias: "x".into() }), Err(ClusterError::NotInitialised));
        state.apply(Command::Init { cluster: uuid(1), settings: Settings::default() }).unwrap();
        twin.apply(Command::Init { cluster: uuid(1), settings: Settings::default() }).unwrap();
        for command in commands {
            let before = state.clone();
            let outcome = state.apply(command.clone());
            for group in &state.groups {
                let Some(old) = before.group(group.id) else { continue };
                let same = (&old.members, &old.states, old.term) == (&group.members, &group.states, group.term);
                prop_assert_eq!(group.epoch, old.epoch + u32::from(!same), "one epoch for each change");
                prop_assert!(group.term == old.term || group.term == group.epoch);
            }
            prop_assert_eq!(&twin.apply(codec::decode(&codec::encode(&command)).unwrap()), &outcome, "deterministic");
            prop_assert_eq!(twin.encode(), state.encode());
            match &outcome {
                Err(_) => prop_assert_eq!(&state, &before, "a refusal changes nothing"),
                Ok(events) if events.is_empty() => prop_assert_eq!(&state, &before, "no event, no change"),
                Ok(_) => prop_assert_eq!(state.version.0, before.version.0 + 1),
            }
            if outcome.is_ok() {
                let mut again = state.clone();
                prop_assert_eq!(again.apply(command.clone()), Ok(vec![]), "idempotent: {:?}", command);
            }
            check(&state);
            if let (Command::RegisterNode(register), Ok(_)) = (&command, &outcome) {
                let (node, targets) = state.ids_of(register).expect("what registered has ids");
                prop_assert_eq!(state.node(node).map(|n| n.reachability), Some(Reachability::Online));
                prop_assert_eq!(*node_ids.entry(register.uuid).or_insert(node), node);
                for (target, id) in register.targets.iter().zip(targets).filter(|(_, id)| id.0 != 0) {
                    prop_assert_eq!(*target_ids.entry(target.uuid).or_insert(id), id);
                }
            }
            if let (Command::RemoveNode { .. } | Command::RemoveTarget { .. }, Ok(_)) = (&command, &outcome) {
                node_ids.retain(|_, id| state.node(*id).is_some());
                target_ids.retain(|_, id| state.target(*id).is_some());
            }
            prop_assert_eq!(ClusterState::decode(&state.encode()), Ok(state.clone()));
        }
    }
}

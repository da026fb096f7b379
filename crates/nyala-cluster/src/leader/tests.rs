// SPDX-License-Identifier: Apache-2.0

//! What a leader grants, calls offline, probes and proposes, against one storage service.

use super::*;
use crate::{ClusterState, Command, NewTarget, RegisterNode};
use nyala_wire::map::{Reachability, Role, Settings, TargetKind};
use nyala_wire::mgmt::{Capacity, Heartbeat, TargetCapacity};
use nyala_wire::{ClusterId, MapVersion, NodeId, TargetId};

const LEASE: u64 = 3000;
const CLUSTER: ClusterId = ClusterId([5; 16]);
const NODE: NodeId = NodeId(1);

fn register(role: Role, number: u8, incarnation: u64) -> RegisterNode {
    let target = NewTarget {
        uuid: ClusterId([100 + number; 16]),
        id: TargetId(0),
        alias: String::new(),
        kind: TargetKind::Storage,
        losses: 0,
        spare: false,
    };
    RegisterNode {
        cluster: CLUSTER,
        role,
        uuid: ClusterId([number; 16]),
        alias: String::new(),
        addresses: vec![([10, 0, 0, number], 8003).into()],
        incarnation,
        targets: if role == Role::Storage { vec![target] } else { Vec::new() },
    }
}

/// One storage service, in its first run.
fn cluster() -> ClusterState {
    let settings = Settings { lease_ms: LEASE as u32, heartbeat_ms: 500, ..Settings::default() };
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: CLUSTER, settings }).unwrap();
    state.apply(Command::RegisterNode(register(Role::Storage, 1, 1))).unwrap();
    state
}

fn beat(leader: &mut LeaderState, state: &ClusterState, run: u64, now_ms: u64) -> HeartbeatAnswer {
    let beat =
        Heartbeat { node: NODE, incarnation: run, map_version: MapVersion(state.version.0), capacities: Vec::new() };
    leader.heartbeat(state, &beat, 70 + run, now_ms)
}

fn offline(run: u64) -> Command {
    Command::SetReachability { node: NODE, incarnation: run, reachability: Reachability::Offline }
}

#[test]
fn a_new_leader_waits_a_full_lease_before_it_calls_anybody_offline() {
    let state = cluster();
    let mut leader = LeaderState::new(2, 10_000);
    assert_eq!(leader.verdicts(&state, 10_000 + LEASE), []);
    assert_eq!(leader.verdicts(&state, 10_001 + LEASE), [offline(1)]);
}

#[test]
fn heartbeats_of_strangers_and_replaced_runs_get_no_lease_and_are_no_sign_of_life() {
    let mut state = cluster();
    let mut leader = LeaderState::new(1, 0);
    let stranger = Heartbeat { node: NodeId(9), incarnation: 1, map_version: MapVersion(0), capacities: Vec::new() };
    assert_eq!(leader.heartbeat(&state, &stranger, 1, 0).lease, Err(NoLease::Unknown));
    state.apply(Command::RegisterNode(register(Role::Storage, 1, 2))).unwrap();
    assert_eq!(beat(&mut leader, &state, 1, 2900).lease, Err(NoLease::Superseded));
    assert_eq!(leader.verdicts(&state, 3001), [offline(2)], "the old run does not keep the new one alive");
}

/// The rule behind "two servers never believe to be in charge": a lease that is granted while a verdict is under way would
/// outlive it.
#[test]
fn no_lease_from_before_a_verdict_is_proposed_until_its_outcome_is_known() {
    let mut state = cluster();
    let mut leader = LeaderState::new(1, 0);
    let lease = |leader: &mut LeaderState, state: &ClusterState| beat(leader, state, 1, 100).lease.is_ok();
    assert!(lease(&mut leader, &state));
    let first = leader.begin(&state, &offline(1)).unwrap().unwrap();
    let second = leader.begin(&state, &offline(1)).unwrap().unwrap();
    leader.ended(first, true);
    assert!(!lease(&mut leader, &state), "the second one is under way still");
    leader.ended(second, false);
    assert!(!lease(&mut leader, &state), "it may still be decided");
    assert_eq!(leader.verdicts(&state, 200), [offline(1)], "and is proposed until its outcome is known");
    let third = leader.begin(&state, &offline(1)).unwrap().unwrap();
    state.apply(offline(1)).unwrap();
    leader.ended(third, true);
    let answer = beat(&mut leader, &state, 1, 300);
    assert_eq!((answer.lease, answer.look), (Err(NoLease::Offline), true), "called offline, and heard again");
    let online = Command::SetReachability { node: NODE, incarnation: 1, reachability: Reachability::Online };
    assert_eq!(leader.verdicts(&state, 300), std::slice::from_ref(&online));
    state.apply(online).unwrap();
    assert!(lease(&mut leader, &state), "the third settled the second, which was before it in the log");
}

#[test]
fn an_open_verdict_is_over_once_the_state_holds_it() {
    let mut state = cluster();
    let mut leader = LeaderState::new(1, 0);
    beat(&mut leader, &state, 1, 100);
    let left = leader.begin(&state, &offline(1)).unwrap().unwrap();
    leader.ended(left, false);
    state.apply(offline(1)).unwrap();
    assert_eq!(leader.begin(&state, &offline(1)), Ok(None), "nothing would change");
    beat(&mut leader, &state, 1, 150);
    let online = Command::SetReachability { node: NODE, incarnation: 1, reachability: Reachability::Online };
    assert_eq!(leader.verdicts(&state, 200), [online]);
}

#[test]
fn proposals_of_another_term_mean_nothing() {
    let state = cluster();
    let mut before = LeaderState::new(1, 0);
    let old = before.begin(&state, &offline(1)).unwrap().unwrap();
    let mut leader = LeaderState::new(2, 50);
    leader.begin(&state, &offline(1)).unwrap().unwrap();
    leader.ended(old, true);
    assert!(beat(&mut leader, &state, 1, 100).lease.is_err());
}

#[test]
fn what_changes_nothing_or_is_refused_is_not_proposed() {
    let state = cluster();
    let mut leader = LeaderState::new(1, 0);
    assert_eq!(leader.begin(&state, &Command::RegisterNode(register(Role::Storage, 1, 1))), Ok(None));
    assert!(leader.begin(&state, &Command::RemoveNode { node: NODE }).is_err(), "it is online");
    assert!(leader.begin(&state, &Command::RegisterNode(register(Role::Storage, 2, 1))).unwrap().is_some());
}

#[test]
fn a_death_is_proven_by_a_closed_connection_and_a_refused_probe_together() {
    let state = cluster();
    let mut leader = LeaderState::new(1, 0);
    beat(&mut leader, &state, 1, 100);
    assert!(!leader.refused(NODE, 1), "a packet filter refuses too");
    assert_eq!(leader.connection_closed(&state, 1234), None, "nobody's");
    let probe = leader.connection_closed(&state, 71).unwrap();
    assert_eq!((probe.node, probe.incarnation, probe.addresses.len()), (NODE, 1, 1));
    assert!(!leader.refused(NODE, 2), "another run");
    assert_eq!(leader.verdicts(&state, 110), []);
    assert!(leader.refused(NODE, 1));
    assert_eq!(leader.verdicts(&state, 110), [offline(1)]);
    beat(&mut leader, &state, 1, 120);
    assert!(!leader.may_be_dead(NODE, 1) && leader.verdicts(&state, 130).is_empty(), "heard over a new connection");
}

#[test]
fn the_silent_and_the_reported_are_probed_now_and_then() {
    let state = cluster();
    let mut leader = LeaderState::new(1, 0);
    beat(&mut leader, &state, 1, 1000);
    assert_eq!(leader.probe_silent(&state, 1625), []);
    assert_eq!(leader.probe_silent(&state, 1626).len(), 1);
    assert_eq!(leader.probe_silent(&state, 2125), []);
    assert_eq!(leader.probe_silent(&state, 2126).len(), 1);
    assert!(leader.reported(&state, NODE, 2130).is_some());
    assert!(leader.reported(&state, NODE, 2179).is_none());
    assert!(leader.reported(&state, NODE, 2180).is_some());
    let mut gone = state.clone();
    gone.apply(offline(1)).unwrap();
    assert!(leader.reported(&gone, NODE, 9000).is_none() && leader.probe_silent(&gone, 9000).is_empty());
}

#[test]
fn a_standstill_of_the_leader_is_held_against_nobody() {
    let state = cluster();
    let mut leader = LeaderState::new(1, 0);
    beat(&mut leader, &state, 1, 1000);
    let (pause_ms, mut short) = (LeaderState::look_every_ms(&state), leader.clone());
    assert_eq!(pause_ms, 100);
    short.woke(&state, pause_ms + LEASE / 6, 4001);
    assert_eq!(short.verdicts(&state, 4001), [offline(1)], "a little late is no standstill");
    leader.woke(&state, 3000, 4001);
    assert_eq!(leader.verdicts(&state, 4001), []);
}

#[test]
fn capacities_are_those_of_the_services_own_targets() {
    let state = cluster();
    let mut leader = LeaderState::new(1, 0);
    let capacity = Capacity { total_bytes: 1 << 50, free_bytes: 1, total_inodes: 1 << 40, free_inodes: 1 };
    let (mine, other) = (state.targets[0].id, TargetId(2));
    let capacities = [mine, other].map(|target| TargetCapacity::new(target, capacity)).to_vec();
    let beat = Heartbeat { node: NODE, incarnation: 1, map_version: MapVersion(0), capacities };
    leader.heartbeat(&state, &beat, 1, 0);
    assert_eq!(leader.capacities().keys().copied().collect::<Vec<_>>(), [mine]);
    assert!(matches!(leader.pools(&state), Some(Command::SetCapacityPools(moves)) if moves.len() == 1));
}

#[test]
fn a_new_leader_registers_itself_unless_it_was_removed_or_is_elsewhere() {
    let settings = Settings::default();
    let me = register(Role::Mgmt, 7, 1);
    let TakeOver::Propose(commands) = take_over(&ClusterState::default(), me.clone(), &settings) else { panic!() };
    let mut state = ClusterState::default();
    commands.into_iter().for_each(|command| drop(state.apply(command).unwrap()));
    assert!(matches!(take_over(&state, me.clone(), &settings), TakeOver::Propose(_)));
    assert_eq!(take_over(&state, register(Role::Mgmt, 8, 1), &settings), TakeOver::Removed);
    let stranger = RegisterNode { cluster: ClusterId([6; 16]), ..me };
    assert_eq!(take_over(&state, stranger, &settings), TakeOver::Foreign(CLUSTER));
}

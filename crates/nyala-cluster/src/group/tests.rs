// SPDX-License-Identifier: Apache-2.0

//! Groups, by what happens to them.

use crate::lease_ledger::{Grant, LeaseLedger};
use crate::{ClusterError, ClusterState, Command, MemberAt, NewTarget, RegisterNode, Trigger};
use nyala_wire::map::MemberState::{Bad, Good, NeedsResync, Resyncing};
use nyala_wire::map::{Group, MemberState, Reachability, Role, Settings, TargetKind};
use nyala_wire::{ClusterId, GroupId, MapVersion, NodeId, TargetId};

const A: TargetId = TargetId(101);
const B: TargetId = TargetId(102);
const C: TargetId = TargetId(103);

fn register(state: &mut ClusterState, n: u8, incarnation: u64) {
    register_after(state, n, incarnation, 0);
}

/// After so many losses of power.
fn register_after(state: &mut ClusterState, n: u8, incarnation: u64, losses: u32) {
    let (uuid, kind) = (ClusterId([10 + n; 16]), TargetKind::Storage);
    let target = NewTarget { uuid, id: TargetId(0), alias: String::new(), kind, losses, spare: false };
    let register = RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role: Role::Storage,
        uuid: ClusterId([n; 16]),
        alias: String::new(),
        addresses: vec![([10, 0, 0, n], 8003).into()],
        incarnation,
        targets: vec![target],
    };
    state.apply(Command::RegisterNode(register)).unwrap();
}

/// Nodes 1 to `members` with one target each, all in group 1.
fn grouped(members: u8) -> ClusterState {
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: ClusterId([9; 16]), settings: Settings::default() }).unwrap();
    (1..=members).for_each(|n| register(&mut state, n, 1));
    let members = (0..u16::from(members)).map(|n| TargetId(101 + n)).collect();
    state.apply(Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members }).unwrap();
    state
}

fn group(state: &ClusterState) -> &Group {
    state.group(GroupId(1)).unwrap()
}

fn down(state: &mut ClusterState, node: u32) {
    let incarnation = state.node(NodeId(node)).unwrap().incarnation;
    let reachability = Reachability::Offline;
    state.apply(Command::SetReachability { node: NodeId(node), incarnation, reachability }).unwrap();
}

fn at(state: &ClusterState, target: TargetId) -> MemberAt {
    MemberAt { group: GroupId(1), epoch: group(state).epoch, target }
}

fn members(state: &ClusterState) -> Vec<(TargetId, MemberState)> {
    group(state).members_with_states().collect()
}

fn mark(state: &mut ClusterState, target: TargetId) -> Result<(), ClusterError> {
    let (member, by) = (at(state, target), group(state).primary().unwrap());
    state.apply(Command::MarkNeedsResync { member, by }).map(|_| ())
}

fn resync(state: &mut ClusterState, target: TargetId) {
    state.apply(Command::StartResync(at(state, target))).unwrap();
    state.apply(Command::MemberResynced(at(state, target))).unwrap();
}

#[test]
fn a_lost_primary_is_replaced_in_the_same_entry() {
    let mut state = grouped(2);
    let version = state.version.0;
    down(&mut state, 1);
    assert_eq!(members(&state), [(B, Good), (A, NeedsResync)]);
    assert_eq!((group(&state).epoch, group(&state).term, state.version.0), (2, 2, version + 1));
    assert_eq!(group(&state).since, state.version);
    assert!(group(&state).is_settled(), "a lease that has ended needs no fencing");
    register(&mut state, 1, 2);
    assert_eq!(members(&state), [(B, Good), (A, NeedsResync)], "it comes back, not as primary");
    resync(&mut state, A);
    assert_eq!(members(&state), [(B, Good), (A, Good)]);
    assert_eq!((group(&state).epoch, group(&state).term), (4, 2));
}

#[test]
fn a_restart_before_anybody_noticed_is_a_loss_too() {
    let mut state = grouped(2);
    register(&mut state, 1, 2);
    assert_eq!(members(&state), [(B, Good), (A, NeedsResync)]);
    register(&mut state, 2, 2);
    assert_eq!(members(&state)[0], (B, Good), "the last good one stays");
    assert_eq!((group(&state).epoch, group(&state).term), (3, 3), "but begins a new term");
}

#[test]
fn only_the_last_good_one_may_return_as_primary() {
    let mut state = grouped(2);
    down(&mut state, 2);
    down(&mut state, 1);
    assert_eq!(members(&state), [(A, Good), (B, NeedsResync)]);
    assert_eq!(state.group_waits_for(group(&state)), Some(A));
    register(&mut state, 2, 2);
    assert_eq!(members(&state), [(A, Good), (B, NeedsResync)], "the wrong one is back");
    assert_eq!(state.group_waits_for(group(&state)), Some(A));
    // An operator's explicit word.
    let word = |target, trigger| Command::SetConsistency { target, trigger };
    assert!(state.clone().apply(word(A, Trigger::DeclaredStale)).is_err(), "A is the only copy");
    state.apply(word(B, Trigger::DeclaredGood)).unwrap();
    assert_eq!(members(&state), [(B, Good), (A, NeedsResync)]);
    assert_eq!(state.group_waits_for(group(&state)), None);
    register(&mut state, 1, 2);
    assert!(state.apply(word(A, Trigger::DeclaredGood)).is_err(), "there is a good one to resync from");
    state.apply(word(A, Trigger::DeclaredBad)).unwrap();
    assert_eq!(members(&state), [(B, Good), (A, Bad)]);
}

#[test]
fn a_member_that_lost_its_right_has_to_know() {
    let mut state = grouped(2);
    let mut ledger = LeaseLedger::default();
    let beat =
        |ledger: &mut LeaseLedger, state: &ClusterState, has| ledger.heartbeat(state, NodeId(2), 1, MapVersion(has));
    mark(&mut state, B).unwrap();
    assert_eq!((members(&state)[1], &group(&state).fencing[..]), ((B, NeedsResync), &[B][..]));
    beat(&mut ledger, &state, state.version.0 - 1);
    assert_eq!(ledger.due(&state), []);
    beat(&mut ledger, &state, state.version.0);
    let due = ledger.due(&state);
    assert_eq!(due, [Command::Fenced(at(&state, B))]);
    let epoch = group(&state).epoch;
    due.into_iter().for_each(|command| assert_eq!(state.apply(command).unwrap().len(), 1));
    assert!(group(&state).is_settled() && group(&state).epoch == epoch);
    // Or its lease ends.
    resync(&mut state, B);
    mark(&mut state, B).unwrap();
    down(&mut state, 2);
    assert!(group(&state).is_settled());
}

#[test]
fn the_condemned_get_no_lease() {
    let state = grouped(2);
    let mut ledger = LeaseLedger::default();
    let lease = Some(Grant { lease_ms: state.settings.lease_ms, map_version: state.version });
    assert_eq!(ledger.heartbeat(&state, NodeId(1), 1, MapVersion(1)), lease);
    assert_eq!(ledger.heartbeat(&state, NodeId(1), 2, MapVersion(1)), None, "another run");
    ledger.condemn(7, NodeId(1), 1);
    assert_eq!(ledger.heartbeat(&state, NodeId(1), 1, MapVersion(1)), None);
    ledger.resolve(7);
    assert_eq!(ledger.heartbeat(&state, NodeId(1), 1, MapVersion(1)), lease);
    let mut after = state.clone();
    down(&mut after, 1);
    assert_eq!(ledger.heartbeat(&after, NodeId(1), 1, MapVersion(1)), None, "down until it is heard");
}

#[test]
fn old_epochs_strangers_and_the_only_copy_are_refused() {
    let mut state = grouped(3);
    let early = at(&state, C);
    let mark_by = |state: &mut ClusterState, member, by| state.apply(Command::MarkNeedsResync { member, by });
    assert!(mark_by(&mut state, early, B).is_err(), "only the primary may");
    mark(&mut state, B).unwrap();
    let wrong = ClusterError::WrongEpoch { group: GroupId(1), named: 1, current: 2 };
    assert_eq!(mark_by(&mut state, early, A), Err(wrong.clone()));
    let early_b = MemberAt { target: B, ..early };
    assert_eq!(state.apply(Command::StartResync(early_b)), Err(wrong.clone()));
    state.apply(Command::StartResync(at(&state, B))).unwrap();
    let wrong = ClusterError::WrongEpoch { group: GroupId(1), named: 2, current: 3 };
    let second = MemberAt { epoch: 2, ..early_b };
    assert_eq!(state.apply(Command::MemberResynced(second)), Err(wrong), "a resync of another epoch");
    mark(&mut state, C).unwrap();
    assert!(mark(&mut state, A).is_err(), "nobody else is good");
    assert!(state.apply(Command::MemberResynced(at(&state, C))).is_err(), "no resync runs");
}

#[test]
fn a_new_term_voids_resyncs_and_a_switch_fences_the_old_primary() {
    let mut state = grouped(3);
    mark(&mut state, C).unwrap();
    state.apply(Command::StartResync(at(&state, C))).unwrap();
    assert_eq!(members(&state)[2], (C, Resyncing));
    state.apply(Command::Failover(at(&state, B))).unwrap();
    assert_eq!(members(&state), [(B, Good), (A, Good), (C, NeedsResync)]);
    assert_eq!(group(&state).fencing, [C, A], "both lost a right and are online");
    assert!(state.apply(Command::Failover(at(&state, C))).is_err(), "not good");
    mark(&mut state, B).unwrap();
    assert_eq!(members(&state), [(A, Good), (B, NeedsResync), (C, NeedsResync)], "a primary may step down");
}

#[test]
fn groups_are_made_of_good_free_targets_and_ids_are_not_given_twice() {
    let mut state = grouped(2);
    register(&mut state, 3, 1);
    register(&mut state, 4, 1);
    let create = |group, members: &[TargetId]| Command::CreateGroup {
        group: GroupId(group),
        kind: TargetKind::Storage,
        members: members.to_vec(),
    };
    assert_eq!(state.apply(create(0, &[B, A])), Ok(vec![]), "it is there");
    let d = TargetId(104);
    for (group, bad) in [(0, vec![C]), (0, vec![C, C]), (0, vec![A, C]), (0, vec![C, TargetId(9)]), (1, vec![C, d])] {
        assert!(state.apply(create(group, &bad)).is_err(), "{bad:?}");
    }
    assert!(state.apply(Command::RemoveGroup { group: GroupId(1), content_gone: false }).is_err());
    state.apply(Command::RemoveGroup { group: GroupId(1), content_gone: true }).unwrap();
    state.apply(create(0, &[A, C])).unwrap();
    assert_eq!(state.groups[0].id, GroupId(2));
    state.apply(Command::StopResync { group: GroupId(2), stopped: true }).unwrap();
    assert!(state.map().groups[0].resync_stopped);
}

#[test]
fn members_are_added_and_get_everything() {
    let mut state = grouped(2);
    register(&mut state, 3, 1);
    let add = |target| Command::AddMember { group: GroupId(1), target };
    let epoch = group(&state).epoch;
    state.apply(add(C)).unwrap();
    assert_eq!((members(&state), group(&state).epoch), (vec![(A, Good), (B, Good), (C, NeedsResync)], epoch + 1));
    assert_eq!(group(&state).full, [C]);
    assert_eq!(state.apply(add(C)), Ok(vec![]), "idempotent");
    assert!(state.apply(add(TargetId(200))).is_err());
    // Nothing but a whole resync, or an operator's word, takes it off the list.
    state.apply(Command::StartResync(at(&state, C))).unwrap();
    down(&mut state, 3);
    register(&mut state, 3, 2);
    assert_eq!((members(&state)[2], &group(&state).full[..]), ((C, NeedsResync), &[C][..]));
    resync(&mut state, C);
    assert_eq!((members(&state)[2], &group(&state).full[..]), ((C, Good), &[][..]));
    // What holds nonsense gets everything as well.
    state.apply(Command::SetConsistency { target: C, trigger: Trigger::DeclaredBad }).unwrap();
    state.apply(Command::SetConsistency { target: C, trigger: Trigger::DeclaredStale }).unwrap();
    assert_eq!((members(&state)[2], &group(&state).full[..]), ((C, NeedsResync), &[C][..]));
    down(&mut state, 1);
    down(&mut state, 2);
    assert_eq!(members(&state)[0].1, Good, "the last good one, which is away");
}

#[test]
fn a_member_leaves_only_without_rights_and_never_the_last_good_one() {
    let mut state = grouped(2);
    let leave = |target| Command::RemoveMember { group: GroupId(1), target };
    assert!(matches!(state.apply(leave(B)), Err(ClusterError::InUse { .. })), "it may serve reads");
    mark(&mut state, B).unwrap();
    assert!(matches!(state.apply(leave(B)), Err(ClusterError::InUse { .. })), "it may not know it yet");
    assert!(matches!(state.apply(leave(A)), Err(ClusterError::InUse { .. })), "the last good one");
    down(&mut state, 2);
    let epoch = group(&state).epoch;
    state.apply(leave(B)).unwrap();
    assert_eq!((members(&state), group(&state).epoch), (vec![(A, Good)], epoch + 1));
    assert_eq!(state.apply(leave(B)), Ok(vec![]), "idempotent");
    // Its place is another one's; the target can go for good.
    register(&mut state, 3, 1);
    state.apply(Command::AddMember { group: GroupId(1), target: C }).unwrap();
    state.apply(Command::RemoveTarget { target: B, content_gone: true }).unwrap();
    resync(&mut state, C);
    assert_eq!(members(&state), [(A, Good), (C, Good)]);
    down(&mut state, 1);
    assert_eq!(members(&state)[0], (C, Good));
}

#[test]
fn what_the_last_good_member_lost_is_lost_and_what_another_one_lost_is_not() {
    let mut state = grouped(2);
    // Alone: the other one goes on, and gives it what it lost.
    down(&mut state, 1);
    register_after(&mut state, 1, 2, 1);
    resync(&mut state, A);
    assert_eq!((members(&state), group(&state).losses), (vec![(B, Good), (A, Good)], 0));
    // Both, one after the other, as management hears of it; A was the last good one.
    down(&mut state, 2);
    down(&mut state, 1);
    register_after(&mut state, 2, 2, 1);
    assert_eq!(group(&state).losses, 0, "it needs resync");
    register_after(&mut state, 1, 3, 2);
    assert_eq!((members(&state)[0], group(&state).losses), ((A, Good), 1));
    resync(&mut state, B);
    // Both so fast that management hears only of their next runs.
    register_after(&mut state, 1, 4, 3);
    assert_eq!((members(&state)[0], group(&state).losses), ((B, Good), 1));
    register_after(&mut state, 2, 3, 2);
    assert_eq!((members(&state)[0], group(&state).losses), ((B, Good), 2));
    // Another process that has all of it.
    register_after(&mut state, 2, 4, 2);
    assert_eq!(group(&state).losses, 2);
    // Another one is declared good, whatever the last good one had.
    down(&mut state, 2);
    state.apply(Command::SetConsistency { target: A, trigger: Trigger::DeclaredGood }).unwrap();
    assert_eq!((members(&state)[0], group(&state).losses), ((A, Good), 3));
}

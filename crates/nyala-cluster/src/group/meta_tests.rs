// SPDX-License-Identifier: Apache-2.0

//! Mirror groups of metadata targets: a server that has served for long, and spares that have nothing.

use super::plan::{GroupRequest, plan_groups};
use crate::{ClusterState, Command, Event, MemberAt, NewTarget, RegisterNode};
use nyala_wire::map::MemberState::{Good, NeedsResync};
use nyala_wire::map::{Group, Reachability, Role, Settings, TargetKind};
use nyala_wire::{ClusterId, GroupId, NodeId, TargetId};
use std::collections::BTreeMap;

const SERVER: TargetId = TargetId(1);
const OTHER: TargetId = TargetId(2);
const SPARE: TargetId = TargetId(3);
const FAR: TargetId = TargetId(4);
const REQUEST: GroupRequest =
    GroupRequest { kind: TargetKind::Meta, members: 2, ignore_space: true, ignore_uneven: false };

fn register(state: &mut ClusterState, node: u8, incarnation: u64, target: TargetId, spare: bool) {
    let uuid = ClusterId([100 + target.0 as u8; 16]);
    let new = NewTarget { uuid, id: target, alias: String::new(), kind: TargetKind::Meta, losses: 0, spare };
    let register = RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role: Role::Meta,
        uuid: ClusterId([node; 16]),
        alias: String::new(),
        addresses: vec![([10, 0, 0, node], 8005).into()],
        incarnation,
        targets: vec![new],
    };
    state.apply(Command::RegisterNode(register)).unwrap();
}

/// Two servers and two spares, each on a node of its own, numbered like it.
fn cluster() -> ClusterState {
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: ClusterId([9; 16]), settings: Settings::default() }).unwrap();
    register(&mut state, 1, 1, SERVER, false);
    register(&mut state, 2, 1, OTHER, false);
    register(&mut state, 3, 1, SPARE, true);
    register(&mut state, 4, 1, FAR, true);
    state
}

fn create(state: &mut ClusterState, members: &[TargetId]) -> Result<Vec<Event>, String> {
    let create = Command::CreateGroup { group: GroupId(0), kind: TargetKind::Meta, members: members.to_vec() };
    state.apply(create).map_err(|error| error.to_string())
}

fn group(state: &ClusterState) -> &Group {
    state.group(GroupId(1)).unwrap()
}

fn offline(state: &mut ClusterState, node: u32) {
    let reachability = Reachability::Offline;
    state.apply(Command::SetReachability { node: NodeId(node), incarnation: 1, reachability }).unwrap();
}

fn resync(state: &mut ClusterState, target: TargetId) {
    for step in [Command::StartResync, Command::MemberResynced] {
        let member = MemberAt { group: GroupId(1), epoch: group(state).epoch, target };
        state.apply(step(member)).unwrap();
    }
}

#[test]
fn only_the_server_has_anything_to_begin_with() {
    let mut state = cluster();
    create(&mut state, &[SPARE, SERVER]).unwrap();
    let group = group(&state);
    assert_eq!((group.serves, group.primary()), (Some(SERVER), Some(SERVER)));
    assert_eq!(group.members_with_states().collect::<Vec<_>>(), [(SERVER, Good), (SPARE, NeedsResync)]);
    assert_eq!(group.full, [SPARE]);
    let map = state.map();
    assert_eq!((map.server_on(SERVER), map.server_on(SPARE), map.server_on(OTHER)), (Some(SERVER), None, Some(OTHER)));
}

#[test]
fn a_group_mirrors_one_server() {
    let mut state = cluster();
    assert!(create(&mut state, &[SERVER, OTHER]).unwrap_err().contains("both serve names of their own"));
    assert!(create(&mut state, &[SPARE, FAR]).unwrap_err().contains("none of these metadata targets serves names"));
    create(&mut state, &[SERVER, SPARE]).unwrap();
    let add = |target| Command::AddMember { group: GroupId(1), target };
    assert!(state.apply(add(OTHER)).unwrap_err().to_string().contains("serves names of its own"));
    state.apply(add(FAR)).unwrap();
    assert_eq!(group(&state).full, [SPARE, FAR]);
}

/// While a spare works for it, the server's own target is behind: the group may not go.
#[test]
fn a_group_goes_only_when_the_server_works_on_its_own_target() {
    let mut state = cluster();
    create(&mut state, &[SERVER, SPARE]).unwrap();
    let remove = Command::RemoveGroup { group: GroupId(1), content_gone: true };
    resync(&mut state, SPARE);
    offline(&mut state, 1);
    assert_eq!(group(&state).primary(), Some(SPARE));
    assert_eq!(state.map().server_on(SPARE), Some(SERVER), "under the name that clients know");
    let refused = state.apply(remove.clone()).unwrap_err().to_string();
    assert!(refused.contains("does not work on its own target"), "{refused}");
    register(&mut state, 1, 2, SERVER, false);
    assert!(state.apply(remove.clone()).is_err(), "it is back, and behind");
    resync(&mut state, SERVER);
    offline(&mut state, 3);
    assert_eq!(group(&state).primary(), Some(SERVER));
    state.apply(remove).unwrap();
    assert_eq!(state.map().server_on(SERVER), Some(SERVER));
}

#[test]
fn each_server_gets_spares_on_other_nodes() {
    let state = cluster();
    let sizes = BTreeMap::from([(SERVER, 100), (OTHER, 500), (SPARE, 500), (FAR, 100)]);
    let groups = plan_groups(&state, &GroupRequest { ignore_space: false, ..REQUEST }, &sizes).unwrap();
    assert_eq!(groups, [[SERVER, FAR], [OTHER, SPARE]], "those of its size");
    let three = GroupRequest { members: 3, ..REQUEST };
    let refused = plan_groups(&state, &three, &sizes).unwrap_err().to_string();
    assert!(refused.contains("metadata server 2 finds only 0 of 2 spare targets"), "{refused}");
    let some = plan_groups(&state, &GroupRequest { ignore_uneven: true, ..three }, &sizes).unwrap();
    assert_eq!(some, [[SERVER, FAR, SPARE]]);
}

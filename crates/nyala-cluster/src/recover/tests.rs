// SPDX-License-Identifier: Apache-2.0

//! What one management node goes on with.

use super::*;
use crate::{Command, NewTarget, RegisterNode};
use nyala_wire::map::{Settings, TargetKind};
use nyala_wire::{GroupId, MapVersion, TargetId};

fn uuid(n: u8) -> ClusterId {
    ClusterId([n; 16])
}

fn service(role: Role, n: u8, kind: TargetKind, targets: &[u8]) -> Command {
    let target =
        |n: &u8| NewTarget { uuid: uuid(*n), id: TargetId(0), alias: String::new(), kind, losses: 0, spare: false };
    Command::RegisterNode(RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role,
        uuid: uuid(n),
        alias: String::new(),
        addresses: vec![([10, 0, 0, n], 8008).into()],
        incarnation: 1,
        targets: targets.iter().map(target).collect(),
    })
}

/// Three management nodes, a metadata server, and two storage servers that mirror each other.
fn state() -> ClusterState {
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: uuid(9), settings: Settings::default() }).unwrap();
    for n in 1..=3 {
        state.apply(service(Role::Mgmt, n, TargetKind::Meta, &[])).unwrap();
    }
    state.apply(service(Role::Meta, 4, TargetKind::Meta, &[40])).unwrap();
    state.apply(service(Role::Storage, 5, TargetKind::Storage, &[50])).unwrap();
    state.apply(service(Role::Storage, 6, TargetKind::Storage, &[60])).unwrap();
    let members = vec![TargetId(101), TargetId(102)];
    state.apply(Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members }).unwrap();
    state
}

fn order() -> AuditRecord {
    AuditRecord { key: "root".into(), what: "mgmt recover".into(), ..AuditRecord::default() }
}

#[test]
fn one_node_keeps_everything_and_every_number_goes_on_higher() {
    let before = state();
    let after = recovered(&before, uuid(2), 77, order()).unwrap();
    let mgmt: Vec<u32> = after.nodes.iter().filter(|n| n.role == Role::Mgmt).map(|n| n.id.0).collect();
    assert_eq!(mgmt, [2], "the only one");
    assert_eq!((&after.targets, &after.slots, &after.pools), (&before.targets, &before.slots, &before.pools));
    assert_eq!(after.nodes.len(), before.nodes.len() - 2);
    assert_eq!((before.version.recoveries(), after.version.recoveries(), after.recovery), (0, 1, 77));
    assert!(after.last_node > before.last_node && after.last_group > before.last_group);
    assert!(after.last_pool > before.last_pool && after.last_range > before.last_range);
    assert!(after.last_move > before.last_move && after.last_order > before.last_order);
    let (old, new) = (&before.groups[0], &after.groups[0]);
    assert!(new.epoch > old.epoch && new.term == new.epoch && new.since == after.version, "{new:?}");
    assert_eq!((&new.members, &new.states), (&old.members, &old.states));
    let noted = after.orders.last().unwrap();
    assert_eq!((noted.what.as_str(), noted.outcome.as_deref()), ("mgmt recover", Some("done")));
    // Again, years later.
    let again = recovered(&after, uuid(2), 78, order()).unwrap();
    assert_eq!((again.version.recoveries(), again.nodes.len()), (2, after.nodes.len()));
    assert_eq!(ClusterState::decode(&again.encode()), Ok(again), "it can be written down");
}

#[test]
fn the_lost_nodes_never_register_again_and_new_ones_get_new_numbers() {
    let mut after = recovered(&state(), uuid(2), 77, order()).unwrap();
    let back = after.apply(service(Role::Mgmt, 3, TargetKind::Meta, &[]));
    assert!(matches!(back, Err(ClusterError::WasRemoved { .. })), "{back:?}");
    // On the same machine, with a directory of its own.
    let Command::RegisterNode(mut new) = service(Role::Mgmt, 3, TargetKind::Meta, &[]) else { panic!() };
    new.uuid = uuid(33);
    after.apply(Command::RegisterNode(new.clone())).unwrap();
    assert!(after.ids_of(&new).unwrap().0.0 > 1000);
}

#[test]
fn what_cannot_be_recovered_is_refused() {
    let refused = |state: &ClusterState, uuid, recovery| recovered(state, uuid, recovery, order()).unwrap_err();
    assert_eq!(refused(&ClusterState::default(), uuid(1), 77), ClusterError::NotInitialised);
    assert!(refused(&state(), uuid(4), 77).to_string().contains("no management node"), "a metadata server's");
    assert!(refused(&state(), uuid(8), 77).to_string().contains("no management node"));
    assert!(refused(&state(), uuid(2), 0).to_string().contains("random"));
    let last = ClusterState { version: MapVersion(u64::MAX), ..state() };
    assert!(matches!(refused(&last, uuid(2), 77), ClusterError::Exhausted { .. }));
}

#[test]
fn numbers_never_reach_their_end() {
    assert_eq!((ahead(5, 10, 1000), ahead(998, 10, 1000), ahead(1000, 10, 1000)), (15, 999, 1000));
}

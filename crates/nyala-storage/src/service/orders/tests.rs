// SPDX-License-Identifier: Apache-2.0

//! Orders of metadata servers that work elsewhere by now.

use super::*;
use nyala_wire::map::{
    CapacityPool, Consistency, Group, MemberState, Node, Reachability, Role as NodeRole, SlotRange, Target, TargetKind,
};
use nyala_wire::{GroupId, PoolId, Slot, TargetId};

const SERVER: TargetId = TargetId(1);
const OTHER: TargetId = TargetId(2);
const INODE: InodeId = InodeId(5 << 48 | 9);

/// A map in which the server is mirrored on two targets, each on the node of its number, and works on the first of `members`.
fn map(version: u64, members: [TargetId; 2], since: u64) -> ClusterMap {
    let node = |target: TargetId| Node {
        id: NodeId(target.0.into()),
        alias: target.to_string(),
        role: NodeRole::Meta,
        addresses: Vec::new(),
        reachability: Reachability::Online,
    };
    let target = |id: TargetId| Target {
        id,
        alias: id.to_string(),
        kind: TargetKind::Meta,
        node: NodeId(id.0.into()),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let group = Group {
        id: GroupId(1),
        kind: TargetKind::Meta,
        epoch: since as u32,
        members: members.to_vec(),
        states: vec![MemberState::Good; 2],
        term: since as u32,
        since: MapVersion(since),
        fencing: Vec::new(),
        resync_stopped: false,
        losses: 0,
        serves: Some(SERVER),
        full: Vec::new(),
    };
    ClusterMap {
        version: MapVersion(version),
        nodes: [SERVER, OTHER].map(node).to_vec(),
        targets: [SERVER, OTHER].map(target).to_vec(),
        groups: vec![group],
        slots: vec![SlotRange { first: Slot(0), count: 100, target: SERVER }],
        ..ClusterMap::default()
    }
}

fn by(role: Role, node: u32, map: u64) -> Orderer {
    Orderer { role, node: NodeId(node), map: MapVersion(map) }
}

#[test]
fn only_who_leads_now_may_order() {
    let before = map(4, [SERVER, OTHER], 3);
    let may = |map: &ClusterMap, by| may_order(map, by, INODE).is_ok();
    assert!(may(&before, by(Role::Meta, 1, 3)) && may(&before, by(Role::Meta, 1, 4)));
    assert!(!may(&before, by(Role::Meta, 1, 2)), "in that map it may have been another run");
    assert!(!may(&before, by(Role::Meta, 2, 4)), "a member that does not lead");
    let after = map(7, [OTHER, SERVER], 7);
    assert!(may(&after, by(Role::Meta, 2, 7)));
    assert!(!may(&after, by(Role::Meta, 1, 4)) && !may(&after, by(Role::Meta, 1, 7)));
    // Passed on by another storage service.
    assert!(may(&after, by(Role::Storage, 11, 7)) && !may(&after, by(Role::Storage, 11, 4)));
    let again = map(9, [SERVER, OTHER], 9);
    assert!(may(&again, by(Role::Meta, 1, 9)) && !may(&again, by(Role::Meta, 1, 4)), "of its first time");
}

#[test]
fn a_server_alone_is_known_by_its_node() {
    let alone = ClusterMap { groups: Vec::new(), ..map(9, [SERVER, OTHER], 3) };
    let may = |by, inode| may_order(&alone, by, inode).is_ok();
    assert!(may(by(Role::Meta, 1, 0), INODE) && !may(by(Role::Meta, 2, 9), INODE), "the group that it led is gone");
    assert!(may(by(Role::Meta, 2, 9), InodeId(200 << 48 | 9)), "nobody's slot");
}

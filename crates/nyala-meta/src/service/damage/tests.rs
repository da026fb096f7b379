// SPDX-License-Identifier: Apache-2.0

//! Who gives way, and whose tables may go.

use super::*;
use MemberState::{Bad, Good, NeedsResync, Resyncing};
use nyala_wire::map::{CapacityPool, Consistency, Target};
use nyala_wire::{GroupId, MapVersion, NodeId, PoolId};

/// A group of targets 1, 2, …, of which some are not online.
fn map(states: &[MemberState], offline: &[u16]) -> ClusterMap {
    let members: Vec<TargetId> = (1..=states.len() as u16).map(TargetId).collect();
    let target = |id: &TargetId| Target {
        id: *id,
        node: NodeId(u32::from(id.0)),
        alias: String::new(),
        kind: TargetKind::Meta,
        reachability: if offline.contains(&id.0) { Reachability::Offline } else { Reachability::Online },
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
        pool: PoolId(1),
    };
    let targets = members.iter().map(target).collect();
    let group = Group {
        id: GroupId(1),
        kind: TargetKind::Meta,
        epoch: 1,
        members,
        states: states.to_vec(),
        term: 1,
        since: MapVersion(1),
        fencing: Vec::new(),
        resync_stopped: false,
        losses: 0,
        serves: Some(TargetId(1)),
        full: Vec::new(),
    };
    ClusterMap { targets, groups: vec![group], ..Default::default() }
}

#[test]
fn who_gives_way_has_another_good_member_in_reach() {
    let me = TargetId(1);
    assert!(is_replaceable(&map(&[Good, Good], &[]), me) && is_replaceable(&map(&[NeedsResync, Good], &[]), me));
    assert!(is_replaceable(&map(&[Good, Good, Good], &[2]), me));
    assert!(!is_replaceable(&map(&[Good, Good], &[2]), me), "nobody would serve");
    assert!(!is_replaceable(&map(&[Good, Resyncing, Bad], &[]), me), "only this one has everything");
    assert!(!is_replaceable(&ClusterMap::default(), me), "not mirrored");
}

#[test]
fn who_is_emptied_is_not_good_and_somebody_else_is() {
    let me = TargetId(1);
    for state in [NeedsResync, Resyncing, Bad] {
        assert!(may_be_emptied(&map(&[state, Good], &[]), me));
        assert!(may_be_emptied(&map(&[state, Good], &[2]), me), "it comes back with everything");
        assert!(!may_be_emptied(&map(&[state, state], &[]), me), "it may be the one that an operator takes");
    }
    assert!(!may_be_emptied(&map(&[Good, Good], &[]), me), "not before management goes on without it");
    assert!(!may_be_emptied(&ClusterMap::default(), me));
}

// SPDX-License-Identifier: Apache-2.0

//! A mirrored metadata server that was replaced, and does not know it, cuts nothing that clients have written since.

use crate::common::{Cluster, client};
use nyala_transport::{Connection, Request, Role};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Group, MemberState, Node, Reachability, Role as NodeRole, SlotRange, Target,
    TargetKind,
};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageReply, StorageRequest};
use nyala_wire::{
    ErrorCode, GroupId, InodeId, MapVersion, NodeId, PoolId, Slot, TargetId, WireError, codec, message_type,
};
use std::time::Duration;

const STORAGE: TargetId = TargetId(11);
const FIRST: TargetId = TargetId(1);
const SECOND: TargetId = TargetId(2);
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 0 };

/// The metadata server works on the first of these, from this map version on.
fn works_on(cluster: &Cluster, version: u64, members: [TargetId; 2]) {
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
        epoch: version as u32,
        members: members.to_vec(),
        states: vec![MemberState::Good; 2],
        term: version as u32,
        since: MapVersion(version),
        fencing: Vec::new(),
        resync_stopped: false,
        losses: 0,
        serves: Some(FIRST),
        full: Vec::new(),
    };
    *cluster.knobs.map.lock().unwrap() = ClusterMap {
        version: MapVersion(version),
        nodes: [FIRST, SECOND].map(node).to_vec(),
        targets: [FIRST, SECOND].map(target).to_vec(),
        groups: vec![group],
        slots: vec![SlotRange { first: Slot(0), count: 100, target: FIRST }],
        ..ClusterMap::default()
    };
}

async fn order(to: &Connection, map: u64, op: StorageOp) -> Result<StorageReply, ErrorCode> {
    let body = codec::encode(&StorageRequest::new(STORAGE, FILE, op));
    let frame = to.call(Request::new(message_type::STORAGE, body).at(map, 0)).await.unwrap();
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(codec::decode(&frame.body).unwrap()),
    }
}

async fn cut(to: &Connection, map: u64) -> Result<(), ErrorCode> {
    order(to, map, StorageOp::Truncate { len: 0 }).await.map(drop)
}

/// Asks again while it is not let in.
async fn cut_in_the_end(to: &Connection, map: u64) {
    for _ in 0..500 {
        match cut(to, map).await {
            // sleeps: between two tries
            Err(ErrorCode::NOT_READY) => tokio::time::sleep(Duration::from_millis(10)).await,
            decided => return decided.unwrap(),
        }
    }
    panic!("it is never let in");
}

#[test]
fn a_late_cut_of_a_metadata_server_that_was_replaced_is_refused() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    works_on(&cluster, 3, [FIRST, SECOND]);
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let first = cluster.connect_from(&storage, Role::Meta, NodeId(1)).await;
        let second = cluster.connect_from(&storage, Role::Meta, NodeId(2)).await;
        cut_in_the_end(&first, 3).await;
        assert_eq!(cut(&first, 2).await, Err(ErrorCode::NOT_READY), "under a map of an older epoch");
        assert_eq!(cut(&second, 3).await, Err(ErrorCode::NOT_READY), "it does not lead");
        works_on(&cluster, 5, [SECOND, FIRST]);
        // What storage does not know yet it learns before it does anything.
        cut_in_the_end(&second, 5).await;
        // Written since.
        let reader = cluster.connect(&storage).await;
        order(&second, 5, StorageOp::Allocate { offset: 0, len: 4096 }).await.unwrap();
        let blocks = async || match order(&reader, 5, StorageOp::Stat).await {
            Ok(StorageReply::Stat { blocks, .. }) => blocks,
            other => panic!("{other:?}"),
        };
        assert!(blocks().await > 0);
        let passes_on = cluster.connect_from(&storage, Role::Storage, NodeId(12)).await;
        for late in [cut(&first, 3).await, cut(&first, 5).await, cut(&passes_on, 3).await] {
            assert_eq!(late, Err(ErrorCode::NOT_READY));
        }
        assert!(blocks().await > 0, "nothing was cut");
        cut(&passes_on, 5).await.unwrap();
    });
    storage.stop().unwrap();
}

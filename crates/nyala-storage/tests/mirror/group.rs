// SPDX-License-Identifier: Apache-2.0

//! A mirror group of two storage services that run in this process; management is the test.

use crate::common::{CLUSTER, Cluster, Storage, client};
use bytes::Bytes;
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_transport::{Connection, Request, Role};
use nyala_wire::checksum::crc32c;
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Group, MemberState, Node, Reachability, Role as NodeRole, Target, TargetKind,
};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest, WriteHeader, encode_bulk};
use nyala_wire::{
    ErrorCode, GroupId, InodeId, MapVersion, NodeId, PoolId, SessionId, TargetId, WireError, codec, message_type,
};
use std::time::Duration;

pub const A: TargetId = TargetId(11);
pub const B: TargetId = TargetId(12);
pub const GROUP: GroupId = GroupId(5);
pub const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 0 };

pub fn config(cluster: &Cluster, target: TargetId) -> StorageConfig {
    let mut config = cluster.config(&target.to_string());
    config.targets = vec![TargetSpec { id: Some(target), ..config.targets.remove(0) }];
    config
}

/// Two services, both members good; A leads, and has written something of session 1.
pub fn both_good() -> (Cluster, Storage, Storage) {
    both_limited(None)
}

/// The same, with targets that hold so many bytes.
pub fn both_limited(limit_bytes: Option<u64>) -> (Cluster, Storage, Storage) {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let start = |target| {
        let mut config = config(&cluster, target);
        config.targets[0].limit_bytes = limit_bytes;
        cluster.storage(config)
    };
    let (a, b) = (start(A), start(B));
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::Good, Some(&b))], true);
    client(async {
        let to = cluster.connect(&a).await;
        until("A leads", async || write(&cluster, &to, 1, 1).await.is_ok()).await;
    });
    (cluster, a, b)
}

/// A map with the group in it; who is offline has no address.
pub fn set_map(cluster: &Cluster, members: &[(TargetId, MemberState, Option<&Storage>)], new_term: bool) {
    let mut map = cluster.knobs.map.lock().unwrap();
    let version = MapVersion(map.version.0.max(1) + 1);
    let (epoch, term) = map.groups.first().map_or((1, 1), |group| (group.epoch + 1, group.term));
    let group = Group {
        id: GROUP,
        kind: TargetKind::Storage,
        epoch,
        members: members.iter().map(|(target, ..)| *target).collect(),
        states: members.iter().map(|(_, state, _)| *state).collect(),
        term: if new_term { epoch } else { term },
        since: version,
        fencing: Vec::new(),
        resync_stopped: false,
        losses: 0,
        serves: None,
        full: Vec::new(),
    };
    let reachability = |at: &Option<&Storage>| if at.is_some() { Reachability::Online } else { Reachability::Offline };
    let node = |(target, _, at): &(TargetId, MemberState, Option<&Storage>)| Node {
        id: NodeId(target.0.into()),
        alias: target.to_string(),
        role: NodeRole::Storage,
        addresses: at.iter().map(|storage| storage.address).collect(),
        reachability: reachability(at),
    };
    let target = |(target, _, at): &(TargetId, MemberState, Option<&Storage>)| Target {
        id: *target,
        alias: target.to_string(),
        kind: TargetKind::Storage,
        node: NodeId(target.0.into()),
        pool: PoolId(1),
        reachability: reachability(at),
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let mut nodes: Vec<Node> = members.iter().map(node).collect();
    let mut targets: Vec<Target> = members.iter().map(target).collect();
    nodes.sort_by_key(|node| node.id);
    targets.sort_by_key(|target| target.id);
    *map = ClusterMap { version, cluster: CLUSTER, nodes, targets, groups: vec![group], ..ClusterMap::default() };
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not in time: {what}");
}

/// A write of a session to the group; `number` names it.
pub async fn write(cluster: &Cluster, to: &Connection, session: u64, number: u64) -> Result<(), ErrorCode> {
    write_at(cluster, to, session, number, 0).await
}

/// The same at an offset, bytes: one block.
pub async fn write_at(
    cluster: &Cluster,
    to: &Connection,
    session: u64,
    number: u64,
    offset: u64,
) -> Result<(), ErrorCode> {
    let data = vec![session as u8; 4096];
    let header = WriteHeader {
        target: 0.into(),
        index: FILE.index.into(),
        flags: 0.into(),
        inode: FILE.inode.0.into(),
        offset: offset.into(),
        session: session.into(),
        len: (data.len() as u32).into(),
        checksums: 1.into(),
        client: 0.into(),
        number: 0.into(),
        slot: 0.into(),
        reserved: 0.into(),
    };
    let group = GroupHeader {
        group: GROUP.0.into(),
        kind: message_type::STORAGE_WRITE.into(),
        pass_on: 0.into(),
        client: session.into(),
        number: number.into(),
        lowest: number.into(),
    };
    let body = group.wrap(&encode_bulk(&header, &[crc32c(&data)]));
    let map = cluster.knobs.map();
    let request = Request::new(message_type::STORAGE_GROUP, body).at(map.version.0, map.groups[0].epoch);
    let frame = to.call(request.with_payload(vec![Bytes::from(data)])).await.unwrap();
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(()),
    }
}

/// A change of a session other than a write.
pub async fn change(
    cluster: &Cluster,
    to: &Connection,
    session: u64,
    number: u64,
    op: StorageOp,
) -> Result<(), ErrorCode> {
    change_by(cluster, to, session, number, (op, false)).await
}

/// The same by a member that is to pass it on, or not.
pub async fn change_by(
    cluster: &Cluster,
    to: &Connection,
    session: u64,
    number: u64,
    (op, pass_on): (StorageOp, bool),
) -> Result<(), ErrorCode> {
    let request = StorageRequest::new(TargetId(0), FILE, op).of_session(SessionId(session));
    let group = GroupHeader {
        group: GROUP.0.into(),
        kind: message_type::STORAGE.into(),
        pass_on: u32::from(pass_on).into(),
        client: session.into(),
        number: number.into(),
        lowest: number.into(),
    };
    let map = cluster.knobs.map();
    let body = group.wrap(&codec::encode(&request));
    let request = Request::new(message_type::STORAGE_GROUP, body).at(map.version.0, map.groups[0].epoch);
    let frame = to.call(request).await.unwrap();
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(()),
    }
}

pub async fn fence(cluster: &Cluster, storage: &Storage, target: TargetId, session: u64) -> bool {
    let meta = cluster.connect_as(storage, Role::Meta).await;
    let op = StorageOp::Fence { session: SessionId(session) };
    let request = StorageRequest::new(target, FILE, op);
    let frame = meta.call(Request::new(message_type::STORAGE, codec::encode(&request))).await.unwrap();
    !frame.is_error()
}

pub fn state_of(cluster: &Cluster, target: TargetId) -> Option<MemberState> {
    cluster.knobs.map().groups[0].state(target)
}

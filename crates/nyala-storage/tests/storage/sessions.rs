// SPDX-License-Identifier: Apache-2.0

//! Whose changes a storage service lets in: fenced sessions, also those that were fenced while it was away, and late copies.

use crate::common::{CLUSTER, Cluster, Storage, client};
use bytes::Bytes;
use nyala_transport::{Connection, Frame, HandshakeConfig, PeerInfo, Reply, Request, Role, Server, Service};
use nyala_wire::fences::{FencesReply, FencesRequest};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Node, Reachability, Role as NodeRole, SlotRange, Target, TargetKind,
};
use nyala_wire::storage::{ChunkFileId, ReadHeader, Stamp, StorageOp, StorageRequest, WriteHeader, encode_bulk};
use nyala_wire::{
    ErrorCode, InodeId, MapVersion, NodeId, PoolId, SessionId, Slot, TargetId, WireError, codec, message_type,
};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TARGET: TargetId = TargetId(11);
const META: TargetId = TargetId(1);
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 2 };
/// Its slot is nobody's.
const OTHER: ChunkFileId = ChunkFileId { inode: InodeId(200 << 48 | 9), index: 2 };

fn result(frame: &Frame) -> Result<(), ErrorCode> {
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(()),
    }
}

async fn write_to(to: &Connection, file: ChunkFileId, session: u64, stamp: Stamp, byte: u8) -> Result<(), ErrorCode> {
    let data = vec![byte; 4096];
    let (header, crcs) = crate::bulk::write_header(TARGET, file, 0, &data);
    let Stamp { client, number, slot } = stamp;
    let stamped = WriteHeader { client: client.into(), number: number.into(), slot: slot.into(), ..header };
    let header = WriteHeader { session: session.into(), ..stamped };
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
    result(&to.call(request.with_payload(vec![Bytes::from(data)])).await.unwrap())
}

async fn write(to: &Connection, session: u64) -> Result<(), ErrorCode> {
    write_to(to, FILE, session, Stamp::default(), session as u8).await
}

async fn op(to: &Connection, session: u64, stamp: Option<Stamp>, op: StorageOp) -> Result<(), ErrorCode> {
    let request = StorageRequest { stamp, ..StorageRequest::new(TARGET, FILE, op).of_session(SessionId(session)) };
    result(&to.call(Request::new(message_type::STORAGE, codec::encode(&request))).await.unwrap())
}

async fn first_byte(to: &Connection) -> Option<u8> {
    let header = crate::bulk::read_header(TARGET, FILE, 0, 4096, ReadHeader::VERIFY);
    let frame = to.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap();
    result(&frame).unwrap();
    frame.payload.first().copied()
}

fn changes() -> [StorageOp; 5] {
    let from = ChunkFileId { index: 3, ..FILE };
    [
        StorageOp::Copy { from, from_offset: 0, offset: 0, len: 4096 },
        StorageOp::Punch { offset: 0, len: 100 },
        StorageOp::Allocate { offset: 0, len: 8192 },
        StorageOp::Truncate { len: 5 },
        StorageOp::Unlink,
    ]
}

#[test]
fn a_fence_refuses_every_change_and_session_0_is_for_servers() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let to = cluster.connect(&storage).await;
        let meta = cluster.connect_as(&storage, Role::Meta).await;
        write(&to, 1).await.unwrap();
        op(&meta, 0, None, StorageOp::Fence { session: SessionId(1) }).await.unwrap();
        // A client removes nothing.
        let is_removal = |change: &StorageOp| matches!(change, StorageOp::Unlink);
        for change in changes() {
            let refused = if is_removal(&change) { ErrorCode::UNAUTHORIZED } else { ErrorCode::FENCED };
            assert_eq!(op(&to, 1, None, change.clone()).await, Err(refused), "{change:?}");
            assert_eq!(op(&to, 0, None, change.clone()).await, Err(ErrorCode::UNAUTHORIZED), "{change:?}");
        }
        assert_eq!(write(&to, 0).await, Err(ErrorCode::UNAUTHORIZED));
        assert_eq!(first_byte(&to).await, Some(1), "nothing was changed");
        for change in changes() {
            if !is_removal(&change) {
                op(&to, 2, None, change.clone()).await.unwrap();
            }
            op(&meta, 0, None, change).await.unwrap();
        }
    });
    storage.stop().unwrap();
}

/// A metadata service that says which sessions to fence; `None`: it does not answer.
struct FakeMeta(Arc<Mutex<Option<Vec<u64>>>>);

impl Service for FakeMeta {
    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        assert_eq!((request.message_type(), peer.role), (message_type::META_FENCES, Role::Storage));
        let asked: FencesRequest = codec::decode(&request.body).unwrap();
        assert_eq!((asked.target, request.header.map_version > 0), (TARGET, true));
        match self.0.lock().unwrap().clone() {
            Some(sessions) => {
                let sessions = sessions.into_iter().map(SessionId).filter(|session| *session > asked.above).collect();
                Reply::ok(codec::encode(&FencesReply { sessions }))
            }
            None => Reply::error(codec::encode(&ErrorCode::NOT_READY.with("test"))),
        }
    }
}

fn map_with_meta(cluster: &Cluster, address: SocketAddr) {
    let mut map = cluster.knobs.map.lock().unwrap();
    let node = Node {
        id: NodeId(1),
        alias: "meta".into(),
        role: NodeRole::Meta,
        addresses: vec![address],
        reachability: Reachability::Online,
    };
    let target = Target {
        id: META,
        alias: "meta".into(),
        kind: TargetKind::Meta,
        node: NodeId(1),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let slots = vec![SlotRange { first: Slot(0), count: 100, target: META }];
    let version = MapVersion(2);
    *map = ClusterMap { version, nodes: vec![node], targets: vec![target], slots, ..ClusterMap::default() };
}

/// Writes of a session until one is not put off.
async fn settled(to: &Connection, session: u64) -> Result<(), ErrorCode> {
    for _ in 0..500 {
        match write(to, session).await {
            // sleeps: between two tries
            Err(ErrorCode::NOT_READY) => tokio::time::sleep(Duration::from_millis(10)).await,
            decided => return decided,
        }
    }
    panic!("it never serves");
}

async fn lets_in(cluster: &Cluster, storage: &Storage, sessions: &Mutex<Option<Vec<u64>>>) {
    let to = cluster.connect(storage).await;
    // sleeps: nothing is to happen in that time
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(write(&to, 1).await, Err(ErrorCode::NOT_READY), "metadata has not said who was fenced");
    write_to(&to, OTHER, 1, Stamp::default(), 1).await.expect("a file of a slot that nobody serves");
    *sessions.lock().unwrap() = Some(vec![1, 7]);
    assert_eq!(settled(&to, 1).await, Err(ErrorCode::FENCED));
    assert_eq!(settled(&to, 2).await, Ok(()));
    // Its lease runs out, and it is fenced from another session meanwhile: nobody asks it.
    cluster.knobs.deaf.store(true, Ordering::SeqCst);
    // sleeps: longer than its lease
    tokio::time::sleep(Duration::from_millis(800)).await;
    *sessions.lock().unwrap() = None;
    cluster.knobs.deaf.store(false, Ordering::SeqCst);
    // sleeps: it has a lease again by then
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(write(&to, 2).await, Err(ErrorCode::NOT_READY), "serving again, and not yet for clients");
    *sessions.lock().unwrap() = Some(vec![2]);
    assert_eq!(settled(&to, 2).await, Err(ErrorCode::FENCED));
    assert_eq!(settled(&to, 3).await, Ok(()));
}

#[test]
fn one_that_was_away_hears_who_was_fenced_before_it_serves_clients() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let config = HandshakeConfig::new(cluster.secret.clone(), u128::from_le_bytes(CLUSTER.0), Role::Meta, 1);
    let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], config, Default::default()).unwrap();
    let (address, stop) = (server.local_addresses()[0], server.shutdown_handle());
    let sessions = Arc::new(Mutex::new(None));
    let fake = FakeMeta(sessions.clone());
    let meta = std::thread::spawn(move || client(server.serve(Rc::new(fake))).unwrap());
    map_with_meta(&cluster, address);
    let storage = cluster.storage(cluster.config("a"));
    client(lets_in(&cluster, &storage, &sessions));
    storage.stop().unwrap();
    stop.stop();
    meta.join().unwrap();
}

#[test]
fn a_copy_that_comes_late_does_nothing() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let storage = cluster.storage(cluster.config("a"));
    let stamp = |slot, number| Stamp { client: 77, number, slot };
    client(async {
        // Copies come on whatever connection.
        let (to, stale) = (cluster.connect(&storage).await, cluster.connect(&storage).await);
        write_to(&to, FILE, 1, stamp(0, 1), 1).await.unwrap();
        assert_eq!(write_to(&stale, FILE, 1, stamp(0, 1), 1).await, Ok(()), "sent again: it was done");
        write_to(&to, FILE, 1, stamp(1, 1), 2).await.unwrap();
        assert_eq!(write_to(&stale, FILE, 1, stamp(0, 1), 1).await, Ok(()), "done, and not done again");
        assert_eq!(first_byte(&to).await, Some(2), "the newer write");
        write_to(&to, FILE, 1, stamp(0, 2), 3).await.unwrap();
        assert_eq!(write_to(&stale, FILE, 1, stamp(0, 1), 1).await, Err(ErrorCode::BAD_MESSAGE));
        let punch = StorageOp::Punch { offset: 0, len: 4096 };
        op(&to, 1, Some(stamp(1, 2)), punch.clone()).await.unwrap();
        assert_eq!(first_byte(&to).await, Some(0));
        write_to(&to, FILE, 1, stamp(0, 3), 4).await.unwrap();
        assert_eq!(op(&stale, 1, Some(stamp(1, 2)), punch).await, Ok(()));
        assert_eq!(first_byte(&to).await, Some(4));
    });
    storage.stop().unwrap();
}

// SPDX-License-Identifier: Apache-2.0

//! A session ends while a storage target is offline: that the target is still to fence it outlives a restart of metadata, until the
//! target has confirmed it. Management and storage are the test.

use nyala_meta::MetaConfig;
use nyala_transport::{Connection, Frame, HandshakeConfig, PeerInfo, Reply, Request, Role, Secret, Server, Service};
use nyala_wire::fences::{FencesReply, FencesRequest};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Node, Pool, Reachability, Role as NodeRole, Settings, SlotRange, Target,
    TargetKind,
};
use nyala_wire::meta::{ANSWER_HEAD_BYTES, MetaOp, MetaReply, MetaRequest, NewEntry, Owner, SetAttr, Want};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, Registered};
use nyala_wire::storage::{Stamp, StorageOp, StorageReply, StorageRequest};
use nyala_wire::{
    ClusterId, ErrorCode, InodeId, MapVersion, Name, NodeId, PoolId, SessionId, Slot, TargetId, Time, WireError, codec,
    message_type,
};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

const CLUSTER: ClusterId = ClusterId([7; 16]);
const META: TargetId = TargetId(1);
const STORAGE: TargetId = TargetId(101);
const SESSION: SessionId = SessionId(77);

#[derive(Default)]
struct World {
    map: ClusterMap,
    meta: Option<SocketAddr>,
    fenced: Vec<SessionId>,
    /// Which truncations came, and of how many answers are lost.
    cuts: Vec<(u64, Option<Stamp>)>,
    lose: usize,
    /// The range of inode sequence numbers that was handed out last.
    range: u32,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<World>>);

impl Fake {
    fn mgmt(&self, request: MgmtRequest) -> MgmtReply {
        let mut world = self.0.lock().unwrap();
        match request {
            MgmtRequest::Register(register) => {
                world.meta = register.addresses.first().map(|address| address.parse().unwrap());
                let (targets, map) = (vec![META], world.map.clone());
                MgmtReply::Registered(Box::new(Registered {
                    cluster: CLUSTER,
                    node: NodeId(1),
                    targets,
                    map,
                    refused: Vec::new(),
                }))
            }
            MgmtRequest::TakeRange { after, .. } => {
                world.range = world.range.max(after) + 1;
                MgmtReply::Range { range: world.range, before: world.range - 1 }
            }
            MgmtRequest::Heartbeat(_) => MgmtReply::Lease { lease_ms: 3000, map_version: world.map.version },
            MgmtRequest::WatchMap { have, .. } if world.map.version > have => {
                MgmtReply::Map(Box::new(world.map.clone()))
            }
            MgmtRequest::WatchMap { .. } => MgmtReply::Unchanged,
            _ => MgmtReply::Done,
        }
    }

    fn set_reachability(&self, reachability: Reachability) {
        let mut world = self.0.lock().unwrap();
        world.map.version.0 += 1;
        world.map.targets.iter_mut().filter(|target| target.id == STORAGE).for_each(|t| t.reachability = reachability);
    }

    fn version(&self) -> u64 {
        self.0.lock().unwrap().map.version.0
    }
}

impl Service for Fake {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        if request.message_type() == message_type::STORAGE {
            let asked: StorageRequest = codec::decode(&request.body).unwrap();
            if let StorageOp::Fence { session } = asked.op {
                self.0.lock().unwrap().fenced.push(session);
            }
            if let StorageOp::Truncate { len } = asked.op {
                let mut world = self.0.lock().unwrap();
                world.cuts.push((len, asked.stamp));
                if world.lose > 0 {
                    world.lose -= 1;
                    return Reply::error(codec::encode(&WireError::from(ErrorCode::NOT_READY)));
                }
            }
            return Reply::ok(codec::encode(&StorageReply::Done));
        }
        // sleeps: a management service that takes its time
        tokio::time::sleep(Duration::from_millis(5)).await;
        Reply::ok(codec::encode(&self.mgmt(codec::decode(&request.body).unwrap())))
    }
}

fn map(fake: SocketAddr) -> ClusterMap {
    let node = |id, role| Node {
        id: NodeId(id),
        alias: id.to_string(),
        role,
        addresses: vec![fake],
        reachability: Reachability::Online,
    };
    let target = |id, kind, node| Target {
        id,
        alias: id.to_string(),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    ClusterMap {
        version: MapVersion(1),
        cluster: CLUSTER,
        nodes: vec![node(1, NodeRole::Meta), node(2, NodeRole::Storage)],
        targets: vec![target(META, TargetKind::Meta, 1), target(STORAGE, TargetKind::Storage, 2)],
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: vec![SlotRange { first: Slot(0), count: 100, target: META }],
        settings: Settings { heartbeat_ms: 100, session_timeout_ms: 1500, ..Settings::default() },
        ..ClusterMap::default()
    }
}

fn handshake(secret: &Path, role: Role) -> HandshakeConfig {
    HandshakeConfig::new(Secret::load(secret).unwrap(), u128::from_le_bytes(CLUSTER.0), role, 0)
}

fn on_thread<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work());
    })
}

fn start_meta(dir: &Path, mgmt: SocketAddr) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let config = MetaConfig {
        dir: dir.join("meta"),
        listen: "127.0.0.1:0".parse().unwrap(),
        advertise: Vec::new(),
        mgmt: vec![mgmt],
        secret_file: dir.join("secret"),
        alias: String::new(),
        encrypt: false,
        spare: false,
        split_above: 0,
        slow_operation: Duration::ZERO,
        metrics: None,
        sync_interval: Duration::from_millis(100),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = on_thread(|| async { nyala_meta::run(config, async { drop(stopped.await) }).await.unwrap() });
    (stop, thread)
}

async fn connect(fake: &Fake, secret: &Path, role: Role) -> Connection {
    for _ in 0..500 {
        let address = fake.0.lock().unwrap().meta;
        if let Some(address) = address
            && let Ok(connection) = Connection::connect(address, &handshake(secret, role)).await
        {
            return connection;
        }
        // sleeps: between two tries
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("metadata does not come up");
}

async fn meta_op(to: &Connection, sequence: u64, want: Want, op: MetaOp) -> MetaReply {
    let (owner, now) = (Owner::default(), Time::default());
    let request =
        MetaRequest { session: SESSION, sequence, acked_below: 1, owner, now, op, want, caller: None, user: None };
    let frame = to.call(Request::new(message_type::META, codec::encode(&request))).await.unwrap();
    assert!(!frame.is_error(), "{:?}", codec::decode::<WireError>(&frame.body));
    codec::decode(&frame.body[ANSWER_HEAD_BYTES..]).unwrap()
}

async fn pending(to: &Connection, version: u64) -> Result<Vec<SessionId>, ErrorCode> {
    let body = codec::encode(&FencesRequest { target: STORAGE, above: SessionId(0) });
    let frame = to.call(Request::new(message_type::META_FENCES, body).at(version, 0)).await.unwrap();
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(codec::decode::<FencesReply>(&frame.body).unwrap().sessions),
    }
}

async fn until_pending(to: &Connection, version: u64, wanted: &[SessionId]) {
    for _ in 0..500 {
        if pending(to, version).await.is_ok_and(|sessions| sessions == wanted) {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not in time: {wanted:?}");
}

/// Holds a file exclusively, falls silent while the target is offline, and is ended.
async fn end_a_session(fake: &Fake, secret: &Path) {
    let client = connect(fake, secret, Role::Client).await;
    meta_op(&client, 0, Want::DELEGATIONS, MetaOp::SessionOpen { client: "test".into() }).await;
    let entry = NewEntry { parent: InodeId::ROOT, name: Name::new(b"file").unwrap(), perm: 0o644, umask: 0 };
    let want = Want::DELEGATIONS.and(Want::WRITE);
    let made = meta_op(&client, 1, want, MetaOp::Create { entry, exclusive: true }).await;
    assert!(matches!(made, MetaReply::Created { .. }), "{made:?}");
    fake.set_reachability(Reachability::Offline);
    let storage = connect(fake, secret, Role::Storage).await;
    until_pending(&storage, fake.version(), &[SESSION]).await;
    assert_eq!(pending(&client, fake.version()).await, Err(ErrorCode::UNAUTHORIZED), "clients do not ask that");
    assert_eq!(pending(&storage, fake.version() + 1).await, Err(ErrorCode::NOT_READY), "a map that is not there yet");
}

#[test]
fn what_a_target_has_to_fence_outlives_a_restart_until_it_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    Secret::generate(&secret).unwrap();
    let fake = Fake::default();
    let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], handshake(&secret, Role::Mgmt), Default::default());
    let server = server.unwrap();
    let (address, stop_fake) = (server.local_addresses()[0], server.shutdown_handle());
    fake.0.lock().unwrap().map = map(address);
    let service = fake.clone();
    let thread = on_thread(move || async { server.serve(Rc::new(service)).await.unwrap() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (stop, meta) = start_meta(dir.path(), address);
    LocalSet::new().block_on(&runtime, end_a_session(&fake, &secret));
    assert!(stop.send(()).is_ok());
    meta.join().unwrap();
    fake.0.lock().unwrap().meta = None;
    let (stop, meta) = start_meta(dir.path(), address);
    LocalSet::new().block_on(&runtime, async {
        let storage = connect(&fake, &secret, Role::Storage).await;
        until_pending(&storage, fake.version(), &[SESSION]).await;
        assert!(fake.0.lock().unwrap().fenced.is_empty(), "it is offline");
        fake.set_reachability(Reachability::Online);
        until_pending(&storage, fake.version(), &[]).await;
        assert_eq!(fake.0.lock().unwrap().fenced, [SESSION]);
    });
    assert!(stop.send(()).is_ok());
    meta.join().unwrap();
    stop_fake.stop();
    thread.join().unwrap();
}

/// A copy of a truncation may be late, when the client has written again: storage knows it by its stamp.
#[test]
fn all_copies_of_a_truncation_have_one_stamp() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    Secret::generate(&secret).unwrap();
    let fake = Fake::default();
    let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], handshake(&secret, Role::Mgmt), Default::default());
    let server = server.unwrap();
    let (address, stop_fake) = (server.local_addresses()[0], server.shutdown_handle());
    fake.0.lock().unwrap().map = map(address);
    fake.0.lock().unwrap().map.settings.default_pattern.inline_bytes = 0;
    let service = fake.clone();
    let thread = on_thread(move || async { server.serve(Rc::new(service)).await.unwrap() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (stop, meta) = start_meta(dir.path(), address);
    LocalSet::new().block_on(&runtime, async {
        let client = connect(&fake, &secret, Role::Client).await;
        meta_op(&client, 0, Want::NOTHING, MetaOp::SessionOpen { client: "test".into() }).await;
        let entry = NewEntry { parent: InodeId::ROOT, name: Name::new(b"file").unwrap(), perm: 0o644, umask: 0 };
        let made = meta_op(&client, 1, Want::NOTHING, MetaOp::Create { entry, exclusive: true }).await;
        let MetaReply::Created { inode, .. } = made else { panic!("{made:?}") };
        for (sequence, size, lose) in [(2, 1000, 0), (3, 500, 3), (4, 400, 1)] {
            fake.0.lock().unwrap().lose = lose;
            let set = SetAttr { size: Some(size), ..SetAttr::default() };
            meta_op(&client, sequence, Want::NOTHING, MetaOp::SetAttr { inode, set }).await;
        }
    });
    assert!(stop.send(()).is_ok());
    meta.join().unwrap();
    stop_fake.stop();
    thread.join().unwrap();
    let cuts = std::mem::take(&mut fake.0.lock().unwrap().cuts);
    let of = |len| cuts.iter().filter(|(cut, _)| *cut == len).map(|(_, stamp)| stamp.unwrap()).collect::<Vec<_>>();
    let (first, second) = (of(500), of(400));
    assert_eq!((first.len(), second.len()), (4, 2), "{cuts:?}");
    assert!(first.iter().all(|stamp| *stamp == first[0] && stamp.client != 0), "{cuts:?}");
    assert!(second.iter().all(|stamp| *stamp == second[0]), "{cuts:?}");
    assert!(
        (first[0].client, first[0].slot) == (second[0].client, second[0].slot) && first[0].number < second[0].number
    );
}

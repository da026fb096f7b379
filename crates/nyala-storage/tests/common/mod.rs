// SPDX-License-Identifier: Apache-2.0

//! A management service that registers whatever comes, and a storage service that runs beside the test.

#![allow(dead_code, reason = "each test program uses its own part")]

use nyala_storage::disks::OsDisks;
use nyala_storage::{Disks, StorageConfig, StorageError, TargetSpec};
use nyala_transport::{
    Connection, Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, Server, ServerOptions, Service, ShutdownHandle,
};
use nyala_wire::map::{ClusterMap, MemberState, Settings};
use nyala_wire::mgmt::{Capacity, MemberNews, MgmtReply, MgmtRequest, Registered};
use nyala_wire::{ClusterId, ErrorCode, MapVersion, NodeId, TargetId, codec};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The cluster of the tests.
pub const CLUSTER: ClusterId = ClusterId([7; 16]);

/// What the tests change about management while it runs.
#[derive(Default)]
pub struct Knobs {
    /// Heartbeats are not answered.
    pub deaf: AtomicBool,
    /// Goodbyes heard.
    pub goodbyes: AtomicU32,
    /// Addresses of the last registration.
    pub addresses: Mutex<Vec<String>>,
    /// A target that is refused.
    pub unwanted: Mutex<TargetId>,
    /// Targets of the last heartbeat.
    pub reported: Mutex<Vec<TargetId>>,
    /// Capacity of the first target as last heard.
    pub capacity: Mutex<Capacity>,
    /// The map, but for what is the same for all; a test changes it as management would, with a version that grows.
    pub map: Mutex<ClusterMap>,
}

impl Knobs {
    /// The map.
    pub fn map(&self) -> ClusterMap {
        let map = self.map.lock().unwrap().clone();
        let settings = Settings { heartbeat_ms: 50, lease_ms: 600, ..Settings::default() };
        ClusterMap { version: map.version.max(MapVersion(1)), cluster: CLUSTER, settings, ..map }
    }

    /// A member of the only group becomes something.
    pub fn member_is(&self, target: TargetId, state: MemberState) {
        let mut map = self.map.lock().unwrap();
        map.version.0 += 1;
        let version = map.version;
        let group = &mut map.groups[0];
        let at = group.members.iter().position(|member| *member == target).unwrap();
        if group.states[at] != state {
            group.states[at] = state;
            (group.epoch, group.since) = (group.epoch + 1, version);
        }
    }
}

struct FakeMgmt(Arc<Knobs>);

impl FakeMgmt {
    async fn answer(&self, request: MgmtRequest) -> MgmtReply {
        let map = self.0.map();
        match request {
            MgmtRequest::Register(register) => {
                let id = |(n, id): (usize, TargetId)| if id.0 == 0 { TargetId(11 + n as u16) } else { id };
                let targets = register.targets.iter().map(|target| target.id).enumerate().map(id);
                let unwanted = *self.0.unwanted.lock().unwrap();
                let targets: Vec<_> = targets.map(|id| if id == unwanted { TargetId(0) } else { id }).collect();
                let refused = targets.iter().filter(|id| id.0 == 0).map(|_| "it was replaced".to_owned()).collect();
                *self.0.capacity.lock().unwrap() = register.targets[0].capacity;
                *self.0.addresses.lock().unwrap() = register.addresses;
                let node = NodeId(register.targets[0].id.0.max(3).into());
                MgmtReply::Registered(Box::new(Registered { cluster: CLUSTER, node, targets, map, refused }))
            }
            MgmtRequest::Heartbeat(heartbeat) => {
                if self.0.deaf.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                *self.0.reported.lock().unwrap() = heartbeat.capacities.iter().map(|c| c.target).collect();
                if let Some(first) = heartbeat.capacities.first() {
                    *self.0.capacity.lock().unwrap() = first.capacity;
                }
                MgmtReply::Lease { lease_ms: 600, map_version: map.version }
            }
            MgmtRequest::Goodbye { .. } => {
                self.0.goodbyes.fetch_add(1, Ordering::SeqCst);
                MgmtReply::Done
            }
            MgmtRequest::WatchMap { have, .. } => {
                for _ in 0..20 {
                    let map = self.0.map();
                    if map.version > have {
                        return MgmtReply::Map(Box::new(map));
                    }
                    // sleeps: between two looks
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                MgmtReply::Unchanged
            }
            MgmtRequest::Member { target, news, .. } => {
                match news {
                    MemberNews::ResyncStarted => self.0.member_is(target, MemberState::Resyncing),
                    MemberNews::Resynced => self.0.member_is(target, MemberState::Good),
                    MemberNews::NeedsResync => {}
                }
                MgmtReply::Map(Box::new(self.0.map()))
            }
            // Storage services ask for nothing else.
            _ => MgmtReply::Capacities(Vec::new()),
        }
    }
}

impl Service for FakeMgmt {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        match codec::decode(&request.body) {
            Ok(request) => Reply::ok(codec::encode(&self.answer(request).await)),
            Err(_) => Reply::error(codec::encode(&ErrorCode::BAD_MESSAGE.with("test"))),
        }
    }
}

/// Management and the secret, in a temporary directory.
pub struct Cluster {
    pub dir: tempfile::TempDir,
    pub secret: Secret,
    pub mgmt: SocketAddr,
    pub knobs: Arc<Knobs>,
    stop: ShutdownHandle,
    thread: Option<JoinHandle<()>>,
}

/// A storage service on a thread of its own.
pub struct Storage {
    pub address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), StorageError>>>,
}

fn current_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A test that fails shows what the services said.
fn log_failures() {
    // An error means that an earlier cluster of this process has set it.
    let _ = tracing_subscriber::fmt().with_test_writer().with_ansi(false).try_init();
}

impl Cluster {
    pub fn start_in(parent: &Path) -> Cluster {
        log_failures();
        let dir = tempfile::tempdir_in(parent).unwrap();
        let secret = Secret::generate(&dir.path().join("secret")).unwrap();
        let knobs = Arc::new(Knobs::default());
        let config = HandshakeConfig::new(secret.clone(), u128::from_le_bytes(CLUSTER.0), Role::Mgmt, 1);
        let address = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind(&[address], config, ServerOptions::default()).unwrap();
        let (mgmt, stop, fake) = (server.local_addresses()[0], server.shutdown_handle(), FakeMgmt(knobs.clone()));
        let thread = std::thread::spawn(move || {
            tokio::task::LocalSet::new().block_on(&current_thread(), server.serve(Rc::new(fake))).unwrap();
        });
        Cluster { dir, secret, mgmt, knobs, stop, thread: Some(thread) }
    }

    pub fn config(&self, name: &str) -> StorageConfig {
        let dir = self.dir.path().join(name);
        let listen = "127.0.0.1:0".parse().unwrap();
        let mut config = StorageConfig::new(dir.join("node"), listen, vec![self.mgmt], self.dir.path().join("secret"));
        config.targets = vec![TargetSpec { dir: dir.join("target"), ..TargetSpec::default() }];
        config
    }

    /// Starts a storage service and waits until it answers.
    pub fn storage(&self, config: StorageConfig) -> Storage {
        self.storage_on(config, OsDisks)
    }

    /// The same on other disks.
    pub fn storage_on(&self, config: StorageConfig, disks: impl Disks + 'static) -> Storage {
        self.knobs.addresses.lock().unwrap().clear();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            current_thread().block_on(nyala_storage::run_on(config, &disks, async move { drop(stopped.await) }))
        });
        let address = loop {
            assert!(!thread.is_finished(), "storage ended: {:?}", thread.join());
            if let Some(address) = self.knobs.addresses.lock().unwrap().first() {
                break address.parse().unwrap();
            }
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(5));
        };
        Storage { address, stop: Some(stop), thread: Some(thread) }
    }

    /// A client's connection; retries while the service comes up.
    pub async fn connect(&self, storage: &Storage) -> Connection {
        self.connect_as(storage, Role::Client).await
    }

    /// A connection of somebody else.
    pub async fn connect_as(&self, storage: &Storage, role: Role) -> Connection {
        self.connect_from(storage, role, NodeId(0)).await
    }

    /// The same from a node.
    pub async fn connect_from(&self, storage: &Storage, role: Role, node: NodeId) -> Connection {
        let config = HandshakeConfig::new(self.secret.clone(), u128::from_le_bytes(CLUSTER.0), role, node.0);
        let mut last = None;
        for _ in 0..3000 {
            match Connection::connect(storage.address, &config).await {
                Ok(connection) => return connection,
                Err(error) => last = Some(error),
            }
            let ended = storage.thread.as_ref().is_none_or(JoinHandle::is_finished);
            assert!(!ended, "the storage service has ended");
            // sleeps: between two tries
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the storage service does not come up: {last:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.take().map(JoinHandle::join);
    }
}

impl Storage {
    pub fn stop(mut self) -> Result<(), StorageError> {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Runs a client.
pub fn client<T>(what: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().block_on(&current_thread(), what)
}

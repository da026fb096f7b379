// SPDX-License-Identifier: Apache-2.0

//! A metadata service and a storage service with two targets, as shipped, on simulated disks; management is the test.

use nyala_client::{Client, ClientConfig};
use nyala_meta::MetaConfig;
use nyala_storage::chunk_store::ChunkDisk;
use nyala_storage::testing::Chunks;
use nyala_storage::{Disks, StorageConfig, TargetSpec};
use nyala_store::testing::{Clock, Machine};
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_transport::{Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, Server, Service, ShutdownHandle};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Node, Pool, Reachability, Role as NodeRole, Settings, SlotRange, Target,
    TargetKind,
};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, Register, Registered};
use nyala_wire::{ClusterId, MapVersion, NodeId, PoolId, Slot, StripePattern, TargetId, codec};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

const CLUSTER: ClusterId = ClusterId([7; 16]);
const META: TargetId = TargetId(1);
pub const STORAGE: [TargetId; 2] = [TargetId(101), TargetId(102)];

/// Any port of an address that nobody else uses: services take a port, let it go and take it again, and connections from
/// 127.0.0.1 could be in the way.
fn own_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let [_, _, high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let process = (std::process::id() % 200) as u8;
    SocketAddr::from(([127, 20 + process, high, low.max(1)], 0))
}

/// The disks of all of them: that of metadata, and of each storage target the one of its store and the one of its files.
#[derive(Clone)]
pub struct Machines {
    meta: Machine,
    stores: [Machine; 2],
    chunks: [Machine; 2],
}

impl Machines {
    pub fn new(seed: u64) -> Machines {
        Machines::each(seed, Machine::new)
    }

    fn each(seed: u64, mut machine: impl FnMut(u64) -> Machine) -> Machines {
        let mut next = seed.wrapping_mul(5);
        let mut made = || {
            next = next.wrapping_add(1);
            machine(next)
        };
        Machines { meta: made(), stores: [made(), made()], chunks: [made(), made()] }
    }

    fn all(&self) -> [&Machine; 5] {
        let [[a, b], [c, d]] = [&self.stores, &self.chunks];
        [&self.meta, a, b, c, d]
    }

    /// From now on they remember what they were.
    pub fn remember(&self, clock: &Clock) {
        self.all().into_iter().for_each(|machine| machine.remember(clock));
    }

    /// What they hold after a power cut of all of them at a moment: each loses for itself what it had not synced.
    pub fn cut(&self, moment: u64, seed: u64) -> Machines {
        let mut all = self.all().into_iter();
        let cut = Machines::each(seed, |seed| all.next().unwrap().at(moment, seed));
        cut.all().into_iter().for_each(Machine::power_cut);
        cut
    }
}

struct SimDisks {
    machines: Machines,
    boot: String,
}

impl SimDisks {
    fn number(dir: &Path) -> usize {
        usize::from(dir.parent().is_some_and(|target| target.ends_with("t1")))
    }
}

/// Small segments: each is copied at every point of a run.
fn open_store(machine: &Machine, options: Options) -> Result<(Store, Recovery), StoreError> {
    Store::open_with(machine.disk(), machine.ordered(), Options { segment_bytes: 16 << 10, ..options })
}

impl Disks for SimDisks {
    fn store(&self, dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        open_store(&self.machines.stores[SimDisks::number(dir)], options)
    }

    fn chunks(&self, dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(Chunks::new(self.machines.chunks[SimDisks::number(dir)].disk())))
    }

    fn boot_id(&self, _dir: &Path) -> io::Result<String> {
        Ok(self.boot.clone())
    }
}

/// How fast things go by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub session_timeout: Duration,
    pub meta_sync: Duration,
    pub storage_sync: Duration,
}

#[derive(Default)]
struct Known {
    map: ClusterMap,
    registered: usize,
    range: u32,
}

/// Management that takes whatever comes.
#[derive(Clone, Default)]
struct Management(Arc<Mutex<Known>>);

impl Management {
    fn answer(&self, request: MgmtRequest) -> MgmtReply {
        let mut known = self.0.lock().unwrap();
        match request {
            MgmtRequest::Register(register) => known.register(&register),
            MgmtRequest::TakeRange { after, .. } => {
                known.range = known.range.max(after) + 1;
                MgmtReply::Range { range: known.range, before: after }
            }
            MgmtRequest::Heartbeat(_) => MgmtReply::Lease { lease_ms: 10_000, map_version: known.map.version },
            MgmtRequest::WatchMap { have, .. } if known.map.version > have => {
                MgmtReply::Map(Box::new(known.map.clone()))
            }
            MgmtRequest::WatchMap { .. } => MgmtReply::Unchanged,
            _ => MgmtReply::Done,
        }
    }
}

impl Known {
    fn register(&mut self, register: &Register) -> MgmtReply {
        let (node, targets) = match register.role {
            NodeRole::Meta => (NodeId(1), vec![META]),
            _ => (NodeId(2), STORAGE.to_vec()),
        };
        self.registered += 1;
        self.map.version.0 += 1;
        let at = self.map.nodes.iter_mut().find(|known| known.id == node).unwrap();
        at.addresses = register.addresses.iter().map(|address| address.parse().unwrap()).collect();
        let map = self.map.clone();
        MgmtReply::Registered(Box::new(Registered { cluster: CLUSTER, node, targets, map, refused: Vec::new() }))
    }
}

impl Service for Management {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        let request = codec::decode(&request.body).unwrap();
        if let MgmtRequest::WatchMap { have, wait_ms: 1.. } = request {
            for _ in 0..100 {
                if self.0.lock().unwrap().map.version > have {
                    break;
                }
                // sleeps: between two looks
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Reply::ok(codec::encode(&self.answer(request)))
    }
}

fn map(session_timeout: Duration) -> ClusterMap {
    let nowhere: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let node = |id, role| Node {
        id: NodeId(id),
        alias: id.to_string(),
        role,
        addresses: vec![nowhere],
        reachability: Reachability::Online,
    };
    let target = |id: TargetId, kind, node| Target {
        id,
        alias: id.to_string(),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let storage = STORAGE.map(|id| target(id, TargetKind::Storage, 2));
    let pattern = StripePattern { chunk_bytes: 64 << 10, num_targets: 2, ..StripePattern::default() };
    ClusterMap {
        version: MapVersion(1),
        cluster: CLUSTER,
        nodes: vec![node(1, NodeRole::Meta), node(2, NodeRole::Storage)],
        targets: [target(META, TargetKind::Meta, 1)].into_iter().chain(storage).collect(),
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: vec![SlotRange { first: Slot(0), count: 100, target: META }],
        settings: Settings {
            default_pattern: pattern,
            heartbeat_ms: 1000,
            session_timeout_ms: session_timeout.as_millis() as u32,
            ..Settings::default()
        },
        ..ClusterMap::default()
    }
}

fn on_thread<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work());
    })
}

/// A running cluster.
pub struct Cluster {
    mgmt: SocketAddr,
    management: Management,
    stop_mgmt: ShutdownHandle,
    services: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
    threads: Vec<JoinHandle<()>>,
    secret: PathBuf,
    _dir: tempfile::TempDir,
}

impl Cluster {
    /// Starts one on these disks. `boot` is new after each power cut.
    pub fn start(machines: &Machines, boot: u64, pace: Pace) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        let handshake =
            HandshakeConfig::new(Secret::generate(&secret).unwrap(), u128::from_le_bytes(CLUSTER.0), Role::Mgmt, 9);
        let server = Server::bind(&[own_address()], handshake, Default::default()).unwrap();
        let (mgmt, stop_mgmt, management) =
            (server.local_addresses()[0], server.shutdown_handle(), Management::default());
        management.0.lock().unwrap().map = map(pace.session_timeout);
        let serve = management.clone();
        let threads = vec![on_thread(move || async move { server.serve(Rc::new(serve)).await.unwrap() })];
        let mut cluster = Cluster { mgmt, management, stop_mgmt, services: Vec::new(), threads, secret, _dir: dir };
        cluster.start_meta(machines, pace);
        cluster.start_storage(SimDisks { machines: machines.clone(), boot: boot.to_string() }, pace.storage_sync);
        while cluster.management.0.lock().unwrap().registered < 2 {
            assert!(cluster.services.iter().all(|(_, run)| !run.is_finished()), "a service does not start");
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(1));
        }
        cluster
    }

    /// Ends the metadata service in an orderly way and starts it again; clients go on.
    pub fn restart_meta(&mut self, machines: &Machines, pace: Pace) {
        let (stop, run) = self.services.remove(0);
        // It has not ended before.
        let _ = stop.send(());
        run.join().expect("the service ends well");
        self.start_meta(machines, pace);
        let run = self.services.pop().expect("it was started");
        self.services.insert(0, run);
    }

    fn start_meta(&mut self, machines: &Machines, pace: Pace) {
        let (machine, sync_interval) = (machines.meta.clone(), pace.meta_sync);
        let config = MetaConfig {
            dir: self._dir.path().join("meta"),
            listen: own_address(),
            advertise: Vec::new(),
            mgmt: vec![self.mgmt],
            secret_file: self.secret.clone(),
            alias: String::new(),
            encrypt: false,
            spare: false,
            split_above: 0,
            slow_operation: Duration::ZERO,
            metrics: None,
            sync_interval,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || async move {
            let open = |_: &Path, options: Options| open_store(&machine, options);
            nyala_meta::run_on(config, &open, async { drop(stopped.await) }).await.unwrap();
        };
        self.services.push((stop, on_thread(run)));
    }

    fn start_storage(&mut self, disks: SimDisks, sync_idle: Duration) {
        let dir = |name: &str| self._dir.path().join(name);
        let mut config = StorageConfig::new(dir("storage"), own_address(), vec![self.mgmt], self.secret.clone());
        config.targets = ["t0", "t1"].map(|name| TargetSpec { dir: dir(name), ..TargetSpec::default() }).into();
        (config.workers_per_target, config.cores, config.sync_idle) = (1, 1, sync_idle);
        let (stop, stopped) = oneshot::channel::<()>();
        let run =
            move || async move { nyala_storage::run_on(config, &disks, async { drop(stopped.await) }).await.unwrap() };
        self.services.push((stop, on_thread(run)));
    }

    /// A client of it, which sends what it has soon.
    pub async fn client(&self) -> Client {
        let config = ClientConfig {
            max_dirty_age: Duration::from_millis(2),
            close_delay: Duration::ZERO,
            ..ClientConfig::new(vec![self.mgmt], Secret::load(&self.secret).unwrap(), "power:/")
        };
        Client::connect(config).await.unwrap()
    }

    /// Ends it in an orderly way.
    pub fn stop(self) {
        let Cluster { services, threads, stop_mgmt, .. } = self;
        let (stops, runs): (Vec<_>, Vec<_>) = services.into_iter().unzip();
        // One that has ended says so below.
        stops.into_iter().for_each(|stop| {
            let _ = stop.send(());
        });
        runs.into_iter().for_each(|run| run.join().expect("the service ends well"));
        stop_mgmt.stop();
        threads.into_iter().for_each(|thread| thread.join().expect("management ends well"));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Starts and stops the cluster.

use nyala_client::{Client, ClientConfig, OpenOptions};
use nyala_meta::MetaConfig;
use nyala_mgmt::MgmtConfig;
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request, Role, Secret};
use nyala_wire::map::Reachability;
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{InodeId, codec, message_type};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

/// How to stop a service, and its thread.
pub type Running = (oneshot::Sender<()>, JoinHandle<()>);

pub struct Cluster {
    dir: tempfile::TempDir,
    pub mgmt: SocketAddr,
    pub metas: [SocketAddr; 2],
    storage: SocketAddr,
    services: Vec<Running>,
    sync_interval: Duration,
}

/// An address that nobody listens at: below the ports that the system hands out, and no two of this machine's tests
/// begin at the same one. A port that the system hands out could go to a client that tries a stopped service again and again:
/// it would connect to itself, and be in the way when the service starts again.
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id() * 32;
    loop {
        let port = 12_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port as u16)) {
            return listener.local_addr().unwrap();
        }
    }
}

/// The sum of a counter of all metadata services.
pub async fn counter(client: &Client, secret: &Path, name: &str) -> u64 {
    let map = client.map();
    let cluster = u128::from_le_bytes(map.cluster.0);
    let handshake = HandshakeConfig::new(Secret::load(secret).unwrap(), cluster, Role::Client, 0);
    let pool = Pool::new(handshake, PoolOptions::default());
    let mut sum = 0;
    for target in map.targets.iter().filter(|target| target.kind == TargetKind::Meta) {
        let endpoint = Endpoint { addresses: map.node_of(target.id).unwrap().addresses.clone() };
        let reply = pool.call(&endpoint, Request::new(message_type::STATS, Vec::new())).await.unwrap();
        let stats: ServiceStats = codec::decode(&reply.body).unwrap();
        sum += stats.counters.iter().find(|(counter, _)| counter == name).map_or(0, |(_, count)| *count);
    }
    sum
}

pub fn on_thread<F: Future<Output = ()>>(work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static) -> Running {
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work(stopped));
    });
    (stop, thread)
}

pub async fn until_stopped(stopped: oneshot::Receiver<()>) {
    let _ = stopped.await;
}

impl Cluster {
    pub fn start() -> Cluster {
        Cluster::start_syncing_every(Duration::from_millis(500))
    }

    /// With metadata logs that sync by themselves only so often.
    pub fn start_syncing_every(sync_interval: Duration) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        Secret::generate(&secret).unwrap();
        let metas = [free_address(), free_address()];
        let (mgmt, storage) = (free_address(), free_address());
        let mut cluster = Cluster { mgmt, metas, storage, dir, services: Vec::new(), sync_interval };
        let mgmt = MgmtConfig {
            listen: vec![cluster.mgmt],
            rest_listen: "127.0.0.1:0".parse().unwrap(),
            ..MgmtConfig::new(cluster.path("mgmt"), &secret)
        };
        cluster
            .services
            .push(on_thread(move |stop| async { nyala_mgmt::run(mgmt, until_stopped(stop)).await.unwrap() }));
        for n in 0..2 {
            let meta = cluster.meta(n);
            cluster
                .services
                .push(on_thread(move |stop| async { nyala_meta::run(meta, until_stopped(stop)).await.unwrap() }));
        }
        let mut storage = StorageConfig::new(cluster.path("storage"), cluster.storage, vec![cluster.mgmt], secret);
        storage.targets =
            (0..4).map(|n| TargetSpec { dir: cluster.path(&format!("t{n}")), ..TargetSpec::default() }).collect();
        cluster
            .services
            .push(on_thread(move |stop| async { nyala_storage::run(storage, until_stopped(stop)).await.unwrap() }));
        cluster
    }

    fn meta(&self, n: usize) -> MetaConfig {
        MetaConfig {
            dir: self.path(&format!("meta{n}")),
            listen: self.metas[n],
            advertise: Vec::new(),
            mgmt: vec![self.mgmt],
            secret_file: self.path("secret"),
            alias: String::new(),
            encrypt: false,
            spare: false,
            split_above: 0,
            slow_operation: Duration::ZERO,
            metrics: None,
            sync_interval: self.sync_interval,
        }
    }

    /// Runs a test while metadata services, in turn, are cut off in the middle of whatever they do and started again.
    pub fn run_with_crashes<F: Future<Output = ()>>(mut self, times: usize, test: impl FnOnce(Client) -> F) {
        let configs = [self.meta(0), self.meta(1)];
        let metas: Vec<_> = self.services.splice(1..3, []).collect();
        let (over, crashing) = std::sync::mpsc::channel::<()>();
        let crasher = std::thread::spawn(move || {
            for (stop, thread) in metas {
                let _ = stop.send(());
                thread.join().expect("the service ends well");
            }
            let start = |n: usize| {
                let config = configs[n].clone();
                on_thread(move |cut| async {
                    tokio::select! {
                        ended = nyala_meta::run(config, std::future::pending()) => ended.unwrap(),
                        () = until_stopped(cut) => {}
                    }
                })
            };
            let mut running = [Some(start(0)), Some(start(1))];
            let mut crashes = 0;
            while crashes < times && crashing.recv_timeout(Duration::from_millis(900)).is_err() {
                let (cut, thread) = running[crashes % 2].take().expect("it runs");
                let _ = cut.send(());
                thread.join().expect("the service is dropped");
                running[crashes % 2] = Some(start(crashes % 2));
                crashes += 1;
            }
            let _ = crashing.recv();
            for (cut, thread) in running.into_iter().flatten() {
                let _ = cut.send(());
                thread.join().expect("the service is dropped");
            }
            crashes
        });
        self.run(test);
        drop(over);
        assert_eq!(crasher.join().expect("the crasher ends"), times, "the test takes long enough for all crashes");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a test as a client, then stops everything in order.
    pub fn run<F: Future<Output = ()>>(self, test: impl FnOnce(Client) -> F) {
        self.run_clients(1, |mut clients| test(clients.remove(0)));
    }

    /// Runs a test as several clients.
    pub fn run_clients<F: Future<Output = ()>>(mut self, count: usize, test: impl FnOnce(Vec<Client>) -> F) {
        self.run_part(count, test);
        while let Some((stop, thread)) = self.services.pop() {
            let _ = stop.send(());
            thread.join().expect("the service ends well");
        }
    }

    /// Does something with the metadata targets' directories while their services are stopped in an orderly way.
    pub fn without_metas(&mut self, work: impl Fn(&Path)) {
        for (stop, thread) in self.services.splice(1..3, []) {
            let _ = stop.send(());
            thread.join().expect("the service ends well");
        }
        for n in 0..2 {
            let meta = self.meta(n);
            work(&meta.dir);
            let run = on_thread(move |stop| async { nyala_meta::run(meta, until_stopped(stop)).await.unwrap() });
            self.services.insert(1 + n, run);
        }
    }

    /// Runs a part of a test as several clients.
    pub fn run_part<F: Future<Output = ()>>(&mut self, count: usize, test: impl FnOnce(Vec<Client>) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let mut clients = Vec::new();
            for number in 0..count {
                let secret = Secret::load(&self.path("secret")).unwrap();
                let config = ClientConfig {
                    retry_timeout: Duration::from_secs(120),
                    ..ClientConfig::new(vec![self.mgmt], secret, format!("test{number}:/"))
                };
                let client = Client::connect(config).await.unwrap();
                let whole = |map: &nyala_wire::map::ClusterMap| {
                    let online = |target: &nyala_wire::map::Target| target.reachability == Reachability::Online;
                    map.targets.len() == 6 && map.targets.iter().all(online)
                };
                while !whole(&client.map()) {
                    // sleeps: between two looks
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                clients.push(client);
            }
            // Long: a disk that others keep busy may take many seconds for one sync.
            tokio::time::timeout(Duration::from_secs(240), test(clients.clone())).await.expect("the test ends");
            for client in clients {
                client.shutdown().await.unwrap();
            }
        });
    }
}

/// Bytes of files that go to storage.
pub const LARGE: usize = 300_000;

/// The whole content of such a file.
pub async fn content(client: &Client, inode: InodeId) -> nyala_client::Result<Vec<u8>> {
    let handle = client.open(inode, OpenOptions::default()).await?;
    let mut all = Vec::new();
    while all.len() < LARGE {
        all.extend(handle.read(all.len() as u64, 100_000).await?.concat());
    }
    handle.release().await?;
    Ok(all)
}

// SPDX-License-Identifier: Apache-2.0

//! Management, a metadata service and two storage services, as shipped, on directories of their own; each can be started and
//! ended by itself.

use nyala_client::{Client, ClientConfig};
use nyala_meta::MetaConfig;
use nyala_mgmt::{Mgmt, MgmtConfig};
use nyala_storage::chunk_store::{ChunkDisk, OsDisk};
use nyala_storage::{Disks, StorageConfig, TargetSpec};
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_transport::member::MgmtClient;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request, Role, Secret};
use nyala_wire::map::{ClusterMap, MemberState, Reachability, Settings};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{MapVersion, StripePattern, message_type};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

/// A service that has not come up, or ended, in that time does neither.
const START: Duration = Duration::from_secs(40);
const SYNC: Duration = Duration::from_millis(20);

/// One of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Mgmt,
    Meta,
    Storage1,
    Storage2,
}

pub const ALL: [Who; 4] = [Who::Mgmt, Who::Meta, Who::Storage1, Who::Storage2];

impl Who {
    /// Its directory below the cluster's.
    pub fn dir(self) -> &'static str {
        match self {
            Who::Mgmt => "mgmt",
            Who::Meta => "meta",
            Who::Storage1 => "storage1",
            Who::Storage2 => "storage2",
        }
    }

    pub fn is_storage(self) -> bool {
        matches!(self, Who::Storage1 | Who::Storage2)
    }
}

/// How a service ended: well, or with its last words.
pub type Ended = Result<(), String>;

struct Service {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    run: JoinHandle<Ended>,
}

/// A cluster in a directory, of which any part may run.
pub struct Cluster {
    dir: PathBuf,
    mgmt: Option<SocketAddr>,
    services: Vec<(Who, Service)>,
    stores: Arc<Mutex<Vec<(Who, Store)>>>,
}

/// Any port of an address that nobody else uses: services take a port, let it go and take it again, and connections from
/// 127.0.0.1 could be in the way.
fn own_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed) % (2 * 254 * 256);
    let process = (std::process::id() % 100) as u8;
    let (high, middle, low) = ((next / 254 / 256) as u8, (next / 254 % 256) as u8, (next % 254) as u8 + 1);
    SocketAddr::from(([127, 20 + process + high * 100, middle, low], 0))
}

/// Disks of this machine, with small logs: they are copied for every trial.
struct SmallDisks {
    who: Who,
    stores: Arc<Mutex<Vec<(Who, Store)>>>,
}

fn small(options: Options) -> Options {
    Options { segment_bytes: 128 << 10, sync_interval: SYNC, ..options }
}

impl Disks for SmallDisks {
    fn store(&self, dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        let opened = Store::open(dir, small(options))?;
        self.stores.lock().unwrap().push((self.who, opened.0.clone()));
        Ok(opened)
    }

    fn chunks(&self, dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(OsDisk::open(dir)?))
    }

    fn boot_id(&self, _dir: &Path) -> io::Result<String> {
        Ok("the same".to_owned())
    }
}

fn on_thread<F: Future<Output = Ended>>(
    work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static,
) -> (oneshot::Sender<()>, JoinHandle<Ended>) {
    let (stop, stopped) = oneshot::channel();
    let run = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, work(stopped))
    });
    (stop, run)
}

async fn until_stopped(stopped: oneshot::Receiver<()>) {
    // Who gives the service up says nothing.
    let _ = stopped.await;
}

fn error_text<E: std::fmt::Display>(error: E) -> String {
    error.to_string()
}

impl Cluster {
    /// None of it runs. There is a secret in the directory.
    pub fn at(dir: &Path) -> Cluster {
        Cluster { dir: dir.to_owned(), mgmt: None, services: Vec::new(), stores: Arc::default() }
    }

    fn secret(&self) -> PathBuf {
        self.dir.join("secret")
    }

    /// Starts a service; does not wait for it, but for management until it listens or has ended.
    pub fn start(&mut self, who: Who) {
        let (dir, mgmt) = (self.dir.join(who.dir()), self.mgmt.into_iter().collect::<Vec<_>>());
        let (address, secret) = (own_address(), self.secret());
        let (stop, run) = match who {
            Who::Mgmt => return self.start_mgmt(dir),
            Who::Meta => {
                let config = MetaConfig {
                    dir,
                    listen: address,
                    advertise: Vec::new(),
                    mgmt,
                    secret_file: secret,
                    alias: String::new(),
                    encrypt: false,
                    spare: false,
                    split_above: 0,
                    slow_operation: Duration::ZERO,
                    metrics: None,
                    sync_interval: SYNC,
                };
                on_thread(move |stopped| async {
                    let open = |dir: &Path, options: Options| Store::open(dir, small(options));
                    nyala_meta::run_on(config, &open, until_stopped(stopped)).await.map_err(error_text)
                })
            }
            Who::Storage1 | Who::Storage2 => {
                let mut config = StorageConfig::new(dir.join("node"), address, mgmt, secret);
                config.targets = vec![TargetSpec { dir: dir.join("target"), ..TargetSpec::default() }];
                (config.workers_per_target, config.cores) = (1, 1);
                config.sync_idle = Duration::from_millis(200);
                let disks = SmallDisks { who, stores: self.stores.clone() };
                on_thread(move |stopped| async move {
                    nyala_storage::run_on(config, &disks, until_stopped(stopped)).await.map_err(error_text)
                })
            }
        };
        self.services.push((who, Service { address, stop, run }));
    }

    fn start_mgmt(&mut self, dir: PathBuf) {
        let pattern = StripePattern { chunk_bytes: 64 << 10, num_targets: 2, ..StripePattern::default() };
        let settings = Settings {
            default_pattern: pattern,
            heartbeat_ms: 150,
            lease_ms: 1500,
            session_timeout_ms: 4000,
            ..Settings::default()
        };
        let config = MgmtConfig {
            listen: vec![own_address()],
            rest_listen: own_address(),
            settings,
            ..MgmtConfig::new(dir, self.secret())
        };
        let (tell, address) = mpsc::channel();
        let (stop, run) = on_thread(move |stopped| async move {
            let mgmt = Mgmt::open(config).map_err(error_text)?;
            tell.send((mgmt.addresses()[0], mgmt.rest_address())).expect("it is waited for");
            mgmt.run(until_stopped(stopped)).await.map_err(error_text)
        });
        // An error says that it has ended.
        let found = address.recv().ok();
        self.mgmt = found.map(|(address, _)| address);
        let address = found.map_or_else(own_address, |(_, rest)| rest);
        self.services.push((Who::Mgmt, Service { address, stop, run }));
    }

    /// Management's REST API, while it runs.
    pub fn rest(&self) -> SocketAddr {
        self.services.iter().find(|(who, _)| *who == Who::Mgmt).expect("it runs").1.address
    }

    fn handshake(&self, role: Role, cluster: u128) -> Option<HandshakeConfig> {
        Some(HandshakeConfig::new(Secret::load(&self.secret()).ok()?, cluster, role, 0))
    }

    /// The map, if management says it.
    pub async fn map(&self) -> Option<ClusterMap> {
        let client = MgmtClient::new(vec![self.mgmt?], self.handshake(Role::Client, 0)?);
        match client.call(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }).await {
            Ok(MgmtReply::Map(map)) => Some(*map),
            _ => None,
        }
    }

    /// Whether a service's newest run serves.
    fn serves(map: &ClusterMap, address: SocketAddr) -> bool {
        let is_its = |known: &SocketAddr| known.ip() == address.ip();
        let node = map.nodes.iter().find(|node| node.addresses.iter().any(is_its));
        node.is_some_and(|node| {
            let mut targets = map.targets.iter().filter(|target| target.node == node.id);
            node.reachability == Reachability::Online
                && targets.all(|target| target.reachability == Reachability::Online)
        })
    }

    /// Whether metadata, if it runs, answers: it is registered before its tables are open.
    async fn meta_answers(&self, map: Option<&ClusterMap>) -> bool {
        let Some((_, service)) = self.services.iter().find(|(who, _)| *who == Who::Meta) else { return true };
        let its = |address: &&SocketAddr| address.ip() == service.address.ip();
        let Some(map) = map else { return false };
        let Some(address) = map.nodes.iter().flat_map(|node| &node.addresses).find(its) else { return false };
        let pool = Pool::new(self.as_client(map), PoolOptions::default());
        let request = Request::new(message_type::PING, Vec::new()).with_timeout(Duration::from_millis(500));
        pool.call(&Endpoint::from(*address), request).await.is_ok_and(|answer| !answer.is_error())
    }

    /// Waits until each of the services that were started serves or has ended; how those ended that did.
    pub async fn settled(&mut self) -> Vec<(Who, Ended)> {
        let began = Instant::now();
        let mut ended = Vec::new();
        loop {
            while let Some(at) = self.services.iter().position(|(_, service)| service.run.is_finished()) {
                let (who, service) = self.services.remove(at);
                ended.push((who, finish(who, service.run)));
            }
            let mgmt = self.services.iter().any(|(who, _)| *who == Who::Mgmt);
            let map = self.map().await;
            let others = || self.services.iter().filter(|(who, _)| *who != Who::Mgmt);
            let up = |map: &ClusterMap| others().all(|(_, service)| Cluster::serves(map, service.address));
            let all = map.as_ref().is_some_and(up) && self.meta_answers(map.as_ref()).await;
            if !mgmt || all {
                return ended;
            }
            if began.elapsed() > START {
                let late = others().map(|(who, _)| (*who, Err("neither comes up nor ends".to_owned())));
                return ended.into_iter().chain(late).collect();
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until all members of all groups are good.
    pub async fn groups_are_good(&self, limit: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < limit {
            let good = |map: &ClusterMap| {
                let mut states = map.groups.iter().flat_map(|group| &group.states);
                states.all(|state| *state == MemberState::Good)
            };
            if self.map().await.is_some_and(|map| good(&map)) {
                return true;
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        false
    }

    /// One member's service has ended: whether a good one is left. If all were started anew at once, and the last good one
    /// is the one that does not come up, the other waits for an operator's word.
    pub async fn other_member_serves(&self) -> bool {
        let began = Instant::now();
        while began.elapsed() < START {
            if let Some(map) = self.map().await {
                let online = |id| map.target(id).is_some_and(|target| target.reachability == Reachability::Online);
                let members: Vec<_> = map.groups.iter().flat_map(|group| group.members_with_states()).collect();
                if members.iter().any(|(id, _)| !online(*id)) {
                    return members.iter().any(|(id, state)| online(*id) && *state == MemberState::Good);
                }
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        false
    }

    /// Returns when a service does not run any more.
    pub async fn ended(&self, who: Who) {
        while self.runs(who) {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub fn runs(&self, who: Who) -> bool {
        self.services.iter().any(|(running, service)| *running == who && !service.run.is_finished())
    }

    /// Brings a storage service's tables from its log into its tree; whatever comes of it.
    pub fn checkpoint(&self, who: Who) {
        let stores = self.stores.lock().unwrap();
        for (_, store) in stores.iter().filter(|(owner, _)| *owner == who) {
            // It may be damaged, which is what this is about.
            let _ = store.checkpoint_blocking();
        }
    }

    /// Ends a service in an orderly way. How it ended; nothing if it does not run.
    pub fn stop(&mut self, who: Who) -> Option<Ended> {
        self.stores.lock().unwrap().retain(|(owner, _)| *owner != who);
        let at = self.services.iter().position(|(running, _)| *running == who)?;
        let (_, service) = self.services.remove(at);
        // It may have ended before.
        let _ = service.stop.send(());
        Some(finish(who, service.run))
    }

    /// Ends all: metadata first, management last.
    pub fn stop_all(&mut self) -> Vec<(Who, Ended)> {
        let order = [Who::Meta, Who::Storage1, Who::Storage2, Who::Mgmt];
        order.into_iter().filter_map(|who| Some((who, self.stop(who)?))).collect()
    }

    /// A client that keeps nothing from others before it, and sends what it has soon.
    pub async fn client(&self, retry_timeout: Duration) -> Result<Client, String> {
        let config = ClientConfig {
            max_dirty_age: Duration::from_millis(2),
            close_delay: Duration::ZERO,
            retry_timeout,
            ..ClientConfig::new(
                self.mgmt.into_iter().collect(),
                Secret::load(&self.secret()).map_err(error_text)?,
                "flips:/",
            )
        };
        let connected = tokio::time::timeout(2 * retry_timeout, Client::connect(config)).await;
        connected.map_err(|_| format!("no client after {:?}", 2 * retry_timeout))?.map_err(error_text)
    }

    /// For requests of one's own.
    pub fn as_client(&self, map: &ClusterMap) -> HandshakeConfig {
        self.handshake(Role::Cli, u128::from_le_bytes(map.cluster.0)).expect("the secret is readable")
    }
}

fn finish(who: Who, run: JoinHandle<Ended>) -> Ended {
    run.join().unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("PANIC of {who:?}: {}", text.unwrap_or_default()))
    })
}

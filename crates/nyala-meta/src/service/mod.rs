// SPDX-License-Identifier: Apache-2.0

//! The shell around the metadata server (`nyala_namespace::server`): transport, log and disk. [`driver`] feeds it what happens and
//! carries out its effects; what goes on here beside the requests is the removal of chunk files ([`garbage`]), fences at storage
//! ([`fence`]) and ranges of inode numbers ([`ranges`]).
//!
//! One thread owns a target's tables and runs everything (a current-thread runtime); the store's own threads sync the
//! log and write checkpoints.
//!
//! Failure model: this process may die at any instruction; what it acknowledged was written to the log before, and the next
//! start takes up the rest from the tables. When the log cannot be written, the service ends, and says nothing more of what it
//! has in memory: that may then differ from what is on disk, and only the disk counts.

pub mod config;
mod driver;
pub mod error;
pub mod fence;
pub mod flusher;
pub mod garbage;
mod group_calls;
mod logged_tables;
mod notes;
pub mod numbered;
pub mod peers;
pub mod ranges;
pub mod state;
pub mod until_done;

use crate::tables::{Tables, store_error};
use config::MetaConfig;
use driver::Driver;
use error::MetaError;
use flusher::Flusher;
use nyala_store::own_dir::{Kind, OwnDir};
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_transport::member::{Bootstrap, Identity, Joined, Member, ServiceRole};
use nyala_transport::{Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, ServerOptions, Service, TransportError};
use nyala_wire::map::TargetKind;
use nyala_wire::message_type::{META, META_CHECKPOINT, META_FENCES, META_TX, PING, STATS};
use nyala_wire::mgmt::{Capacity, RegisterTarget, TargetCapacity};
use nyala_wire::{ClusterId, ErrorCode, MapVersion, TargetId, Time, WireError, codec};
use peers::Peers;
use state::State;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc;

/// How the tables in a directory are opened.
pub type OpenStore<'a> = &'a dyn Fn(&Path, Options) -> Result<(Store, Recovery), StoreError>;

/// Runs a metadata service until `shutdown`. Must be called on a current-thread runtime, inside a `LocalSet`.
pub async fn run(config: MetaConfig, shutdown: impl Future<Output = ()>) -> Result<(), MetaError> {
    run_on(config, &Store::open, shutdown).await
}

/// The same on tables that are opened another way, so that tests can put a simulated disk under the whole service.
pub async fn run_on(
    config: MetaConfig,
    open_store: OpenStore<'_>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), MetaError> {
    let secret = Secret::load(&config.secret_file)?;
    let mut dir = OwnDir::open(&config.dir, Kind::MetaTarget, ClusterId(random::<16>()?))?;
    let left = Arc::new(OnceLock::new());
    let mut shutdown = std::pin::pin!(shutdown);
    let joined = tokio::select! {
        joined = join(&config, &dir, secret, left.clone()) => joined?,
        () = &mut shutdown => return Ok(()),
    };
    let (member, handshake, listen) = (joined.member.clone(), joined.handshake.clone(), joined.listen);
    let me = member.targets().first().copied().unwrap_or_default();
    dir.registered(member.cluster(), me)?;
    let server = joined.bind(ServerOptions::default(), 1)?.pop().ok_or(TransportError::NoAddress)?;
    let (failed, mut failure) = mpsc::channel(1);
    let (driver, state) = tokio::select! {
        opened = open(&config, open_store, member, me, handshake, &left, failed) => opened?,
        () = &mut shutdown => return Ok(()),
    };
    tracing::info!(target = %me, node = %state.member.node(), %listen, "metadata service is up");
    let stop = server.shutdown_handle();
    let background = start_background(&driver, &state);
    let service = Rc::new(MetaService { driver, state: state.clone() });
    let ended = tokio::select! {
        served = server.serve(service) => served.map_err(MetaError::from),
        why = state.member.expelled() => Err(MetaError::Expelled(why)),
        // The flusher has the sender, and lives as long as the state.
        Some(why) = failure.recv() => Err(MetaError::Store(why)),
        () = &mut shutdown => Ok(()),
    };
    stop.stop();
    background.iter().for_each(|task| task.abort());
    if let Err(error) = state.member.goodbye().await {
        tracing::warn!(%error, "management did not hear the goodbye");
    }
    let closed = state.store.clone().close();
    ended.and(closed.map_err(MetaError::from))
}

/// What goes on beside the requests.
fn start_background(driver: &Rc<Driver>, state: &Rc<State>) -> [tokio::task::JoinHandle<()>; 4] {
    [
        tokio::task::spawn_local(driver.clone().keep_time()),
        tokio::task::spawn_local(garbage::collect(state.clone())),
        tokio::task::spawn_local(fence::settle::settle(state.clone())),
        tokio::task::spawn_local(ranges::run(state.clone())),
    ]
}

async fn join(
    config: &MetaConfig,
    dir: &OwnDir,
    secret: Secret,
    left: Arc<OnceLock<Arc<AtomicU64>>>,
) -> Result<Joined, MetaError> {
    let (uuid, id, cluster) = (dir.identity.uuid, dir.identity.target, dir.identity.cluster);
    let bootstrap = Bootstrap {
        role: ServiceRole::Meta,
        listen: config.listen,
        advertise: config.advertise.clone(),
        mgmt: config.mgmt.clone(),
        secret,
        encrypt: config.encrypt,
    };
    let target = RegisterTarget {
        uuid,
        id,
        alias: String::new(),
        kind: TargetKind::Meta,
        capacity: capacity(&config.dir, None),
        losses: 0,
        spare: false,
    };
    // The heartbeat reports the capacity under the id that registration gives.
    let given = Arc::new(AtomicU16::new(id.0));
    let (path, reported) = (config.dir.clone(), given.clone());
    let capacities = move || {
        let target = TargetId(reported.load(Ordering::Relaxed));
        let left = left.get().map(|left| left.load(Ordering::Relaxed));
        vec![TargetCapacity { target, capacity: capacity(&path, left) }]
    };
    let identity = Identity { cluster, uuid, alias: config.alias.clone() };
    let joined = bootstrap.join(identity, vec![target], capacities).await?;
    given.store(joined.member.targets().first().map_or(0, |target| target.0), Ordering::Relaxed);
    Ok(joined)
}

async fn open(
    config: &MetaConfig,
    open_store: OpenStore<'_>,
    member: Member,
    me: TargetId,
    handshake: HandshakeConfig,
    left: &OnceLock<Arc<AtomicU64>>,
    failed: mpsc::Sender<StoreError>,
) -> Result<(Rc<Driver>, Rc<State>), MetaError> {
    let options = Options { sync_interval: config.sync_interval, ..Options::default() };
    let (store, recovery) = open_store(&config.dir.join("tables"), options)?;
    tracing::info!(?recovery, "metadata tables are open");
    // Nobody has set it before.
    let _ = left.set(store.left_bytes());
    let flusher = Flusher::new(store.clone(), move |error| {
        tracing::error!(%error, "the metadata log cannot be written; the service ends so that it cannot disagree with its disk");
        // The first reason counts.
        let _ = failed.try_send(error.clone());
    });
    let boot = ranges::start(&store, &member, me, recovery.last_lsn).await?;
    let tables = Tables::new(store)?;
    let peers = Peers::new(handshake);
    let seed = u64::from_le_bytes(random::<8>()?);
    let state = Rc::new(State::new(me, tables, flusher, member, peers, boot));
    let driver = Rc::new(Driver::new(state.clone(), seed));
    driver.start(now())?;
    Ok((driver, state))
}

/// The time by the system's clock.
fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
}

fn random<const N: usize>() -> Result<[u8; N], MetaError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(MetaError::Random)?;
    Ok(bytes)
}

/// Free is what names may still take (`left`), if the tables know it: clients that close files without waiting have to hear of a
/// shortage before names are refused.
fn capacity(dir: &Path, left: Option<u64>) -> Capacity {
    let whole = nyala_transport::member::capacity(dir);
    Capacity { free_bytes: left.unwrap_or(whole.free_bytes).min(whole.total_bytes), ..whole }
}

/// Dispatches frames.
struct MetaService {
    driver: Rc<Driver>,
    state: Rc<State>,
}

impl Service for MetaService {
    fn relays_to(&self, address: SocketAddr) -> bool {
        self.state.map().has_server_at(address)
    }

    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        let state = &self.state;
        let result = match request.message_type() {
            META => match codec::decode(&request.body) {
                Ok(decoded) => {
                    catch_up(state, MapVersion(request.header.map_version)).await;
                    self.driver.request(decoded).await
                }
                Err(error) => Err(error),
            },
            META_TX if peer.role == Role::Meta => match codec::decode(&request.body) {
                Ok(request) => self.driver.transaction(request).await.map(|reply| codec::encode(&reply)),
                Err(error) => Err(error),
            },
            META_TX => Err(ErrorCode::UNAUTHORIZED.with("only metadata services take part in transactions")),
            META_FENCES if peer.role == Role::Storage => match codec::decode(&request.body) {
                Ok(decoded) => {
                    let theirs = MapVersion(request.header.map_version);
                    catch_up(state, theirs).await;
                    fence::pending(state, theirs, &decoded).map(|reply| codec::encode(&reply))
                }
                Err(error) => Err(error),
            },
            META_FENCES => Err(ErrorCode::UNAUTHORIZED.with("only storage services ask whom to fence")),
            META_CHECKPOINT => checkpointed(state).await,
            PING => Ok(Vec::new()),
            STATS => Ok(codec::encode(&nyala_transport::process::stats(counters(&self.driver, state)))),
            other => {
                Err(ErrorCode::UNKNOWN_MESSAGE.with(format!("a metadata service does not know message {other:#06x}")))
            }
        };
        let reply = match result {
            Ok(body) => Reply::ok(body),
            Err(error) => Reply::error(codec::encode(&error)),
        };
        let (durable, applied) = (state.store.durable().0, state.store.applied().0);
        Reply {
            map_version: state.map().version.0,
            run: nyala_namespace::runs::number(state.boot),
            log_position: durable,
            unsynced_records: u32::try_from(applied.saturating_sub(durable)).unwrap_or(u32::MAX),
            ..reply
        }
    }

    fn rests_on(&self) -> u64 {
        self.state.flusher.rests_on()
    }

    fn safe_up_to(&self) -> u64 {
        self.state.flusher.writes()
    }

    async fn settle(&self, number: u64) -> bool {
        while self.state.flusher.writes() < number {
            if self.state.flusher.flushed().await.is_err() {
                return false;
            }
        }
        true
    }
}

/// Waits a moment if the sender holds a newer cluster map than this server: it knows targets that we do not know yet.
async fn catch_up(state: &State, theirs: MapVersion) {
    if theirs > state.map().version {
        let newer = state.member.watch().newer_than(MapVersion(theirs.0 - 1));
        let _ = tokio::time::timeout(Duration::from_secs(1), newer).await;
    }
}

/// How long a checkpoint may take before whoever asked for it is told to ask again.
const CHECKPOINT: Duration = Duration::from_secs(8);

async fn checkpointed(state: &State) -> Result<Vec<u8>, WireError> {
    let checkpoint = tokio::time::timeout(CHECKPOINT, state.store.checkpointed()).await;
    checkpoint.map_err(|_| ErrorCode::BUSY.with("the checkpoint is not through yet"))?.map_err(store_error)?;
    Ok(Vec::new())
}

fn counters(driver: &Driver, state: &State) -> Vec<(String, u64)> {
    let server = driver.server();
    let known = server.state();
    let mut counters: Vec<(String, u64)> =
        known.counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let store = state.store.stats();
    counters.push(("sessions".into(), known.sessions.len() as u64));
    let (held, revocations) = known.delegations.figures();
    counters.push(("delegation.held".into(), held as u64));
    counters.push(("delegation.revocations".into(), revocations));
    counters.push(("log.syncs".into(), store.syncs));
    counters.push(("log.checkpoints".into(), store.checkpoints));
    counters.push(("log.records".into(), store.applied.0));
    counters
}

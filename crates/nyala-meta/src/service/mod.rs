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

mod access;
mod busiest;
pub mod config;
mod counters;
mod damage;
mod driver;
pub mod error;
pub mod fence;
pub mod flusher;
pub mod garbage;
pub mod group;
mod group_calls;
mod group_metrics;
pub mod host;
mod logged_tables;
mod message_ops;
mod metrics;
mod notes;
pub mod numbered;
pub mod peers;
pub mod ranges;
mod reported;
mod scan;
mod server_metrics;
pub mod state;
mod turn_clock;
pub mod until_done;

use crate::store_error::store_error;
use access::subtree::Subtree;
use bytes::Bytes;
use config::MetaConfig;
use counters::{counters, stats};
use damage::refill::Refill;
use error::MetaError;
use flusher::Flusher;
use group::News;
use group::wire::Message;
use host::{End, Host, Serving, is_alone};
use metrics::Metrics;
use nyala_namespace::server::op_names::op_number;
use nyala_scrape::{Pages, Scrapes};
use nyala_store::own_dir::{Kind, OwnDir};
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_transport::member::{Bootstrap, Identity, Joined, Member, ServiceRole};
use nyala_transport::trace::{self, SlowOperations};
use nyala_transport::{Frame, HandshakeConfig, KeyRules, PeerInfo, Reply, Role, Secret, Service, TransportError};
use nyala_wire::map::TargetKind;
use nyala_wire::message_type::{
    BUSIEST, META, META_CHECKPOINT, META_FENCES, META_LOCATE, META_NAMES, META_REPLICA, META_SCAN, META_TX, METRICS,
    PING, STATS,
};
use nyala_wire::meta::{MetaOp, MetaRequest};
use nyala_wire::mgmt::{Capacity, RegisterTarget, TargetCapacity};
use nyala_wire::{ClusterId, ErrorCode, MapVersion, TargetId, WireError, codec};
use reported::Reported;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::Instant;

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
    let mut shutdown = std::pin::pin!(shutdown);
    run_here(config, open_store, shutdown.as_mut()).await
}

/// Done when the service is to end.
type Shutdown<'a> = Pin<&'a mut dyn Future<Output = ()>>;

/// Neither generic nor `async`: so the service's code is made once, in this crate, and not in each that awaits it.
fn run_here<'a>(
    config: MetaConfig,
    open_store: OpenStore<'a>,
    shutdown: Shutdown<'a>,
) -> Pin<Box<dyn Future<Output = Result<(), MetaError>> + 'a>> {
    Box::pin(run_again(config, open_store, shutdown))
}

async fn run_again(config: MetaConfig, open_store: OpenStore<'_>, mut shutdown: Shutdown<'_>) -> Result<(), MetaError> {
    let mut dir = OwnDir::open(&config.dir, Kind::MetaTarget, ClusterId(random::<16>()?))?;
    let mut scrapes = Scrapes::at(config.metrics)?;
    let metrics = Rc::new(Metrics::new(SlowOperations::new(config.slow_operation)));
    let refill = Refill::new(&config.dir);
    loop {
        // What a run began ends with it.
        let tasks = LocalSet::new();
        let run = tasks.run_until(run_once(
            &config,
            (&mut dir, &refill),
            open_store,
            (&metrics, &mut scrapes),
            shutdown.as_mut(),
        ));
        let Some(why) = run.await? else { return Ok(()) };
        tracing::info!(why, "the metadata service begins anew");
    }
}

/// One run: `None` when the service is to stop, or why another run is to follow.
async fn run_once(
    config: &MetaConfig,
    (dir, refill): (&mut OwnDir, &Refill),
    open_store: OpenStore<'_>,
    (metrics, scrapes): (&Rc<Metrics>, &mut Scrapes),
    mut shutdown: Shutdown<'_>,
) -> Result<Option<&'static str>, MetaError> {
    let secret = Secret::load(&config.secret_file)?;
    secret.require(Role::Meta)?;
    let reported = Arc::new(Reported::default());
    let joined = tokio::select! {
        joined = join(config, dir, secret, reported.clone()) => joined?,
        never = scrapes.answer(Metrics::write_joining) => match never {},
        () = &mut shutdown => return Ok(None),
    };
    let (member, handshake, listen) = (joined.member.clone(), joined.handshake.clone(), joined.listen);
    let me = member.targets().first().copied().unwrap_or_default();
    dir.registered(member.cluster(), me)?;
    let server = joined.bind(metrics.server_options(), 1)?.pop().ok_or(TransportError::NoAddress)?;
    let (ends, mut ended) = mpsc::channel(1);
    let (host, heard) = open(config, (open_store, refill), member.clone(), me, handshake, &reported, ends)?;
    tokio::task::spawn_local(host.clone().follow_group(heard));
    let mut up = Box::pin(host.up.notified());
    up.as_mut().enable();
    tokio::task::spawn_local(host.clone().follow_map());
    let stop = server.shutdown_handle();
    let service = Rc::new(MetaService { host: host.clone(), metrics: metrics.clone(), pages: scrapes.pages() });
    let service = serve(server, service, (is_alone(&member.map(), me), up), listen);
    let outcome = tokio::select! {
        served = service => served.map(|()| None).map_err(MetaError::from),
        why = member.expelled() => Err(MetaError::Expelled(why)),
        // The host has the sender, and lives as long as this.
        Some(end) = ended.recv() => match end {
            End::Again(why) => Ok(Some(why)),
            End::Failed(error) => Err(MetaError::Store(error)),
            End::Broken(error) => Err(error),
        },
        never = scrapes.answer(|page| metrics.write(page, &host, capacity_of(config, &reported))) => match never {},
        never = reported.follow(&host.tables) => match never {},
        never = damage::watch(&host, refill) => match never {},
        () = &mut shutdown => Ok(None),
    };
    let outcome = damage::instead(outcome, &host, refill);
    stop.stop();
    if let Err(error) = member.goodbye().await {
        tracing::warn!(%error, "management did not hear the goodbye");
    }
    let closed = host.close(&outcome).map_err(MetaError::from);
    outcome.and_then(|why| closed.map(|()| why))
}

/// Serves; begins with that at once, or when the server is `up`.
async fn serve(
    server: nyala_transport::Server,
    service: Rc<MetaService>,
    (waits, up): (bool, impl Future<Output = ()>),
    listen: SocketAddr,
) -> Result<(), TransportError> {
    // A server that is alone answers from the beginning. A member says who does, and is heard by others whatever it becomes.
    if waits {
        up.await;
    }
    let (target, node) = (service.host.me, service.host.member.node());
    tracing::info!(%target, %node, %listen, "metadata service is up");
    server.serve(service).await
}

async fn join(config: &MetaConfig, dir: &OwnDir, secret: Secret, reported: Arc<Reported>) -> Result<Joined, MetaError> {
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
        spare: config.spare,
    };
    // The heartbeat reports the capacity under the id that registration gives.
    let given = Arc::new(AtomicU16::new(id.0));
    let (path, id) = (config.dir.clone(), given.clone());
    let capacities = move || {
        let target = TargetId(id.load(Ordering::Relaxed));
        let room = capacity(&path, reported.free());
        vec![TargetCapacity { inodes: reported.inodes(), ..TargetCapacity::new(target, room) }]
    };
    let identity = Identity { cluster, uuid, alias: config.alias.clone() };
    let joined = bootstrap.join(identity, vec![target], capacities).await?;
    given.store(joined.member.targets().first().map_or(0, |target| target.0), Ordering::Relaxed);
    Ok(joined)
}

fn open(
    config: &MetaConfig,
    (open_store, refill): (OpenStore<'_>, &Refill),
    member: Member,
    me: TargetId,
    handshake: HandshakeConfig,
    reported: &Reported,
    ends: mpsc::Sender<End>,
) -> Result<(Rc<Host>, mpsc::UnboundedReceiver<News>), MetaError> {
    let options = Options { sync_interval: config.sync_interval, ..Options::default() };
    let may_be_emptied = damage::may_be_emptied(&member.map(), me);
    let (tables, recovery) = damage::opening::open(refill, may_be_emptied, open_store, &options)?;
    tracing::info!(?recovery, "metadata tables are open");
    reported.opened(tables.store.available_bytes());
    let failed = ends.clone();
    let flusher = Flusher::new(tables.store.clone(), move |error| {
        tracing::error!(%error, "the metadata log cannot be written; the service ends so that it cannot disagree with its disk");
        // The first reason counts.
        let _ = failed.try_send(End::Failed(error.clone()));
    });
    Ok(Host::new(me, tables, flusher, member, handshake, config.split_above, ends)?)
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

fn capacity_of(config: &MetaConfig, reported: &Reported) -> Capacity {
    capacity(&config.dir, reported.free())
}

/// A reply, and the place in the log of the change that it is to, if that is known.
#[derive(Default)]
struct Answered {
    body: Vec<u8>,
    payload: Vec<Bytes>,
    position: Option<u64>,
}

/// Dispatches frames.
struct MetaService {
    host: Rc<Host>,
    metrics: Rc<Metrics>,
    pages: Pages,
}

impl MetaService {
    /// The server that works here.
    fn serving(&self) -> Result<Serving, WireError> {
        let elsewhere = || {
            let me = self.host.me;
            match self.host.member.map().server_on(me) {
                Some(_) => ErrorCode::NOT_READY.with("this metadata server is about to begin its work"),
                // Who works elsewhere by now may have done what is asked for.
                None => ErrorCode::WRONG_EPOCH.with(format!("no metadata server works on target {me} now")),
            }
        };
        self.host.serving().ok_or_else(elsewhere)
    }

    /// Answers a client, held to what its key is held to.
    async fn ask(
        &self,
        peer: &PeerInfo,
        request: &Frame,
        came: Instant,
        op: &mut usize,
    ) -> Result<Answered, WireError> {
        let Serving { driver, state } = self.serving()?;
        let mut decoded: MetaRequest = codec::decode(&request.body)?;
        let held = state.member.watch().restriction(peer);
        access::admitted(held.as_ref())?;
        let rule = held.as_ref().map(|held| &held.rule);
        let read_only = rule.is_some_and(|rule| rule.read_only);
        let rules = KeyRules { read_only: peer.grant.rules.read_only || read_only };
        access::request(peer.role, rules, &decoded)?;
        let root = held.as_ref().and_then(|held| held.root);
        let subtree = root.map(|root| Subtree::new(root, &self.host.secret, state.member.cluster()));
        if let Some(subtree) = &subtree {
            subtree.check(&decoded, &request.payload)?;
        }
        let granter =
            access::storage_grants::granter(&decoded.op, held.as_ref(), (&self.host.secret, state.member.cluster()));
        let finds = subtree.is_some() && access::subtree::finds(&decoded.op);
        access::ids::take(rule, &mut decoded)?;
        self.metrics.asked(&decoded);
        let list = access::shown_ids::asks_for_list(&decoded.op);
        *op = op_number(&decoded.op);
        decoded.op.routing_inode().into_iter().for_each(trace::inode);
        // Whoever polls, or waits for a lock, does so until there is news or a lock.
        if matches!(decoded.op, MetaOp::DelegationPoll { .. } | MetaOp::LockWait { .. }) {
            trace::waits_on_purpose();
        }
        self.host.group().inspect(|group| group.asked());
        catch_up(&state.member, MapVersion(request.header.map_version)).await;
        let (mut body, position) = driver.request(decoded, came).await?;
        body = access::storage_grants::with_code(granter, body)?;
        let proven = subtree.map(|subtree| subtree.proven(finds, &body)).transpose()?;
        if let Some(rule) = rule {
            body = access::shown_ids::shown(rule, list, body)?;
        }
        let payload = proven.map(Bytes::from).into_iter().collect();
        Ok(Answered { body, position, payload })
    }

    /// Answers a request that came at that moment; `op` becomes the operation's number.
    async fn answer(
        &self,
        peer: &PeerInfo,
        request: &Frame,
        came: Instant,
        op: &mut usize,
    ) -> Result<Answered, WireError> {
        let host = &self.host;
        access::message(peer.role, request.message_type())?;
        let body = match request.message_type() {
            META => return self.ask(peer, request, came, op).await,
            META_TX => {
                let request = codec::decode(&request.body)?;
                codec::encode(&self.serving()?.driver.transaction(request).await?)
            }
            META_FENCES => {
                let Serving { state, .. } = self.serving()?;
                let decoded = codec::decode(&request.body)?;
                let theirs = MapVersion(request.header.map_version);
                catch_up(&state.member, theirs).await;
                codec::encode(&fence::pending(&state, theirs, &decoded)?)
            }
            META_REPLICA => {
                let (body, payload) = replicate(host, request).await?;
                return Ok(Answered { body, payload, position: None });
            }
            META_SCAN => scan::answer(&self.serving()?.state, peer.role, &request.body).await?,
            META_LOCATE => scan::locate(&self.serving()?.state, &request.body)?,
            META_NAMES => scan::names(&self.serving()?.state, &request.body)?,
            BUSIEST => self.metrics.busy.answer(&request.body)?,
            META_CHECKPOINT => checkpointed(&host.tables.store).await?,
            PING => Vec::new(),
            STATS => codec::encode(&stats(host, counters(host, &self.metrics))),
            METRICS => return Ok(Answered { payload: self.pages.payload().await?, ..Answered::default() }),
            other => {
                let what = format!("a metadata service does not know message {other:#06x}");
                return Err(ErrorCode::UNKNOWN_MESSAGE.with(what));
            }
        };
        Ok(Answered { body, ..Answered::default() })
    }
}

/// What another member says, and the answer.
async fn replicate(host: &Host, request: &Frame) -> Result<(Vec<u8>, Vec<Bytes>), WireError> {
    let (Message { from, to, envelope, .. }, records) = group::wire::decode(&request.body, &request.payload)?;
    let shell = host.group().filter(|shell| to == host.me && shell.group() == envelope.group);
    let shell = shell.ok_or_else(|| {
        host.member.watch().heard_of(MapVersion(request.header.map_version));
        ErrorCode::NOT_READY
            .with(format!("target {to} is not known here as a member of mirror group {}", envelope.group))
    })?;
    let answer = shell.hear(from, envelope, records).await;
    Ok(answer.map(|(envelope, records)| group::wire::encode(to, from, envelope, &records)).unwrap_or_default())
}

impl Service for MetaService {
    fn has_server_at(&self, address: SocketAddr) -> bool {
        self.host.member.map().has_server_at(address)
    }

    fn relays_to(&self, peer: &PeerInfo, address: SocketAddr) -> bool {
        nyala_transport::may_relay(&self.host.member.map(), peer, address)
    }

    fn connected(&self, peer: &PeerInfo) {
        self.metrics.connected(peer);
    }

    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        let (began, mut op) = (Instant::now(), message_ops::op_of(request.message_type()));
        self.metrics.began(began);
        let answered = self.answer(peer, &request, began, &mut op).await;
        self.metrics.answered(peer, op, began, answered.is_err());
        trace::operation(message_ops::op_name(op));
        let (reply, position) = match answered {
            Ok(Answered { body, payload, position }) => (Reply::ok(body).with_payload(payload), position),
            Err(error) => (Reply::error(codec::encode(&error)), None),
        };
        let map_version = self.host.member.map().version.0;
        let Some(Serving { state, .. }) = self.host.serving() else { return Reply { map_version, ..reply } };
        let (durable, applied) = state.positions();
        Reply {
            map_version,
            run: nyala_namespace::runs::number(state.boot),
            log_position: durable,
            unsynced_records: u32::try_from(position.unwrap_or(applied).saturating_sub(durable)).unwrap_or(u32::MAX),
            ..reply
        }
    }

    fn rests_on(&self) -> u64 {
        self.host.flusher.rests_on()
    }

    fn rests_in(&self) -> &'static str {
        self.host.flusher.name()
    }

    fn safe_up_to(&self) -> u64 {
        self.host.flusher.writes_done()
    }

    async fn settle(&self, number: u64) -> bool {
        while self.host.flusher.writes_done() < number {
            if self.host.flusher.flushed().await.is_err() {
                return false;
            }
        }
        true
    }
}

/// Waits a moment if the sender holds a newer cluster map than this server: it knows targets that we do not know yet.
async fn catch_up(member: &Member, theirs: MapVersion) {
    if theirs > member.map().version {
        let newer = member.watch().newer_than(MapVersion(theirs.0 - 1));
        let _ = tokio::time::timeout(Duration::from_secs(1), newer).await;
    }
}

/// How long a checkpoint may take before whoever asked for it is told to ask again.
const CHECKPOINT: Duration = Duration::from_secs(8);

async fn checkpointed(store: &Store) -> Result<Vec<u8>, WireError> {
    let checkpoint = tokio::time::timeout(CHECKPOINT, store.checkpointed()).await;
    checkpoint.map_err(|_| ErrorCode::BUSY.with("the checkpoint is not through yet"))?.map_err(store_error)?;
    Ok(Vec::new())
}

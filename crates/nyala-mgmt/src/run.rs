// SPDX-License-Identifier: Apache-2.0

//! Start and stop of the service.

use crate::core::Core;
use crate::directory::{Begin, Directory, OpenStore};
use crate::leadership::{self, Bootstrap};
use crate::raft::log::RaftLog;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::peers::Peers;
use crate::raft::rpc::Receiver;
use crate::raft::{self, Raft};
use crate::rest::tls::{self, Spoken, Tls};
use crate::rest::{self, RestListener, Tokens};
use crate::service::MgmtService;
use crate::web::{Locator, Sampler};
use crate::{MgmtConfig, MgmtError, bootstrap, liveness, members, metrics, re_register};
use nyala_scrape::Scrapes;
use nyala_store::Store;
use nyala_transport::advertise::advertised_address;
use nyala_transport::member::MgmtClient;
use nyala_transport::trace::SlowOperations;
use nyala_transport::{
    HandshakeConfig, Pool, PoolOptions, Role, Secret, Server, ServerOptions, TransportError, process,
};
use nyala_wire::ClusterId;
use openraft::BasicNode;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A node that starts again stands for election only once it has heard a leader, or has had this time to.
const QUIET_START: Duration = Duration::from_millis(1500);
/// Longest wait for a connection to another management node.
const CONNECT: Duration = Duration::from_millis(500);

/// Done when the service is to end.
type Shutdown<'a> = Pin<&'a mut dyn Future<Output = ()>>;

/// A management service that is open and listens, but does not answer yet.
pub struct Mgmt {
    directory: Directory,
    config: MgmtConfig,
    handshake: HandshakeConfig,
    server: Server,
    rest: RestListener,
    tokens: Tokens,
    scrapes: Scrapes,
    slow: SlowOperations,
}

/// Opens the service and runs it until `shutdown` is done. Must be awaited on a current-thread runtime (or by `block_on`
/// of any); it brings its own `LocalSet`.
pub async fn run(config: MgmtConfig, shutdown: impl Future<Output = ()>) -> Result<(), MgmtError> {
    Mgmt::open(config)?.run(shutdown).await
}

/// Certificate and key of HTTP, if it is to be encrypted.
fn encrypted(spoken: &Spoken, config: &MgmtConfig, dir: &Path) -> Result<Option<Tls>, MgmtError> {
    match spoken {
        Spoken::Plain => Ok(None),
        Spoken::Certificate(certificate, key) => Tls::load(certificate, key).map(Some),
        Spoken::OwnCertificate => {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
            Tls::own(dir, &tls::hosts(config.rest_listen, &config.advertise, name)).map(Some)
        }
    }
}

impl Mgmt {
    /// Takes the directory and the ports. Needs no runtime; blocks on the disk.
    pub fn open(config: MgmtConfig) -> Result<Mgmt, MgmtError> {
        Mgmt::open_on(config, &Store::open)
    }

    /// The same with a store that is opened another way, so that tests can put a simulated disk under the whole service.
    pub fn open_on(config: MgmtConfig, opens: OpenStore<'_>) -> Result<Mgmt, MgmtError> {
        let (certificate, key) = (config.rest_certificate.as_deref(), config.rest_key.as_deref());
        let spoken = tls::spoken(config.rest_listen, config.rest_insecure, certificate, key)?;
        process::raise_descriptor_limit();
        let secret = Secret::load(&config.secret_file)?;
        secret.require(Role::Mgmt)?;
        let further = config.standby || !config.join.is_empty();
        let begin = if further { Begin::Further } else { Begin::First(config.cluster) };
        let directory = Directory::open(&config.dir, config.cluster, begin, opens)?;
        let tokens = Tokens::load_or_create(&directory.path)?;
        let cluster = u128::from_le_bytes(directory.identity.cluster.0);
        let handshake =
            HandshakeConfig { encrypt: config.encrypt, ..HandshakeConfig::new(secret, cluster, Role::Mgmt, 0) };
        let slow = SlowOperations::new(config.slow_operation);
        let options = ServerOptions { slow: slow.clone(), ..ServerOptions::default() };
        let server = Server::bind(&config.listen, handshake.clone(), options)?;
        let listen = || -> std::io::Result<TcpListener> {
            let listener = TcpListener::bind(config.rest_listen)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let rest = listen().map_err(|cause| MgmtError::RestListen { address: config.rest_listen, cause })?;
        let tls = encrypted(&spoken, &config, &directory.path)?.map(Arc::new);
        let rest = RestListener { listener: rest, tls, secret: handshake.secret.clone() };
        let scrapes = Scrapes::at(config.metrics)?;
        Ok(Mgmt { directory, config, handshake, server, rest, tokens, scrapes, slow })
    }

    /// The cluster; `UNKNOWN` for a node that is still to become a member of one.
    pub fn cluster(&self) -> ClusterId {
        self.directory.identity.cluster
    }

    /// Where it listens for services and clients; tells the ports where 0 was configured.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.server.local_addresses()
    }

    /// Where it listens for HTTP.
    pub fn rest_address(&self) -> SocketAddr {
        self.rest.listener.local_addr().unwrap_or(self.config.rest_listen)
    }

    /// The file with the token of the REST API.
    pub fn rest_token_file(&self) -> PathBuf {
        self.directory.path.join("rest.token")
    }

    /// Serves until `shutdown` is done. See [`run`] for the runtime.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), MgmtError> {
        let mut shutdown = std::pin::pin!(shutdown);
        self.run_here(shutdown.as_mut()).await
    }

    /// Neither generic nor `async`: so the service's code is made once, in this crate, and not in each that awaits it.
    fn run_here(self, shutdown: Shutdown<'_>) -> Pin<Box<dyn Future<Output = Result<(), MgmtError>> + '_>> {
        Box::pin(async { tokio::task::LocalSet::new().run_until(self.serve(shutdown)).await })
    }

    async fn serve(mut self, mut shutdown: Shutdown<'_>) -> Result<(), MgmtError> {
        let store = self.directory.store.clone();
        let stop = self.server.shutdown_handle();
        let listens = self.addresses();
        let incarnation = crate::directory::random_id()?.0.first_chunk().copied().map(u64::from_le_bytes);
        let (incarnation, addresses) = (incarnation.unwrap_or_default(), self.advertised());
        let newcomer = self.directory.identity.node_id == 0;
        let adopted = (newcomer && self.config.standby).then(|| watch::Sender::new(Vec::new()));
        let slow = self.slow.clone();
        let service = Rc::new(MgmtService {
            slow,
            store: Some(store.clone()),
            ..MgmtService::new(adopted, self.scrapes.pages())
        });
        let mut listening = Listening::new(self.server, &service);
        if newcomer {
            tracing::info!(?listens, "management service waits to become a member of a cluster");
            let client = MgmtClient::new(self.config.join.clone(), self.handshake.clone());
            let enter = enter(&mut self.directory, &service, client, &self.handshake, &addresses, incarnation);
            let entered = tokio::select! {
                () = &mut shutdown => Ok(false),
                never = self.scrapes.answer(metrics::write_waiting) => match never {},
                entered = enter => entered.map(|()| true),
            };
            if !matches!(entered, Ok(true)) {
                stop.stop();
                return store.close().map_err(MgmtError::Store).and(entered.map(drop));
            }
        }
        let identity = self.directory.identity.clone();
        self.handshake.cluster_id = u128::from_le_bytes(identity.cluster.0);
        let settings = self.config.settings.clone();
        let bootstrap = Bootstrap { dir: self.directory.path.clone(), identity, settings, addresses, incarnation };
        let core = start_raft(&self.directory, &self.config, self.handshake.clone(), &bootstrap).await?;
        let (cluster, node, rest_address) = (bootstrap.identity.cluster, core.me, self.rest.listener.local_addr().ok());
        tracing::info!(%cluster, node, ?listens, ?rest_address, "management service runs");
        // Set once: it was empty until here.
        let _ = service.core.set(core.clone());
        listening.go_on(self.handshake.cluster_id, &service);
        core.watch_links(self.handshake.clone());
        let sampler = Sampler::start(&core, self.handshake.clone(), self.config.sample_every)?;
        let locator = Arc::new(Locator::new(self.handshake.clone()));
        let rest = rest::serve(self.rest, core.clone(), self.tokens, (sampler.sampled(), locator))?;
        let known = self.config.join.iter().chain(&bootstrap.identity.found_at).copied().collect();
        let client = MgmtClient::new(known, self.handshake);
        let outcome = tokio::select! {
            () = &mut shutdown => Ok(()),
            error = leadership::follow(&core, &bootstrap) => Err(error),
            error = re_register::stay_known(&core, &bootstrap, &client) => Err(error),
            () = liveness::watch_over(&core) => Ok(()),
            () = members::reconcile(&core) => Ok(()),
            () = stand_for_election(&core) => Ok(()),
            entry = core.receiver.is_behind() => Err(is_behind(&core, &bootstrap, entry)),
            () = core.receiver.peers.is_removed() => Err(removed(&bootstrap)),
            ended = listening.ended() => ended,
            error = rest.ended() => Err(error),
            never = self.scrapes.answer(|page| metrics::write(page, &core, (&service.requests, &service.slow), &store)) => match never {},
        };
        core.leads_in.store(0, std::sync::atomic::Ordering::Release);
        core.links.lock().take();
        stop.stop();
        rest.stop().await;
        sampler.stop().await;
        if let Err(error) = core.raft.shutdown().await {
            tracing::warn!(%error, "Raft did not stop cleanly");
        }
        let closed = store.close().map_err(MgmtError::Store);
        outcome.and(closed)
    }

    fn advertised(&self) -> Vec<SocketAddr> {
        if !self.config.advertise.is_empty() {
            return self.config.advertise.clone();
        }
        let peers = self.config.join.iter().chain(&self.directory.identity.found_at);
        let peers: Vec<SocketAddr> = peers.copied().collect();
        self.addresses().into_iter().map(|address| advertised_address(address, &peers)).collect()
    }
}

/// The listening task, which begins at once where an operator is waited for, and else once the cluster is known.
struct Listening {
    later: Option<Server>,
    task: Option<JoinHandle<Result<(), TransportError>>>,
}

impl Listening {
    fn new(server: Server, service: &Rc<MgmtService>) -> Listening {
        if service.adopted.is_none() {
            return Listening { later: Some(server), task: None };
        }
        Listening { later: None, task: Some(tokio::task::spawn_local(server.serve(service.clone()))) }
    }

    fn go_on(&mut self, cluster: u128, service: &Rc<MgmtService>) {
        if let Some(server) = self.later.take() {
            self.task = Some(tokio::task::spawn_local(server.in_cluster(cluster).serve(service.clone())));
        }
    }

    async fn ended(&mut self) -> Result<(), MgmtError> {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        match task.await {
            Ok(served) => served.map_err(MgmtError::from),
            Err(error) => Err(MgmtError::Raft(format!("the listening task ended: {error}"))),
        }
    }
}

/// Becomes a member: asks for cluster and number, and notes them.
async fn enter(
    directory: &mut Directory,
    service: &MgmtService,
    mut client: MgmtClient,
    handshake: &HandshakeConfig,
    addresses: &[SocketAddr],
    incarnation: u64,
) -> Result<(), MgmtError> {
    if let Some(adopted) = &service.adopted {
        let mut adopted = adopted.subscribe();
        // An error means that the sender is gone, which cannot be while `service` lives.
        let named = adopted.wait_for(|mgmt| !mgmt.is_empty()).await.map(|mgmt| mgmt.clone()).unwrap_or_default();
        client = MgmtClient::new(named, handshake.clone());
    }
    let uuid = directory.identity.uuid;
    let (cluster, node) = bootstrap::ask_number(&client, uuid, addresses, incarnation).await?;
    directory.set_member(cluster, u64::from(node.0), client.addresses())
}

async fn start_raft(
    directory: &Directory,
    config: &MgmtConfig,
    handshake: HandshakeConfig,
    bootstrap: &Bootstrap,
) -> Result<Arc<Core>, MgmtError> {
    let log = RaftLog::new(directory.store.clone());
    let stored = |e: &dyn std::fmt::Display| MgmtError::Stored { dir: directory.path.clone(), reason: e.to_string() };
    let machine = Machine::load(log.clone()).map_err(|e| stored(&e))?;
    let view = machine.view();
    let raft_config = raft::config(&config.raft).map_err(MgmtError::Raft)?;
    // A peer that vanished must not hold up the search for it for long.
    let handshake = HandshakeConfig { connect_timeout: CONNECT, handshake_timeout: CONNECT, ..handshake };
    let Bootstrap { identity, addresses, .. } = bootstrap;
    if let Some(address) = nyala_cluster::leader::addresses::misleading(&view.state(), identity.uuid, addresses) {
        return Err(MgmtError::AdvertisesLoopback(address));
    }
    let id = identity.node_id;
    let hints: Vec<SocketAddr> = config.join.iter().chain(&identity.found_at).copied().collect();
    let peers = Arc::new(Peers::new(identity.cluster, id, addresses, &hints));
    let pool = Pool::new(handshake, PoolOptions::default());
    let network = Network::new(pool, view.clone(), peers.clone(), config.raft.cut.clone());
    let contacts = network.contacts();
    let raft = Raft::new(id, Arc::new(raft_config), network, log.clone(), machine).await;
    let raft = raft.map_err(|e| stored(&e))?;
    let failed = |e: &dyn std::fmt::Display| MgmtError::Raft(e.to_string());
    let known = raft.is_initialized().await.map_err(|e| failed(&e))?;
    if !known && !bootstrap.identity.joined {
        raft.runtime_config().elect(true);
        let address = bootstrap.addresses.first().map(ToString::to_string).unwrap_or_default();
        let members = BTreeMap::from([(id, BasicNode::new(address))]);
        raft.initialize(members).await.map_err(|e| failed(&e))?;
    }
    let receiver = Receiver::new(raft, peers, log, view.clone());
    Ok(Arc::new(Core::new(receiver, id, view, contacts, config.raft.clone())))
}

/// A peer says that management goes on without this node.
fn removed(bootstrap: &Bootstrap) -> MgmtError {
    MgmtError::Removed { node: bootstrap.identity.node_id, dir: bootstrap.dir.clone() }
}

/// The log lacks an entry that this node has confirmed.
fn is_behind(core: &Core, bootstrap: &Bootstrap, entry: u64) -> MgmtError {
    let reason = format!(
        "entry {entry}, which this node has confirmed to the cluster, is missing: was the directory restored from a copy, \
         or has the disk lost writes? Remove the node (nyala mgmt remove {} --yes), empty the directory, and start the service \
         with --join",
        core.me
    );
    MgmtError::Stored { dir: bootstrap.dir.clone(), reason }
}

/// Lets this node stand for election once it cannot break what it promised before its start, nor disturb a leader that
/// has not found it again yet. Never ends.
async fn stand_for_election(core: &Core) {
    let mut metrics = core.raft.metrics();
    let quiet = metrics.wait_for(|now| {
        let others = now.membership_config.voter_ids().any(|id| id != core.me);
        let alone = !others && now.membership_config.voter_ids().count() == 1;
        alone || now.current_leader.is_some_and(|leader| leader != core.me)
    });
    // Over when one of the two holds, when the time is up, or when Raft has ended, which others notice.
    let _ = tokio::time::timeout(QUIET_START, quiet).await;
    core.raft.runtime_config().elect(true);
    std::future::pending().await
}

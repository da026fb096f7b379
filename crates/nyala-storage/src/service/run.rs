// SPDX-License-Identifier: Apache-2.0

//! Start, life and end of a storage service. Failure model: see the parent module.

use super::access::Shown;
use super::exports::Exports;
use super::far_sets;
use super::handler::{StorageService, read_budget};
use super::metrics::Metrics;
use super::metrics_page::MetricsPage;
use super::mirror::{Mirrors, Supervisor, supervise};
use super::scrub::Scrubs;
use super::sessions::Sessions;
use super::shared_spares::note_shared;
use super::target::Target;
use super::targets::Targets;
use crate::config::StorageConfig;
use crate::disks::{Disks, OsDisks};
use crate::drive_set::DriveKeys;
use crate::error::StorageError;
use nyala_scrape::{Pages, Scrapes};
use nyala_store::own_dir::{Kind, OwnDir};
use nyala_transport::member::{Bootstrap, Identity, Joined, Member, ServiceRole};
use nyala_transport::trace::SlowOperations;
use nyala_transport::{HandshakeConfig, MemoryBudget, Role, Secret, Server, ServerOptions, TransportError};
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::RegisterTarget;
use nyala_wire::{ClusterId, TargetId};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Between two looks whether a set with drives of other hosts has stopped.
const LOOK: Duration = Duration::from_millis(200);

/// Runs a storage service until `shutdown`. Connections are served by threads of their own; needs any tokio runtime.
pub async fn run(config: StorageConfig, shutdown: impl Future<Output = ()>) -> Result<(), StorageError> {
    run_on(config, &OsDisks, shutdown).await
}

/// The same on other disks.
pub async fn run_on(
    config: StorageConfig,
    disks: &dyn Disks,
    shutdown: impl Future<Output = ()>,
) -> Result<(), StorageError> {
    let mut shutdown = std::pin::pin!(shutdown);
    run_here(config, disks, shutdown.as_mut()).await
}

/// Done when the service is to end.
type Shutdown<'a> = Pin<&'a mut dyn Future<Output = ()>>;

/// Neither generic nor `async`: so the service's code is made once, in this crate, and not in each that awaits it.
fn run_here<'a>(
    config: StorageConfig,
    disks: &'a dyn Disks,
    shutdown: Shutdown<'a>,
) -> Pin<Box<dyn Future<Output = Result<(), StorageError>> + 'a>> {
    Box::pin(run_all(config, disks, shutdown))
}

async fn run_all(mut config: StorageConfig, disks: &dyn Disks, shutdown: Shutdown<'_>) -> Result<(), StorageError> {
    if config.targets.is_empty() && config.exports.is_empty() {
        return Err(StorageError::NoTarget);
    }
    note_shared(&mut config.targets);
    let mut scrapes = Scrapes::at(config.metrics)?;
    let descriptors = raise_open_files();
    let secret = Secret::load(&config.secret_file)?;
    secret.require(Role::Storage)?;
    let mut exports = Exports::start(&config, &secret)?;
    // Half of what the system allows, for connections and stores too; a chunk file may be open twice.
    let open_files = usize::try_from(descriptors / 4).unwrap_or(usize::MAX) / config.targets.len().max(1);
    let mut failed = Ok(());
    let served = {
        // Lending that ends by itself ends all, in the same order as a shutdown does.
        let mut end = std::pin::pin!(async {
            tokio::select! {
                () = shutdown => {}
                error = exports.ended() => failed = Err(error),
            }
        });
        match config.targets.is_empty() {
            true => {
                end.await;
                Ok(())
            }
            false => until_the_end(&config, disks, &secret, open_files, &mut scrapes, end.as_mut()).await,
        }
    };
    exports.stop().await;
    failed.and(served)
}

async fn until_the_end(
    config: &StorageConfig,
    disks: &dyn Disks,
    secret: &Secret,
    open_files: usize,
    scrapes: &mut Scrapes,
    mut end: Shutdown<'_>,
) -> Result<(), StorageError> {
    while run_once(config, disks, secret, open_files, scrapes, end.as_mut()).await? {}
    Ok(())
}

/// Until the end, or until a set with drives of other hosts has stopped: then it gives true, and everything is closed.
async fn run_once(
    config: &StorageConfig,
    disks: &dyn Disks,
    secret: &Secret,
    open_files: usize,
    scrapes: &mut Scrapes,
    mut shutdown: Shutdown<'_>,
) -> Result<bool, StorageError> {
    let mut node = OwnDir::open(&config.dir, Kind::StorageNode, ClusterId(random()?))?;
    let uuid = || Ok(ClusterId(random()?));
    let targets = match far_sets::are_any(config) {
        false => Targets::open(config, (disks, None), &node.identity, open_files, uuid)?,
        true => {
            let keys = DriveKeys { secret: secret.clone(), encrypt: config.encrypt };
            tokio::select! {
                targets = far_sets::open(config, (disks, &keys), &node.identity, open_files, uuid) => targets?,
                never = scrapes.answer(MetricsPage::write_joining) => match never {},
                () = &mut shutdown => return Ok(false),
            }
        }
    };
    let ended = register_and_serve(config, secret, &mut node, &targets, scrapes, shutdown).await;
    let closed = close(targets.opened).await;
    let Some((member, stopped)) = ended? else { return closed.map(|()| false) };
    if let Err(error) = member.goodbye().await {
        tracing::warn!(%error, "management did not hear the goodbye");
    }
    closed.map(|()| stopped)
}

/// Waits until a set with drives of other hosts has stopped.
async fn a_set_stops(targets: &[Arc<Target>]) {
    if targets.iter().all(|target| target.upkeep().is_none()) {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        for target in targets {
            if let Some(error) = target.has_stopped() {
                let path = target.dir.lock().path.clone();
                tracing::error!(path = %path.display(), %error, "a storage target cannot go on here: the service starts again");
                return;
            }
        }
    }
}

/// Until the end; gives the membership back so that the goodbye comes after everything is closed, and whether a set has stopped.
async fn register_and_serve(
    config: &StorageConfig,
    secret: &Secret,
    node: &mut OwnDir,
    targets: &Targets,
    scrapes: &mut Scrapes,
    mut shutdown: Shutdown<'_>,
) -> Result<Option<(Member, bool)>, StorageError> {
    let joined = tokio::select! {
        joined = join(config, secret, node, targets) => joined?,
        never = scrapes.answer(MetricsPage::write_joining) => match never {},
        () = &mut shutdown => return Ok(None),
    };
    let (member, handshake, listen) = (joined.member.clone(), joined.handshake.clone(), joined.listen);
    node.registered(member.cluster(), TargetId(0))?;
    let by_id = targets.settle_ids(&member)?;
    let metrics = Arc::new(Metrics::new(SlowOperations::new(config.slow_operation)));
    let options = ServerOptions { slow: metrics.slow.clone(), ..server_options(config) };
    let (client_budget, server_budget) = (options.client_budget.clone(), options.server_budget.clone());
    let servers = joined.bind(options, config.cores)?;
    let (mirrors, supervisor) = start_mirrors(&member, &by_id, handshake.clone());
    let sessions = Sessions::new(member.clone(), by_id.clone(), handshake.clone());
    let learner = tokio::spawn(sessions.clone().learn());
    let scrubs = Scrubs::open(config.scrub, &by_id, &member, handshake.clone());
    let (reads, stop) = (read_budget(config.memory_limit_bytes / 4), servers.first().map(Server::shutdown_handle));
    let page = MetricsPage {
        metrics,
        member: member.clone(),
        targets: by_id.clone(),
        mirrors: mirrors.clone(),
        scrubs: scrubs.clone(),
        clients: client_budget,
        servers: server_budget,
        read_units: reads.available_permits(),
        reads: reads.clone(),
    };
    let mut cores = start_cores(servers, &page, scrapes.pages(), &sessions, &handshake)?;
    let scrubbing = scrubs.start();
    tracing::info!(node = %member.node(), %listen, targets = ?by_id.keys(), "storage service is up");
    let ended = tokio::select! {
        why = member.expelled() => Err(StorageError::Expelled(why)),
        ended = any_core(&mut cores) => ended.map(|()| false),
        never = scrapes.answer(|text| page.write(text)) => match never {},
        () = shutdown => Ok(false),
        () = a_set_stops(&targets.opened) => Ok(true),
    };
    stop.iter().for_each(|stop| stop.stop());
    stop_all([supervisor, learner], (&scrubs, scrubbing), &mirrors, cores).await;
    ended.map(|stopped| Some((member, stopped)))
}

/// Nothing is done on the targets any more when this returns.
async fn stop_all(
    tasks: [JoinHandle<()>; 2],
    (scrubs, scrubbing): (&Scrubs, Vec<JoinHandle<()>>),
    mirrors: &Mirrors,
    cores: Vec<Ended>,
) {
    tasks.iter().for_each(JoinHandle::abort);
    scrubs.stop(scrubbing).await;
    mirrors.stop().await;
    all_cores(cores).await;
}

/// Starts a thread for each server.
fn start_cores(
    servers: Vec<Server>,
    page: &MetricsPage,
    pages: Pages,
    sessions: &Arc<Sessions>,
    handshake: &HandshakeConfig,
) -> Result<Vec<Ended>, StorageError> {
    let shown = Arc::<Shown>::default();
    let start = |server| {
        let MetricsPage { metrics, member, targets, mirrors, scrubs, reads, .. } = page;
        let (metrics, targets, member, reads) =
            ((metrics.clone(), pages.clone()), targets.clone(), member.clone(), reads.clone());
        let (mirrors, others) = (mirrors.clone(), handshake.clone());
        let sessions = (sessions.clone(), scrubs.clone(), shown.clone());
        start_core(server, move || StorageService::new(targets, member, reads, mirrors, sessions, others, metrics))
    };
    servers.into_iter().map(start).collect()
}

/// The mirror groups of our targets, and what keeps them in line with the map.
fn start_mirrors(
    member: &Member,
    targets: &Arc<HashMap<TargetId, Arc<Target>>>,
    handshake: HandshakeConfig,
) -> (Arc<Mirrors>, JoinHandle<()>) {
    let mirrors = Arc::new(Mirrors::default());
    let (member, targets) = (member.clone(), targets.clone());
    let supervisor = Supervisor { mirrors: mirrors.clone(), member, targets, handshake };
    (mirrors, tokio::spawn(supervise(supervisor)))
}

fn server_options(config: &StorageConfig) -> ServerOptions {
    let quarter = config.memory_limit_bytes / 4;
    ServerOptions {
        client_budget: MemoryBudget::new(2 * quarter),
        server_budget: MemoryBudget::new(quarter),
        ..ServerOptions::default()
    }
}

async fn join(
    config: &StorageConfig,
    secret: &Secret,
    node: &OwnDir,
    targets: &Targets,
) -> Result<Joined, StorageError> {
    let bootstrap = Bootstrap {
        role: ServiceRole::Storage,
        listen: config.listen,
        advertise: config.advertise.clone(),
        mgmt: config.mgmt.clone(),
        secret: secret.clone(),
        encrypt: config.encrypt,
    };
    let register_target = |target: &Arc<Target>| {
        let dir = target.dir.lock();
        let (uuid, have) = (dir.identity.uuid, dir.identity.target);
        drop(dir);
        let id = if have.0 == 0 { target.wished_id } else { have };
        let (alias, capacity) = (target.alias.clone(), target.capacity());
        let losses = target.verifier(id).losses;
        RegisterTarget { uuid, id, alias, kind: TargetKind::Storage, capacity, losses, spare: false }
    };
    let served = targets.served.clone();
    let limit = config.evacuate_errors;
    let capacities = move || {
        // Until they are registered there is nothing to say about them, nor about those that management refuses.
        let served = served.get().into_iter().flat_map(|served| served.iter());
        served.map(|(target, found)| found.report(*target, limit)).collect()
    };
    let identity = Identity { cluster: targets.cluster, uuid: node.identity.uuid, alias: config.alias.clone() };
    let register = targets.opened.iter().map(register_target).collect();
    Ok(bootstrap.join(identity, register, capacities).await?)
}

type Ended = oneshot::Receiver<Result<(), TransportError>>;

/// Serves a share of the connections on a thread of its own.
fn start_core(
    server: Server,
    service: impl FnOnce() -> StorageService + Send + 'static,
) -> Result<Ended, StorageError> {
    let (report, ended) = oneshot::channel();
    let failed = |error| StorageError::System { what: "cannot start a thread", error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let serve = move || {
        let local = tokio::task::LocalSet::new();
        let result = local.block_on(&runtime, server.serve(Rc::new(service())));
        // With them goes what connections hold of the targets, whose directories may be wanted next.
        drop((local, runtime));
        // An error means that nobody waits any more.
        let _ = report.send(result);
    };
    std::thread::Builder::new().name("nyala-net".into()).spawn(serve).map_err(failed)?;
    Ok(ended)
}

/// Waits until one core ends, which it does not do by itself unless something is wrong.
async fn any_core(cores: &mut Vec<Ended>) -> Result<(), StorageError> {
    let (number, ended) = std::future::poll_fn(|context| {
        let mut polled = cores.iter_mut().enumerate().map(|(number, core)| (number, Pin::new(core).poll(context)));
        match polled.find_map(|(number, poll)| Some((number, ready(poll)?))) {
            Some(found) => Poll::Ready(found),
            None => Poll::Pending,
        }
    })
    .await;
    // What has given its result must not be asked again.
    drop(cores.remove(number));
    let gone = |_| StorageError::System { what: "a network thread ended", error: std::io::Error::other("it panicked") };
    Ok(ended.map_err(gone)??)
}

/// Waits until all of them have ended.
async fn all_cores(cores: Vec<Ended>) {
    for core in cores {
        // An error means that the core has panicked, which was logged.
        let _ = core.await;
    }
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

async fn close(targets: Vec<Arc<Target>>) -> Result<(), StorageError> {
    let (report, closed) = oneshot::channel();
    let close = move || {
        let close = |target: &Arc<Target>| match target.close() {
            // Another service has taken it over, or too many of its hosts are away. What could not be written there was not acknowledged.
            Err(error) if target.has_stopped().is_some() => {
                tracing::warn!(%error, "a storage target on drives of other hosts did not close");
                Ok(())
            }
            closed => closed,
        };
        let results: Vec<_> = targets.iter().map(close).collect();
        // Whoever hears of the end may open the directories again.
        drop(targets);
        // An error means that nobody waits any more.
        let _ = report.send(results.into_iter().collect());
    };
    let started = std::thread::Builder::new().name("nyala-close".into()).spawn(close);
    started.map_err(|error| StorageError::System { what: "cannot start a thread", error })?;
    closed.await.unwrap_or(Ok(()))
}

/// Chunk files stay open for a while: as many as the system lets us.
/// Allows this process as many descriptors as it may have; how many those are.
fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        tracing::warn!(%error, "cannot raise the number of open files");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn random<const N: usize>() -> Result<[u8; N], StorageError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(StorageError::random)?;
    Ok(bytes)
}

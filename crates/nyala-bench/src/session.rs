// SPDX-License-Identifier: Apache-2.0

//! A whole benchmark: each workload at each place, with CPU time taken before and after each phase.
//!
//! **Failure model.** A phase that fails ends the benchmark with its message; what it made is removed all the same, also
//! after Ctrl-C. If removing fails the directory is named. CPU time is taken when services and daemon have come to rest
//! (or after three seconds), so that work they put off counts for the phase that caused it.

use super::caches;
use super::driver::native::Native;
use super::driver::posix::Posix;
use super::driver::{Content, Site};
use super::ended::Ended;
use super::engine::Workers;
use super::error::BenchError;
use super::measure::services::{RoleCpu, Services, Taken};
use super::measure::{cpu, loopback};
use super::plan::fill::Fill;
use super::plan::{Phase, Workload};
use super::report::{Backend, Cpu, Held, Report, Requests, Row, Setting};
use super::stop::Stop;
use nyala_client::{Client, ClientConfig, ClientStats};
use nyala_wire::map::Role;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for services to come to rest.
const REST: Duration = Duration::from_secs(3);
/// Interval of looking whether they have, and the CPU time of all together in it that counts as rest.
const GLANCE: Duration = Duration::from_millis(200);
const IDLE_US: u64 = 8_000;

/// What phases of all places share.
struct Bench {
    services: Services,
    client: Client,
    content: Content,
    stop: Stop,
    limit: Option<Duration>,
    cold: bool,
    ended: Ended,
    rows: Vec<Row>,
    notes: Vec<String>,
}

/// A place with its threads.
struct Ground<S> {
    backend: Backend,
    site: Arc<S>,
    workers: Workers,
    daemon: Option<i32>,
}

/// CPU clocks at one moment.
#[derive(Clone)]
struct Clocks {
    services: RoleCpu,
    /// Metadata services, in an order that stays.
    meta_us: Vec<(String, u64)>,
    meta_held: Held,
    daemon_us: u64,
    own_us: u64,
}

/// Where to work.
#[derive(Debug)]
pub struct Sites {
    /// The cluster.
    pub config: ClientConfig,
    /// Through the native client.
    pub native: bool,
    /// A directory on a mount, and the process id of the mount's daemon, if it is known.
    pub mount: Option<(PathBuf, Option<i32>)>,
    /// A local directory.
    pub local: Option<PathBuf>,
    /// What is missing, for the reader of the report.
    pub notes: Vec<String>,
}

/// One benchmark.
#[derive(Debug)]
pub struct Job {
    /// `meta` or `data`.
    pub bench: &'static str,
    /// Where.
    pub sites: Sites,
    /// What.
    pub workloads: Vec<Workload>,
    /// Tasks that work at once.
    pub tasks: u16,
    /// Threads of the native client; `None`: one per CPU.
    pub threads: Option<u16>,
    /// Longest time of a phase.
    pub limit: Option<Duration>,
    /// Compare every byte that is read with what was written.
    pub verify: bool,
    /// Start of all random choices.
    pub seed: u64,
    /// Empty the page cache before reads.
    pub cold: bool,
    /// Counts the phases that have ended.
    pub ended: Ended,
}

impl Job {
    /// Phases of all workloads at all places.
    pub fn phases(&self) -> u64 {
        let Sites { native, mount, local, .. } = &self.sites;
        let places = [*native, mount.is_some(), local.is_some()].into_iter().filter(|wanted| *wanted).count();
        (self.workloads.iter().map(|workload| workload.phases.len()).sum::<usize>() * places) as u64
    }
}

fn failed(message: String) -> BenchError {
    BenchError::Failed(message)
}

/// Name of the benchmark's directory of a place. Unlike any other run's.
fn own_name(backend: Backend) -> String {
    format!(".nyala-bench-{}-{}", backend.name(), std::process::id())
}

/// Runs workloads at all places that are wanted.
pub async fn run(job: Job, stop: &Stop) -> Result<Report, BenchError> {
    let Job { bench, sites, workloads, tasks, threads, limit, verify, seed, cold, ended } = job;
    let measured = tokio::task::spawn_blocking(|| loopback::measure(Duration::from_millis(500))).await;
    let loopback = measured.map_err(|error| error.to_string()).and_then(|all| all.map_err(|error| error.to_string()));
    let loopback = loopback.map_err(|error| failed(format!("cannot measure loopback TCP: {error}")))?;

    let client = Client::connect(sites.config.clone()).await?;
    let services = Services::new(&sites.config, &client.map());
    let largest = workloads.iter().flat_map(|workload| &workload.phases).map(|phase| phase.bytes).max().unwrap_or(0);
    let content = Content { fill: Arc::new(Fill::new(seed, largest)), verify };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.map_or(cpus, usize::from).min(tasks.into());
    let setting = Setting {
        cpus,
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        native_threads: threads,
        meta: services.count(Role::Meta),
        storage: services.count(Role::Storage),
        mount: sites.mount.as_ref().map(|(path, _)| path.display().to_string()),
        local: sites.local.as_ref().map(|path| path.display().to_string()),
    };
    let (notes, stop) = (sites.notes.clone(), stop.clone());
    let (client_of, rows) = (client.clone(), Vec::new());
    let mut state = Bench { services, client: client_of, content, stop, limit, cold, ended, rows, notes };
    let outcome = state.everywhere(&sites, &workloads, tasks.into(), threads).await;
    // What it did is done; a failing goodbye changes nothing.
    let _ = client.shutdown().await;
    outcome?;
    let interrupted = state.stop.wanted();
    if interrupted {
        state.note("ended by a signal: the figures are incomplete");
    }
    let Bench { rows, notes, .. } = state;
    let mut report = Report { bench, setting, loopback, rows, aims: Vec::new(), interrupted, notes };
    report.finish();
    Ok(report)
}

impl Bench {
    async fn everywhere(
        &mut self,
        sites: &Sites,
        workloads: &[Workload],
        tasks: usize,
        threads: usize,
    ) -> Result<(), BenchError> {
        let native = if sites.native {
            let site = Native::new(self.client.clone(), own_name(Backend::Native));
            Some(Ground::new(Backend::Native, site, threads, None)?)
        } else {
            None
        };
        let posix = |backend, path: &std::path::Path, daemon| {
            Ground::new(backend, Posix::new(path.join(own_name(backend))), tasks, daemon)
        };
        let mount = sites.mount.as_ref().map(|(path, daemon)| posix(Backend::Mount, path, *daemon)).transpose()?;
        let local = sites.local.as_ref().map(|path| posix(Backend::Local, path, None)).transpose()?;
        for workload in workloads {
            if let Some(ground) = &native {
                self.workload(ground, workload).await?;
            }
            for ground in [&mount, &local].into_iter().flatten() {
                self.workload(ground, workload).await?;
            }
        }
        Ok(())
    }

    /// One workload at one place, cleaned up whatever happens.
    async fn workload<S: Site>(&mut self, ground: &Ground<S>, workload: &Workload) -> Result<(), BenchError> {
        if self.stop.wanted() {
            return Ok(());
        }
        let backend = ground.backend.name();
        let result = match ground.site.prepare(&workload.dirs).await {
            Ok(()) => self.phases(ground, workload).await,
            Err(error) => Err(failed(format!("{} on {backend}: {error}", workload.name))),
        };
        let cleaned = ground.site.clean_up().await;
        if let Err(error) = cleaned {
            eprintln!("nyala bench: {backend}: {error}; remove {} by hand", own_name(ground.backend));
        }
        result
    }

    async fn phases<S: Site>(&mut self, ground: &Ground<S>, workload: &Workload) -> Result<(), BenchError> {
        let mut made = Vec::new();
        for phase in &workload.phases {
            if self.stop.wanted() {
                break;
            }
            if self.cold && phase.step.wants_cold_caches() {
                if phase.warm {
                    let once = ground.workers.run(phase, &made, &self.content, self.limit, &self.stop).await;
                    once.map_err(|error| failed(format!("{} on {}: {error}", phase.workload, ground.backend.name())))?;
                }
                let dropped = tokio::task::spawn_blocking(caches::drop_caches).await;
                if let Ok(Err(why)) = dropped {
                    self.note(&why);
                }
            }
            let what = || format!("{} {} on {}", phase.workload, phase.step.name(), ground.backend.name());
            let done =
                self.phase(ground, phase, &made).await.map_err(|error| failed(format!("{}: {error}", what())))?;
            if phase.step.makes() {
                made = done;
            }
            self.ended.one();
        }
        Ok(())
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.notes.push(text.to_owned());
        }
    }

    /// One phase; how many operations each task did.
    async fn phase<S: Site>(&mut self, ground: &Ground<S>, phase: &Phase, made: &[u64]) -> Result<Vec<u64>, String> {
        self.services.checkpoint().await?;
        let before = self.at_rest(ground).await?;
        let sent = self.client.stats();
        let outcome = ground.workers.run(phase, made, &self.content, self.limit, &self.stop).await?;
        // A change is not done with before it is in the table.
        self.services.checkpoint().await?;
        let after = self.at_rest(ground).await?;
        let cpu = cpu_of(ground, &before, &after)?;
        let requests = (ground.backend == Backend::Native).then(|| requests_of(&sent, &self.client.stats()));
        self.rows.push(Row {
            workload: phase.workload,
            step: phase.step,
            backend: ground.backend,
            tasks: phase.tasks,
            ops: outcome.latency.count(),
            items: outcome.items,
            bytes: outcome.bytes,
            seconds: outcome.took.as_secs_f64(),
            latency_us: outcome.latency.percentiles(),
            cpu,
            meta_each_us: meta_each(&before, &after),
            meta_held: after.meta_held,
            requests,
            of_local: None,
            cached: outcome.cached,
        });
        Ok(outcome.done)
    }

    async fn clocks<S>(&self, ground: &Ground<S>) -> Result<Clocks, String> {
        let daemon_us = match ground.daemon {
            Some(pid) => cpu::process_us(pid).ok_or("the mount's daemon is gone")?,
            None => 0,
        };
        let Taken { cpu: services, meta_us, meta_held } = self.services.taken().await?;
        Ok(Clocks { services, meta_us, meta_held, daemon_us, own_us: cpu::own_us() })
    }

    /// The clocks once services, daemon and this process do little more than wait.
    async fn at_rest<S>(&self, ground: &Ground<S>) -> Result<Clocks, String> {
        let began = Instant::now();
        let mut last = self.clocks(ground).await?;
        loop {
            tokio::time::sleep(GLANCE).await;
            let now = self.clocks(ground).await?;
            let used = now.total_us().saturating_sub(last.total_us());
            last = now;
            if used < IDLE_US || began.elapsed() >= REST || ground.backend == Backend::Local {
                return Ok(last);
            }
        }
    }
}

impl Clocks {
    fn total_us(&self) -> u64 {
        self.services.total_us() + self.daemon_us + self.own_us
    }
}

impl<S: Site> Ground<S> {
    fn new(backend: Backend, site: S, threads: usize, daemon: Option<i32>) -> Result<Ground<S>, BenchError> {
        let site = Arc::new(site);
        let workers = Workers::start(&site, threads).map_err(failed)?;
        Ok(Ground { backend, site, workers, daemon })
    }
}

fn cpu_of<S>(ground: &Ground<S>, before: &Clocks, after: &Clocks) -> Result<Cpu, String> {
    let own_us = after.own_us - before.own_us;
    if ground.backend == Backend::Local {
        return Ok(Cpu { driver_us: Some(own_us), ..Cpu::default() });
    }
    let services = after.services.since(&before.services)?;
    let native = ground.backend == Backend::Native;
    let daemon = ground.daemon.map(|_| after.daemon_us.saturating_sub(before.daemon_us));
    Ok(Cpu {
        mgmt_us: Some(services.mgmt_us),
        meta_us: Some(services.meta_us),
        storage_us: Some(services.storage_us),
        client_us: if native { Some(own_us) } else { daemon },
        driver_us: (!native).then_some(own_us),
    })
}

/// What each metadata service used: none went back, which was looked at before.
fn meta_each(before: &Clocks, after: &Clocks) -> Vec<(String, u64)> {
    let used = |((name, now), (_, then)): (&(String, u64), &(String, u64))| (name.clone(), now.saturating_sub(*then));
    after.meta_us.iter().zip(&before.meta_us).map(used).collect()
}

fn requests_of(before: &ClientStats, after: &ClientStats) -> Requests {
    let storage = |stats: &ClientStats| stats.storage_reads + stats.storage_writes;
    Requests {
        meta: after.meta_requests - before.meta_requests,
        storage: storage(after) - storage(before),
        retries: after.retries - before.retries,
    }
}

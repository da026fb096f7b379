// SPDX-License-Identifier: Apache-2.0

//! The servers of a cluster: which there are, and how each starts on its machine and disks, as its subcommand of `nyala` does.

use super::disks::Rack;
use crate::kernel::process::{self, MachineId, Pid};
use crate::kernel::sockopt::address;
use crate::kernel::with;
use crate::random::Random;
use nyala_meta::MetaConfig;
use nyala_mgmt::{Mgmt, MgmtConfig};
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_store::Options;
use nyala_wire::map::Settings;
use nyala_wire::{ClusterId, StripePattern};
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::LocalSet;

pub const CLUSTER: ClusterId = ClusterId([7; 16]);
const MGMT_PORT: u16 = 8008;
pub const REST_PORT: u16 = 8010;
const META_PORT: u16 = 8005;
const STORAGE_PORT: u16 = 8003;
/// How the names of metadata services begin that mirror others.
const SPARE: &str = "spare";
/// A silent client loses its session after this time.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Mgmt,
    Meta,
    Storage,
}

/// One service, on a machine of its own.
pub struct Server {
    pub role: Role,
    pub name: String,
    pub machine: MachineId,
    pub rack: Rack,
    pub process: Option<Pid>,
    /// How often it ended by itself.
    pub ended: u64,
}

/// How many of each.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub mgmt: usize,
    pub meta: usize,
    /// Metadata services that mirror others.
    pub spares: usize,
    pub storage: usize,
    pub clients: usize,
}

pub struct Cluster {
    pub servers: Vec<Server>,
    pub mgmt: Vec<SocketAddr>,
    /// Idle time after which storage syncs, and the time between syncs of metadata.
    pub lazy: Duration,
    /// Each storage target is scrubbed once in this time; zero: never.
    pub scrub_interval: Duration,
    /// With more names a directory is split; 0: none is.
    pub split_above: u64,
}

/// Where the secret is, below the directory of the run.
pub fn secret_file() -> PathBuf {
    PathBuf::from("secret")
}

impl Cluster {
    pub fn new(size: Size, random: &mut Random) -> Cluster {
        let mut servers = Vec::new();
        for (role, count, name) in [
            (Role::Mgmt, size.mgmt, "mgmt"),
            (Role::Meta, size.meta, "meta"),
            (Role::Meta, size.spares, SPARE),
            (Role::Storage, size.storage, "storage"),
        ] {
            for number in 0..count {
                let (machine, rack) = (process::add_machine(), Rack::new(random));
                servers.push(Server { role, name: format!("{name}{number}"), machine, rack, process: None, ended: 0 });
            }
        }
        let mgmt = servers.iter().filter(|server| server.role == Role::Mgmt);
        let mgmt = mgmt.map(|server| address(server.machine, MGMT_PORT)).collect();
        let lazy = Duration::from_millis(*random.pick(&[100, 1000, 4000]));
        Cluster { servers, mgmt, lazy, scrub_interval: Duration::ZERO, split_above: 0 }
    }

    /// Starts a server, unless it runs already.
    pub fn start(&mut self, number: usize) {
        if self.servers[number].process.is_some() {
            return;
        }
        let (mgmt, lazy, split_above) = (self.mgmt.clone(), self.lazy, self.split_above);
        let scrub_interval = self.scrub_interval;
        let server = &mut self.servers[number];
        let (machine, rack) = (server.machine, server.rack.clone());
        let dir = PathBuf::from(&server.name);
        with(|kernel| kernel.trace.say(&format!("start {}", dir.display())));
        let work: Box<dyn FnOnce() + Send> = match server.role {
            Role::Mgmt => Box::new(move || run_mgmt(dir, machine, mgmt, rack)),
            Role::Meta => Box::new(move || run_meta(dir, machine, mgmt, (lazy, split_above), &rack)),
            Role::Storage => Box::new(move || run_storage(dir, machine, mgmt, (lazy, scrub_interval), &rack)),
        };
        server.process = Some(process::begin(machine, &server.name, work));
    }

    /// Kills a server's process, or takes its machine's power as well.
    pub fn stop(&mut self, number: usize, power: bool) {
        let server = &mut self.servers[number];
        let Some(running) = server.process.take() else { return };
        if power {
            process::cut_power(server.machine);
            server.rack.power_cut();
        } else {
            process::kill(running);
            server.rack.process_ended();
        }
    }

    /// The id that a storage server's target has been given.
    pub fn target_of(&self, number: usize) -> Option<u16> {
        id_in(&PathBuf::from(&self.servers[number].name).join("target/target.toml"))
    }

    /// The id that a metadata server's target has been given.
    pub fn metadata_of(&self, number: usize) -> Option<u16> {
        id_in(&PathBuf::from(&self.servers[number].name).join("target.toml"))
    }

    /// Servers with a role.
    pub fn with_role(&self, role: Role) -> Vec<usize> {
        (0..self.servers.len()).filter(|number| self.servers[*number].role == role).collect()
    }
}

fn id_in(path: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("target = "))?.trim().parse().ok()
}

/// Runs work to its end on a runtime of its own; what it says is the end of the service.
pub fn block_on<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the simulated kernel gives an epoll");
    LocalSet::new().block_on(&runtime, work)
}

/// A service ended though nobody stopped it.
fn ended<E: std::fmt::Display>(dir: &Path, result: Result<(), E>) {
    let why = result.map_or_else(|error| error.to_string(), |()| "without an error".into());
    with(|kernel| kernel.trace.say(&format!("{} ended: {why}", dir.display())));
    tracing::error!("{} ended: {why}", dir.display());
    // As its process would.
    process::exit(1);
}

fn run_mgmt(dir: PathBuf, machine: MachineId, all: Vec<SocketAddr>, rack: Rack) {
    let listen = address(machine, MGMT_PORT);
    let first = all.first() == Some(&listen);
    let pattern = StripePattern { chunk_bytes: 64 << 10, num_targets: 2, ..StripePattern::default() };
    let session_timeout_ms = SESSION_TIMEOUT.as_millis() as u32;
    let config = MgmtConfig {
        listen: vec![listen],
        rest_listen: address(machine, REST_PORT),
        rest_insecure: true,
        join: if first { Vec::new() } else { all.into_iter().filter(|address| *address != listen).collect() },
        cluster: CLUSTER,
        slow_operation: Duration::ZERO,
        settings: Settings { default_pattern: pattern, session_timeout_ms, ..Settings::default() },
        ..MgmtConfig::new(dir.clone(), secret_file())
    };
    let open = |_: &Path, options: Options| rack.open_store(options);
    let opened = Mgmt::open_on(config, &open);
    let run = opened.and_then(|mgmt| block_on(mgmt.run(std::future::pending())));
    ended(&dir, run);
}

fn run_meta(
    dir: PathBuf,
    machine: MachineId,
    mgmt: Vec<SocketAddr>,
    (sync_interval, split_above): (Duration, u64),
    rack: &Rack,
) {
    let config = MetaConfig {
        dir: dir.clone(),
        listen: address(machine, META_PORT),
        advertise: Vec::new(),
        mgmt,
        secret_file: secret_file(),
        alias: String::new(),
        encrypt: false,
        spare: dir.to_string_lossy().starts_with(SPARE),
        split_above,
        metrics: None,
        slow_operation: Duration::ZERO,
        sync_interval,
    };
    let open = |_: &Path, options: Options| rack.open_store(options);
    ended(&dir, block_on(nyala_meta::run_on(config, &open, std::future::pending())));
}

fn run_storage(
    dir: PathBuf,
    machine: MachineId,
    mgmt: Vec<SocketAddr>,
    (sync_idle, scrub_interval): (Duration, Duration),
    rack: &Rack,
) {
    let mut config = StorageConfig::new(dir.clone(), address(machine, STORAGE_PORT), mgmt, secret_file());
    config.targets = vec![TargetSpec { dir: dir.join("target"), ..TargetSpec::default() }];
    (config.workers_per_target, config.cores, config.sync_idle) = (2, 2, sync_idle);
    (config.slow_operation, config.scrub.interval) = (Duration::ZERO, scrub_interval);
    ended(&dir, block_on(nyala_storage::run_on(config, rack, std::future::pending())));
}

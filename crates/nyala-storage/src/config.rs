// SPDX-License-Identifier: Apache-2.0

//! What a storage service has to be told.

use crate::set_spec::SetSpec;
use nyala_netdrives::ExportSpec;
use nyala_transport::trace::SlowOperations;
use nyala_wire::TargetId;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Configuration of a storage service.
#[derive(Clone, Debug)]
pub struct StorageConfig {
    /// The service's own directory, which holds its identity.
    pub dir: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Addresses that others reach it at, best first; empty: the one that faces the management service.
    pub advertise: Vec<SocketAddr>,
    /// Addresses of the management service.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret file.
    pub secret_file: PathBuf,
    /// Encrypt all traffic; the same on every node of the cluster.
    pub encrypt: bool,
    /// Wished alias; empty: management chooses.
    pub alias: String,
    /// The targets; at least one, unless drives are lent out.
    pub targets: Vec<TargetSpec>,
    /// Drives of this host that targets of other hosts may lie on.
    pub exports: Vec<ExportSpec>,
    /// Where those are asked for.
    pub drive_listen: SocketAddr,
    /// Bytes of requests and replies in memory at once. Half is for writes, a quarter for reads, a quarter for servers.
    pub memory_limit_bytes: usize,
    /// Threads that do file operations, per target.
    pub workers_per_target: usize,
    /// Threads that serve connections.
    pub cores: usize,
    /// Files nobody wrote to for so long are synced in the background.
    pub sync_idle: Duration,
    /// Where metrics are served over HTTP; nowhere if none.
    pub metrics: Option<SocketAddr>,
    /// How the service scrubs its targets by itself.
    pub scrub: ScrubConfig,
    /// A target whose disk has made so many errors lately is called failing, and its data moves to others; 0: never.
    pub evacuate_errors: u64,
    /// Requests that take at least so long are logged; zero: none are.
    pub slow_operation: Duration,
}

/// Errors of a disk, within about a month, after which its target is emptied, unless that is set.
pub const EVACUATE_ERRORS: u64 = 64;

/// How a storage service scrubs its targets by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubConfig {
    /// Each target is scrubbed once in this time; zero: never.
    pub interval: Duration,
    /// Most bytes that are read of a target in a second; 0: no limit.
    pub rate: u64,
}

impl Default for ScrubConfig {
    fn default() -> ScrubConfig {
        ScrubConfig { interval: Duration::from_secs(30 * 24 * 3600), rate: 64 << 20 }
    }
}

/// One storage target.
#[derive(Clone, Debug, Default)]
pub struct TargetSpec {
    /// Its directory: an empty one becomes a new target.
    pub dir: PathBuf,
    /// Wished id; must be the one that the directory has.
    pub id: Option<TargetId>,
    /// Wished alias; empty: management chooses.
    pub alias: String,
    /// Most bytes of file data that the target takes, whatever room its file system has.
    pub limit_bytes: Option<u64>,
    /// Its drives, if it lies on a drive set; `dir` is then the first of them, for messages.
    pub set: Option<SetSpec>,
}

/// Where drives are asked for, unless that is set.
pub const DRIVE_PORT: u16 = 8004;

impl StorageConfig {
    /// Defaults: 512 MiB of memory, 4 workers per target, 2 cores, background sync after 4 s, a scrub every 30 days.
    pub fn new(dir: PathBuf, listen: SocketAddr, mgmt: Vec<SocketAddr>, secret_file: PathBuf) -> StorageConfig {
        StorageConfig {
            dir,
            listen,
            advertise: Vec::new(),
            mgmt,
            secret_file,
            encrypt: false,
            alias: String::new(),
            targets: Vec::new(),
            exports: Vec::new(),
            drive_listen: ([0, 0, 0, 0], DRIVE_PORT).into(),
            memory_limit_bytes: 512 << 20,
            workers_per_target: 4,
            cores: std::thread::available_parallelism().map_or(1, |n| n.get().min(2)),
            sync_idle: Duration::from_secs(4),
            metrics: None,
            scrub: ScrubConfig::default(),
            evacuate_errors: EVACUATE_ERRORS,
            slow_operation: SlowOperations::ABOVE,
        }
    }
}

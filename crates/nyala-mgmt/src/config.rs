// SPDX-License-Identifier: Apache-2.0

//! What a management service has to be told.

use nyala_transport::trace::SlowOperations;
use nyala_wire::ClusterId;
use nyala_wire::map::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Configuration of one management node.
#[derive(Debug, Clone)]
pub struct MgmtConfig {
    /// Its directory; made if it does not exist.
    pub dir: PathBuf,
    /// Where it listens for services and clients.
    pub listen: Vec<SocketAddr>,
    /// Addresses under which others reach it; empty: those of `listen`.
    pub advertise: Vec<SocketAddr>,
    /// Where it listens for HTTP.
    pub rest_listen: SocketAddr,
    /// Allows `rest_listen` to be another address than localhost although HTTP is not encrypted yet.
    pub rest_insecure: bool,
    /// The cluster's secret.
    pub secret_file: PathBuf,
    /// Encrypt all traffic between services; the same on every node of the cluster.
    pub encrypt: bool,
    /// At the first start: become a member of the cluster whose management nodes are here, instead of making one. One
    /// address is enough. Later: further addresses at which the others are looked for.
    pub join: Vec<SocketAddr>,
    /// At the first start: wait until an operator adds this node to a cluster, instead of making one.
    pub standby: bool,
    /// At the first start: the cluster's id, random; `UNKNOWN` lets the service draw it. Later: the id that the directory
    /// must have; `UNKNOWN` takes what it has.
    pub cluster: ClusterId,
    /// At the first start: the cluster's settings. Later they are changed by the REST API.
    pub settings: Settings,
    /// Times of Raft.
    pub raft: RaftTimes,
    /// Where metrics are served over HTTP; nowhere if none.
    pub metrics: Option<SocketAddr>,
    /// Requests that take at least so long are logged; zero: none are.
    pub slow_operation: Duration,
    /// How often services are asked for their figures, for the page; never if none.
    pub sample_every: Option<Duration>,
}

/// Raft's own times. Every management node needs the same ones.
///
/// A follower that heard the leader grants nobody else a vote for `election_max_ms`, and stands for election itself between
/// `election_min_ms` and `election_max_ms` after that. With the default, the first election after a leader's
/// death is after 0.55 to 0.8 s, and one that fails is followed by another after 0.15 to 0.4 s, so that a service whose heartbeat it did not answer any more still finds the new one before its lease is over.
#[derive(Debug, Clone)]
pub struct RaftTimes {
    /// Between a leader's signs of life, milliseconds.
    pub heartbeat_ms: u64,
    /// Shortest time to an election, milliseconds.
    pub election_min_ms: u64,
    /// Longest time to an election, and for how long a vote is bound to a leader that was heard, milliseconds.
    pub election_max_ms: u64,
    /// A snapshot is made after so many entries; a fifth of them is kept for those who lag.
    pub snapshot_every: u64,
    /// While true, this node neither reaches the others nor is reached by them: a network that is cut, for tests.
    #[doc(hidden)]
    pub cut: Arc<AtomicBool>,
}

impl Default for RaftTimes {
    fn default() -> RaftTimes {
        RaftTimes {
            heartbeat_ms: 75,
            election_min_ms: 150,
            election_max_ms: 400,
            snapshot_every: 1000,
            cut: Arc::default(),
        }
    }
}

impl RaftTimes {
    /// A leader that no majority has answered for so long grants nothing: until then none of them has a vote for another.
    /// The rest is for clocks that run at different speeds.
    pub(crate) fn silence_ms(&self) -> u64 {
        self.election_max_ms - self.election_max_ms / 10
    }
}

impl MgmtConfig {
    /// The first node, on localhost with the default ports 8008 and 8010.
    pub fn new(dir: impl Into<PathBuf>, secret_file: impl Into<PathBuf>) -> MgmtConfig {
        MgmtConfig {
            dir: dir.into(),
            listen: vec![([127, 0, 0, 1], 8008).into()],
            advertise: Vec::new(),
            rest_listen: ([127, 0, 0, 1], 8010).into(),
            rest_insecure: false,
            secret_file: secret_file.into(),
            encrypt: false,
            join: Vec::new(),
            standby: false,
            cluster: ClusterId::UNKNOWN,
            settings: Settings::default(),
            raft: RaftTimes::default(),
            metrics: None,
            slow_operation: SlowOperations::ABOVE,
            sample_every: None,
        }
    }
}

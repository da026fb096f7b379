// SPDX-License-Identifier: Apache-2.0

//! What a metadata service has to be told.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Configuration of a metadata service.
#[derive(Clone, Debug)]
pub struct MetaConfig {
    /// Directory of the metadata target.
    pub dir: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Addresses that others reach it at, best first; empty: the one that faces the management service.
    pub advertise: Vec<SocketAddr>,
    /// Addresses of the management service.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret file.
    pub secret_file: PathBuf,
    /// Wished alias; empty: management chooses.
    pub alias: String,
    /// The target is to become a member of a mirror group: it is given no part of the name space when it registers first.
    pub spare: bool,
    /// Encrypt all traffic; the same on every node of the cluster.
    pub encrypt: bool,
    /// Time between background syncs of the log: the most that a power cut can take of unsynced changes.
    pub sync_interval: Duration,
    /// A directory with more entries is split over several metadata servers; 0: none is.
    pub split_above: u64,
    /// Where metrics are served over HTTP; nowhere if none.
    pub metrics: Option<SocketAddr>,
    /// Requests that take at least so long are logged; zero: none are.
    pub slow_operation: Duration,
}

// SPDX-License-Identifier: Apache-2.0

//! Why the management service does not start, or stopped.

use crate::rest::RestError;
use nyala_cluster::ClusterError;
use nyala_store::StoreError;
use nyala_transport::{SecretError, TransportError};
use nyala_wire::ClusterId;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A failure of the service as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MgmtError {
    /// Metrics cannot be served.
    #[error(transparent)]
    Scrape(#[from] nyala_scrape::ScrapeError),
    /// Another process runs on the directory.
    #[error("{dir}: another management service uses this directory; stop it first, or configure another directory")]
    Locked {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory is another cluster's.
    #[error("{dir} belongs to cluster {theirs}, not to {ours}; check the directory in the configuration")]
    ForeignCluster {
        /// The directory.
        dir: PathBuf,
        /// What is configured.
        ours: ClusterId,
        /// What the directory says.
        theirs: ClusterId,
    },
    /// A file of the directory cannot be understood.
    #[error("{path} is damaged: {reason}; restore it from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The directory was written by a newer build.
    #[error("{path} has format version {found}, this build knows up to {known}; use the newer build")]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u64,
        /// The newest that we know.
        known: u64,
    },
    /// The store holds something and `mgmt.toml` is missing, or the other way round.
    #[error("{dir} is incomplete: {reason}; restore it from a backup (starting over would lose the cluster)")]
    Incomplete {
        /// The directory.
        dir: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A file operation failed.
    #[error("{operation} {path}: {cause}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The store cannot be opened or failed.
    #[error(transparent)]
    Store(StoreError),
    /// What the store holds cannot be used.
    #[error("{dir}: {reason}")]
    Stored {
        /// The directory.
        dir: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The secret file cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The service cannot listen, or its listening failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// HTTP cannot listen.
    #[error("cannot listen on {address} for the REST API: {cause}; stop the other process or configure another port")]
    RestListen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        cause: std::io::Error,
    },
    /// There is no majority that could be given up.
    #[error("{dir} is that of the only management node: there is nothing to recover; start its service")]
    NothingLost {
        /// The directory.
        dir: PathBuf,
    },
    /// The REST API cannot be served as the settings want it, or a token not be made.
    #[error(transparent)]
    Rest(#[from] RestError),
    /// The token file can be read by others.
    #[error("{path} has mode {mode:04o}, others may read it; run: chmod 600 {path}, or remove it to get a new token")]
    TokenMode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The settings given at the first start are refused.
    #[error("the cluster cannot be initialised: {0}")]
    Init(ClusterError),
    /// The other management nodes do not take this one.
    #[error("the cluster does not take this management node: {0}")]
    NotTaken(nyala_transport::member::MgmtError),
    /// An operator removed this node from the management.
    #[error(
        "management node {node} was removed from the cluster; to use this machine again, empty {dir} and start the \
         service with --join"
    )]
    Removed {
        /// Its number.
        node: u64,
        /// Its directory.
        dir: PathBuf,
    },
    /// Nobody else would reach this node at that address.
    #[error(
        "this management node would tell the others to reach it at {0}, which leads each of them to itself; set \
         `advertise` to an address of this host that they reach"
    )]
    AdvertisesLoopback(SocketAddr),
    /// Raft stopped; after a failed write or sync the disk needs a look.
    #[error("the management service stopped: {0}")]
    Raft(String),
    /// The system gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(String),
}

impl MgmtError {
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> MgmtError {
        let path = path.into();
        move |cause| MgmtError::Io { operation, path, cause }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What the monitoring service is told.

use crate::logic::history::Limits;
use crate::url::Url;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a monitoring service.
#[derive(Clone, Debug)]
pub struct MonConfig {
    /// Where the history is.
    pub dir: PathBuf,
    /// Management services.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret file.
    pub secret_file: PathBuf,
    /// Encrypt traffic with services.
    pub encrypt: bool,
    /// Time between two rounds of samples.
    pub interval: Duration,
    /// How much is kept.
    pub limits: Limits,
    /// Where to answer queries, in HTTP; it wants the token.
    pub listen: SocketAddr,
    /// That may be another address than loopback, although it is not encrypted.
    pub insecure: bool,
    /// Where to serve its own metrics.
    pub metrics: Option<SocketAddr>,
    /// The database.
    pub influx: Option<InfluxConfig>,
}

/// Where points are written.
#[derive(Clone, Debug)]
pub struct InfluxConfig {
    /// The database's address.
    pub url: Url,
    /// Which interface it has.
    pub destination: InfluxDestination,
}

/// Where in a database points are written.
#[derive(Clone, Debug)]
pub enum InfluxDestination {
    /// InfluxDB 1: `/write?db=`.
    Database {
        /// Its name.
        name: String,
        /// Who writes, and the file with the password.
        user: Option<(String, PathBuf)>,
    },
    /// InfluxDB 2: `/api/v2/write?org=&bucket=`.
    Bucket {
        /// Organisation.
        org: String,
        /// Bucket.
        bucket: String,
        /// File with the token.
        token_file: PathBuf,
    },
}

/// Why the service does not run.
#[derive(Debug, thiserror::Error)]
pub enum MonError {
    /// The secret cannot be used.
    #[error(transparent)]
    Secret(#[from] nyala_transport::SecretError),
    /// Metrics cannot be served.
    #[error(transparent)]
    Scrape(#[from] nyala_scrape::ScrapeError),
    /// The port of the query interface cannot be had.
    #[error("cannot listen for queries at {address}: {cause}; name another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// The query interface would be open to the network.
    #[error(
        "queries at {0} would be in clear on the network, token included; name 127.0.0.1, or allow it with --insecure"
    )]
    Insecure(SocketAddr),
    /// The directory or a file in it cannot be used.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: std::io::Error,
    },
    /// Another process uses the directory.
    #[error("{}: another monitoring service uses this directory", .0.display())]
    InUse(PathBuf),
    /// A secret file is for others to read, or empty.
    #[error("{}: {reason}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What to do.
        reason: String,
    },
}

// SPDX-License-Identifier: Apache-2.0

//! What a management service has to be told.

use nyala_wire::ClusterId;
use nyala_wire::map::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// Number of this management node, from 1.
    pub node_id: u64,
    /// At the first start: the cluster's id, random; `UNKNOWN` lets the service draw it. Later: the id that the directory
    /// must have; `UNKNOWN` takes what it has.
    pub cluster: ClusterId,
    /// At the first start: the cluster's settings. Later they are changed by the REST API.
    pub settings: Settings,
}

impl MgmtConfig {
    /// Node 1 on localhost with the default ports 8008 and 8010.
    pub fn new(dir: impl Into<PathBuf>, secret_file: impl Into<PathBuf>) -> MgmtConfig {
        MgmtConfig {
            dir: dir.into(),
            listen: vec![([127, 0, 0, 1], 8008).into()],
            advertise: Vec::new(),
            rest_listen: ([127, 0, 0, 1], 8010).into(),
            rest_insecure: false,
            secret_file: secret_file.into(),
            encrypt: false,
            node_id: 1,
            cluster: ClusterId::UNKNOWN,
            settings: Settings::default(),
        }
    }
}

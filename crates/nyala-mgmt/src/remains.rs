// SPDX-License-Identifier: Apache-2.0

//! What is left of management when its majority is lost, for an operator who has to decide.

use nyala_wire::ClusterId;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What is left of management: the node of one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remains {
    /// The directory.
    pub dir: PathBuf,
    /// The cluster.
    pub cluster: ClusterId,
    /// Number of the node.
    pub node: u64,
    /// Its alias.
    pub alias: String,
    /// Number of the last entry of its log.
    pub last_entry: u64,
    /// The term of that entry.
    pub last_term: u64,
    /// The last entry that it knows to be decided.
    pub decided: u64,
    /// The newest term that it has heard of; an election after its last entry if it is greater.
    pub voted_term: u64,
    /// The map's version.
    pub map_version: u64,
    /// How often a majority has been given up.
    pub recoveries: u64,
    /// Registered services.
    pub services: usize,
    /// Registered targets.
    pub targets: usize,
    /// Mirror groups.
    pub groups: usize,
    /// Where it was reached.
    pub addresses: Vec<SocketAddr>,
    /// The other management nodes that it knows.
    pub others: Vec<Other>,
}

/// Another management node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// Its number.
    pub node: u32,
    /// Its alias.
    pub alias: String,
    /// Where it was.
    pub addresses: Vec<SocketAddr>,
}

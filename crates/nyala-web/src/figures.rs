// SPDX-License-Identifier: Apache-2.0

//! What services said of themselves.

use crate::history::Totals;
use nyala_cluster::health::Probe;
use nyala_wire::map::ClusterMap;
use nyala_wire::{GroupId, TargetId};
use std::collections::BTreeMap;

/// What all services said in a round, as rates since the round before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// When, milliseconds since 1970.
    pub at_ms: u64,
    /// Of all services together.
    pub totals: Totals,
    /// Of each service.
    pub services: Vec<ServiceFigures>,
    /// Of each target.
    pub targets: BTreeMap<TargetId, TargetFigures>,
    /// Of each member that is being resynced.
    pub resyncs: BTreeMap<(GroupId, TargetId), Resync>,
    /// Of each client, in no order.
    pub clients: Vec<ClientFigures>,
    /// Of each user, in no order.
    pub users: Vec<UserFigures>,
    /// The busiest files, in order.
    pub files: Vec<FileFigures>,
    /// The busiest directories, in order.
    pub directories: Vec<FileFigures>,
}

/// What one service said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceFigures {
    /// Alias of its node.
    pub name: String,
    /// Why it said nothing.
    pub failed: Option<String>,
    /// Processor time, of one processor.
    pub cpu: f64,
    /// Memory, bytes.
    pub memory: f64,
    /// Requests in a second.
    pub requests: f64,
    /// Their 99th percentile, seconds.
    pub p99_s: Option<f64>,
    /// What it says of its health; none of its node is in it.
    pub said: Option<Probe>,
}

impl Figures {
    /// What came of asking the nodes of a map.
    pub fn probes(&self, map: &ClusterMap) -> Vec<Probe> {
        let asked: BTreeMap<&str, &ServiceFigures> =
            self.services.iter().map(|service| (service.name.as_str(), service)).collect();
        let probe = |node: &nyala_wire::map::Node| {
            let service = asked.get(node.alias.as_str())?;
            Some(match (&service.said, &service.failed) {
                (Some(said), _) => Probe { node: node.id, ..said.clone() },
                (None, Some(why)) => Probe::silent(node.id, why.clone()),
                (None, None) => Probe { node: node.id, ..Probe::default() },
            })
        };
        map.nodes.iter().filter_map(probe).collect()
    }
}

/// What was said of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetFigures {
    /// Size, bytes.
    pub size: f64,
    /// What is free of it.
    pub free: f64,
    /// Bytes read in a second.
    pub read: f64,
    /// Bytes written in a second.
    pub written: f64,
    /// Operations in a second.
    pub operations: f64,
    /// 99th percentile of the disk's latency, seconds.
    pub p99_s: Option<f64>,
}

/// How far the resync of a member is, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resync {
    /// Copied.
    pub copied: f64,
    /// Yet to copy.
    pub remaining: f64,
    /// In a second.
    pub rate: f64,
}

/// What a client does in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientFigures {
    /// Its address.
    pub name: String,
    /// Requests.
    pub requests: f64,
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub written: f64,
}

/// What a user does in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserFigures {
    /// The user's number; what stands for nobody, or for others.
    pub uid: String,
    /// Requests to metadata services.
    pub requests: f64,
    /// Those of them that change something.
    pub changes: f64,
    /// Requests of the kernel, of mounts that say so.
    pub at_mounts: f64,
    /// Those mounts that the user is busy on.
    pub mounts: usize,
}

/// What is done with a file or directory in a second, at least.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileFigures {
    /// Its path; what is known instead.
    pub path: String,
    /// Requests about it, or about names in it.
    pub requests: f64,
    /// Those of them that change something.
    pub changes: f64,
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub written: f64,
}

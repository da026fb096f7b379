// SPDX-License-Identifier: Apache-2.0

//! What a management node knows, as pages are made of it.

use crate::history::{History, Span, Totals};
use nyala_cluster::Change;
use nyala_cluster::health::Probe;
use nyala_wire::map::ClusterMap;
use nyala_wire::{GroupId, NodeId, TargetId};
use std::collections::BTreeMap;

/// All of it.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The cluster map as this node has it.
    pub map: &'a ClusterMap,
    /// The node that shows the page.
    pub here: &'a Here,
    /// What services said last; none yet after a start.
    pub figures: Option<&'a Figures>,
    /// What they said before.
    pub history: &'a History,
    /// The last changes of the cluster state, newest first.
    pub changes: &'a [Change],
    /// Now, milliseconds since 1970.
    pub now_ms: u64,
    /// The time that charts show.
    pub span: Span,
    /// Whether the visitor may change something.
    pub may_act: bool,
}

/// The node that shows the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Its alias.
    pub alias: String,
    /// Whether it leads.
    pub leadership: Leadership,
}

/// Whether a management node leads, and who does else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It leads.
    Leads,
    /// Another one leads.
    Follows(NodeId),
    /// There is no majority, as far as is known here: nothing can change.
    Lost,
}

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
    /// Of each user of mounts that say so, in no order.
    pub users: Vec<UserFigures>,
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
    /// Blocks found damaged since its start.
    pub checksum_errors: u64,
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
    pub left: f64,
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
    /// The user's number.
    pub uid: String,
    /// Requests.
    pub requests: f64,
    /// Mounts that the user is busy on.
    pub mounts: usize,
}

impl Facts<'_> {
    /// What came of asking the nodes.
    pub fn probes(&self) -> Vec<Probe> {
        let said = self.figures.iter().flat_map(|figures| &figures.services);
        let said: BTreeMap<&str, &ServiceFigures> = said.map(|service| (service.name.as_str(), service)).collect();
        let probe = |node: &nyala_wire::map::Node| {
            let service = said.get(node.alias.as_str())?;
            let checksum_errors = service.failed.is_none().then_some(service.checksum_errors);
            Some(Probe { node: node.id, failed: service.failed.clone(), checksum_errors })
        };
        self.map.nodes.iter().filter_map(probe).collect()
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What services report of others: clients that do not answer, and ways between servers that fail.

use super::finding::Finding;
use super::probe::Probe;
use super::{links, recalls};
use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Node};
use nyala_wire::mgmt::{LinkReport, RecallReport, ServiceStats};

/// What a service said of others when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The service.
    pub by: NodeId,
    /// Of a metadata service: clients that do not let go.
    pub recalls: Option<RecallReport>,
    /// Ways to other servers.
    pub links: Option<LinkReport>,
}

impl Reported {
    /// Out of what a service says of itself.
    pub fn among(by: NodeId, stats: &ServiceStats) -> Reported {
        Reported { by, recalls: stats.recalls.clone(), links: stats.links.clone() }
    }
}

/// What is wrong by what nodes said of others.
pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    let reports: Vec<Reported> =
        probes.iter().map(|probe| Reported { by: probe.node, ..probe.reported.clone() }).collect();
    all.extend(reported(map, &reports));
}

/// Clients first, then ways between servers.
pub(super) fn reported(map: &ClusterMap, reports: &[Reported]) -> Vec<Finding> {
    let mut all = Vec::new();
    recalls::check(map, reports, &mut all);
    links::check(map, reports, &mut all);
    all
}

/// A node as findings name it.
pub(super) fn name(node: &Node) -> String {
    use crate::words::Word;
    format!("{} node {} [ID: {}]", node.role.word(), node.alias, node.id)
}

// SPDX-License-Identifier: Apache-2.0

//! Nodes that do not answer, and kinds of nodes that there are none of.

use super::finding::{About, Finding, Severity};
use super::probe::Probe;
use crate::word::Word;
use nyala_wire::map::{ClusterMap, Consistency, Node, Reachability, Role, TargetKind};
use std::collections::BTreeMap;

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    let probes: BTreeMap<_, _> = probes.iter().map(|probe| (probe.node, probe)).collect();
    for node in map.nodes.iter().filter(|node| node.role != Role::Client) {
        let name = format!("{} node {} [ID: {}]", node.role.word(), node.alias, node.id);
        let probe = probes.get(&node.id);
        let mut found = |what, advice| {
            all.push(Finding { severity: Severity::Degraded, about: About::Node(node.id), what, advice });
        };
        if let Some(error) = probe.and_then(|probe| probe.failed.as_ref()) {
            found(format!("{name} cannot be reached: {error}"), start_it(node));
        }
        if node.reachability != Reachability::Online {
            let advice = match node.reachability {
                Reachability::ProbablyOffline => {
                    "Wait a few seconds: it missed heartbeats and still has its lease. If \
                                                  this comes back, look at the network between it and management."
                        .to_owned()
                }
                _ => start_it(node),
            };
            found(format!("{name} is {}", node.reachability.word()), advice);
        }
        if let Some(count) = probe.and_then(|probe| probe.checksum_errors).filter(|count| *count > 0) {
            let advice = "Run `nyala scrub` to find and repair what is damaged, and look at the disk of that host; a \
                          disk that damages data has to be replaced.";
            found(
                format!("{name} found {count} blocks that do not match their checksum; see its log"),
                advice.to_owned(),
            );
        }
    }
}

fn start_it(node: &Node) -> String {
    let unit = match node.role {
        Role::Mgmt => "nyala-mgmtd",
        Role::Meta => "nyala-meta",
        Role::Storage | Role::Client => "nyala-storage",
    };
    format!(
        "Look on {}: `systemctl status {unit}` says whether it runs, `systemctl start {unit}` starts it; if it \
         runs, look at the network between the hosts.",
        host(node)
    )
}

/// Where a node is, for a sentence.
pub(super) fn host(node: &Node) -> String {
    node.addresses.first().map_or_else(|| "its host".to_owned(), |address| format!("its host ({})", address.ip()))
}

/// Kinds of services that there are none of, or none that serves.
pub(super) fn missing(map: &ClusterMap, all: &mut Vec<Finding>) {
    for (role, kind, long) in
        [(Role::Meta, TargetKind::Meta, "metadata"), (Role::Storage, TargetKind::Storage, "storage")]
    {
        let mut found = |what: String, advice: &str| {
            let advice = advice.to_owned();
            all.push(Finding { severity: Severity::Down, about: About::Cluster, what, advice });
        };
        let mut targets = map.targets.iter().filter(|target| target.kind == kind).peekable();
        if !map.nodes.iter().any(|node| node.role == role) {
            let what = format!("there is no {} service in the cluster yet", role.word());
            found(what, "Set one up: `nyala setup`, or see the page on installation.");
        } else if targets.peek().is_some()
            && !targets.any(|t| t.reachability != Reachability::Offline && t.consistency != Consistency::Bad)
        {
            let what = format!("no {long} target can be reached");
            found(what, "Start the services named above: until one is back, nothing of the file system works.");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Disks that are slow now: much slower than those of their peers, slower than any disk should be, or without an answer for seconds.
//!
//! What services say is the mean over the last seconds, of what ended, and how long the oldest operation under way has taken. Reads of one target
//! and syncs of another say nothing about each other, so each kind of operation is compared with the same kind. A disk that was slow in
//! the window before this one stays so until it is twice as fast as it has to be: what is near the limit does not come and go.

use super::disk_group::{DiskProblem, Group};
use super::disk_times::{DiskKind, DiskTimes};
use super::finding::{About, Finding, Severity};
use super::probe::Probe;
use super::whose::Whose;
use crate::word::Word;
use nyala_wire::map::{ClusterMap, Node, Role, TargetKind};
use nyala_wire::{NodeId, PoolId};
use std::collections::BTreeMap;

/// Those who can be compared: targets of a kind in a storage pool; management nodes.
type Peers = Option<(TargetKind, PoolId)>;

/// Disks of each kind, by who can be compared: metadata or storage, and the pool.
type ByPeers = BTreeMap<(Option<(bool, PoolId)>, DiskKind), Vec<(NodeId, DiskTimes)>>;

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    let mut by_peers = ByPeers::new();
    for probe in probes {
        for times in &probe.disks {
            let Some(peers) = peers(map, probe.node, times.whose) else { continue };
            let key = peers.map(|(kind, pool)| (kind == TargetKind::Meta, pool));
            by_peers.entry((key, times.kind)).or_default().push((probe.node, *times));
        }
    }
    let mut worst: BTreeMap<(NodeId, Whose), (DiskProblem, DiskKind)> = BTreeMap::new();
    for ((_, kind), disks) in by_peers {
        let group = Group::of(disks.iter().map(|(_, times)| times));
        for (node, times) in &disks {
            let Some(problem) = group.judge(times) else { continue };
            let entry = worst.entry((*node, times.whose)).or_insert((problem, kind));
            *entry = (*entry).max((problem, kind));
        }
    }
    for ((node, whose), (problem, kind)) in worst {
        let Some(node) = map.node(node) else { continue };
        all.push(finding(map, node, whose, problem, kind));
    }
}

fn peers(map: &ClusterMap, node: NodeId, whose: Whose) -> Option<Peers> {
    match whose {
        Whose::Service => map.node(node).filter(|node| node.role == Role::Mgmt).map(|_| None),
        Whose::Target(id) => {
            map.target(id).filter(|target| target.node == node).map(|target| Some((target.kind, target.pool)))
        }
    }
}

fn finding(map: &ClusterMap, node: &Node, whose: Whose, problem: DiskProblem, kind: DiskKind) -> Finding {
    let (about, name) = named(map, node, whose);
    let what = match problem {
        DiskProblem::Waits { ms } => {
            format!("the disk of {name} does not answer: {} has waited for {} s", kind.one(), ms / 1000)
        }
        DiskProblem::Slow { us, peers_us: Some(peers) } => {
            let (us, peers) = (millis(us), millis(peers));
            format!("the disk of {name} is slow: {} takes {us}, at its peers {peers}", kind.one())
        }
        DiskProblem::Slow { us, peers_us: None } => {
            format!("the disk of {name} is slow: {} takes {}", kind.one(), millis(us))
        }
    };
    let mirrored = match whose {
        Whose::Target(id) => map.groups.iter().any(|group| group.members.contains(&id) && group.members.len() > 1),
        Whose::Service => map.nodes.iter().filter(|node| node.role == Role::Mgmt).count() > 1,
    };
    let then = match mirrored {
        true => {
            "If it stays so, stop the service there, so that the other members go on without it, and replace the disk."
        }
        false => "If it stays so, replace the disk: until then everything that lies there waits for it.",
    };
    let advice = format!(
        "Look at the disk on {}: `dmesg` says whether it fails, `iostat -x 1` whether something else keeps it busy, \
         `smartctl -a` how well it is. {then}",
        super::nodes::host(node)
    );
    Finding { severity: Severity::Degraded, about, what, advice }
}

/// What to call whoever has a disk.
pub(super) fn named(map: &ClusterMap, node: &Node, whose: Whose) -> (About, String) {
    match whose {
        Whose::Target(id) => {
            let target = map.target(id).map(|target| (target.kind.word(), target.alias.as_str()));
            let (kind, alias) = target.unwrap_or_default();
            (About::Target(id), format!("{kind} target {id} ({alias})"))
        }
        Whose::Service => (About::Node(node.id), format!("{} node {} [ID: {}]", node.role.word(), node.alias, node.id)),
    }
}

fn millis(us: u64) -> String {
    if us >= 10_000 { format!("{} ms", us / 1000) } else { format!("{}.{} ms", us / 1000, us % 1000 / 100) }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: Apache-2.0

//! Disks that are slow now: much slower than those of their peers, slower than any disk should be, or without an answer for seconds.
//!
//! What services say is the mean over the last seconds, of what ended, and how long the oldest operation under way has taken. Reads of one target
//! and syncs of another say nothing about each other, so each kind of operation is compared with the same kind. A disk that was slow in
//! the window before this one stays so until it is twice as fast as it has to be: what is near the limit does not come and go.

use super::disk_times::{DiskKind, DiskTimes};
use super::finding::{About, Finding, Severity};
use super::probe::Probe;
use super::whose::Whose;
use crate::words::Word;
use nyala_wire::map::{ClusterMap, Node, Role, TargetKind};
use nyala_wire::{NodeId, PoolId};
use std::collections::BTreeMap;

/// So many times what its peers take is slow.
const FACTOR: u64 = 10;
/// What takes no longer is not slow, whatever its peers do.
const FLOOR_US: u64 = 20_000;
/// Slow where no peer has done the same.
const ALONE_US: u64 = 1_000_000;
/// Slow for any disk.
const ANY_US: u64 = 2_000_000;
/// So long without an answer is too long where peers are not as long without one.
const WAITING_MS: u64 = 6_000;
/// So long without an answer is too long.
const WAITING_ANY_MS: u64 = 30_000;

/// Those who can be compared: targets of a kind in a storage pool; management nodes.
type Peers = Option<(TargetKind, PoolId)>;

/// What is wrong with a disk, the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Slow { us: u64, peers_us: Option<u64> },
    Waits { ms: u64 },
}

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
    let mut worst: BTreeMap<(NodeId, Whose), (Trouble, DiskKind)> = BTreeMap::new();
    for ((_, kind), disks) in by_peers {
        for (at, (node, times)) in disks.iter().enumerate() {
            let others = disks.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, (_, times))| *times);
            let Some(trouble) = judge(times, &others.collect::<Vec<_>>()) else { continue };
            let entry = worst.entry((*node, times.whose)).or_insert((trouble, kind));
            *entry = (*entry).max((trouble, kind));
        }
    }
    for ((node, whose), (trouble, kind)) in worst {
        let Some(node) = map.node(node) else { continue };
        all.push(finding(map, node, whose, trouble, kind));
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

/// Whether a disk is in trouble, next to those of its peers.
fn judge(disk: &DiskTimes, peers: &[DiskTimes]) -> Option<Trouble> {
    let peers_ms = median(peers.iter().map(|peer| peer.waiting_ms).collect()).unwrap_or(0);
    let ms = disk.waiting_ms;
    if ms >= WAITING_ANY_MS || (ms >= WAITING_MS && ms >= peers_ms.saturating_mul(FACTOR)) {
        return Some(Trouble::Waits { ms });
    }
    let peers_us = median(peers.iter().filter_map(|peer| peer.now.each().or(peer.before.each())).collect());
    let limit = match peers_us {
        Some(us) => us.saturating_mul(FACTOR).clamp(FLOOR_US, ANY_US),
        None => ALONE_US,
    };
    let us = disk.now.each()?;
    let was_slow = disk.before.each().is_some_and(|before| before >= limit);
    (us >= if was_slow { limit / 2 } else { limit }).then_some(Trouble::Slow { us, peers_us })
}

/// Of two in the middle the lesser.
fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn finding(map: &ClusterMap, node: &Node, whose: Whose, trouble: Trouble, kind: DiskKind) -> Finding {
    let (about, name) = named(map, node, whose);
    let what = match trouble {
        Trouble::Waits { ms } => {
            format!("the disk of {name} does not answer: {} has waited for {} s", kind.one(), ms / 1000)
        }
        Trouble::Slow { us, peers_us: Some(peers) } => {
            let (us, peers) = (millis(us), millis(peers));
            format!("the disk of {name} is slow: {} takes {us}, at its peers {peers}", kind.one())
        }
        Trouble::Slow { us, peers_us: None } => {
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

// SPDX-License-Identifier: Apache-2.0

//! The leader's memory of which run knows which map, leases that go with a map, and what follows for fencing lists.
//!
//! **Failure model.** A verdict ("offline") is on its way through the log while the one it is about sends a heartbeat: a
//! lease granted in between would outlive the verdict. So from the moment a verdict is proposed until it is applied, the run
//! gets no lease. A lease is worth nothing without the map that it was granted under: its holder serves only with that
//! map or a newer one. A new leader knows of nobody's map and believes what heartbeats say from then on.

use super::commands::MemberAt;
use crate::{ClusterState, Command};
use nyala_wire::map::Reachability;
use nyala_wire::{MapVersion, NodeId};
use std::collections::BTreeMap;

/// A lease, as the answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Length, milliseconds, from when the heartbeat was sent.
    pub lease_ms: u32,
    /// The holder may serve only while it has this version of the map or a newer one.
    pub map_version: MapVersion,
}

/// Who knows which map, and against whom a verdict is on its way. Memory of one leader.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// By node: the run and the newest map that it said it has.
    known: BTreeMap<NodeId, (u64, MapVersion)>,
    /// Runs against which "offline" has been proposed and not yet been seen applied.
    condemned: BTreeMap<NodeId, u64>,
}

impl Fence {
    /// "Offline" is about to be proposed against a run. Call it before the proposal.
    pub fn condemn(&mut self, node: NodeId, incarnation: u64) {
        self.condemned.insert(node, incarnation);
    }

    /// The proposal came to nothing or was applied.
    pub fn resolve(&mut self, node: NodeId) {
        self.condemned.remove(&node);
    }

    /// A heartbeat: what its sender is to get. `None`: no lease now; it is not the current run, or is being declared down.
    pub fn heartbeat(
        &mut self,
        state: &ClusterState,
        node: NodeId,
        incarnation: u64,
        has: MapVersion,
    ) -> Option<Grant> {
        let record = state.node(node).filter(|n| n.incarnation == incarnation)?;
        let known = self.known.entry(node).or_insert((incarnation, has));
        *known = if known.0 == incarnation { (incarnation, known.1.max(has)) } else { (incarnation, has) };
        let down = self.condemned.get(&node) == Some(&incarnation) || record.reachability == Reachability::Offline;
        (!down).then_some(Grant { lease_ms: state.settings.lease_ms, map_version: state.version })
    }

    /// Commands for members whose service has said that it has the map in which they lost a right.
    pub fn due(&self, state: &ClusterState) -> Vec<Command> {
        let mut due = Vec::new();
        for group in state.groups.iter().filter(|g| !g.fencing.is_empty()) {
            for &target in &group.fencing {
                let node = state.target(target).and_then(|t| state.node(t.node));
                let knows = node.is_some_and(|n| {
                    self.known.get(&n.id).is_some_and(|(run, has)| *run == n.incarnation && *has >= group.since)
                });
                if knows {
                    due.push(Command::Fenced(MemberAt { group: group.id, epoch: group.epoch, target }));
                }
            }
        }
        due
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The lease ledger: which run knows which map, which runs get no lease, and what follows for the groups' fencing lists.
//!
//! **Failure model.** A verdict ("offline") is on its way through the log while the run that it is about sends a heartbeat: a
//! lease granted in between would outlive the verdict. So from before a verdict is proposed until its outcome is known, the
//! run gets no lease; that the proposer gave up waiting is no outcome. A lease is worth nothing without the map that it was
//! granted under: its holder serves only with that map or a newer one. A new leader knows of nobody's map and believes what
//! heartbeats say from then on.

use crate::command::Command;
use crate::group::member_at::MemberAt;
use crate::state::ClusterState;
use nyala_wire::map::Reachability;
use nyala_wire::{MapVersion, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// A lease, as the answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Length, milliseconds, from when the heartbeat was sent.
    pub lease_ms: u32,
    /// The holder may serve only while it has this version of the map or a newer one.
    pub map_version: MapVersion,
}

/// A run of a service.
type Run = (NodeId, u64);

/// A proposed "offline".
#[derive(Clone, Copy, Debug)]
struct Verdict {
    run: Run,
    /// Whoever proposed it does not wait any more, and it may still be decided.
    open: bool,
}

/// The leases of one leader; a new leader begins with an empty ledger.
#[derive(Clone, Debug, Default)]
pub struct LeaseLedger {
    /// By node: the run and the newest map that it said it has.
    known: BTreeMap<NodeId, (u64, MapVersion)>,
    /// Proposals of "offline" without a known outcome, by their number, which grows as the log does.
    verdicts: BTreeMap<u64, Verdict>,
}

impl LeaseLedger {
    /// "Offline" is about to be proposed against a run. Call it before the proposal; numbers only grow.
    pub fn condemn(&mut self, proposal: u64, node: NodeId, incarnation: u64) {
        self.verdicts.insert(proposal, Verdict { run: (node, incarnation), open: false });
    }

    /// The proposal was applied or refused. So were open ones of the same run before it: the log keeps their order.
    pub fn resolve(&mut self, proposal: u64) {
        if let Some(ended) = self.verdicts.remove(&proposal) {
            self.verdicts.retain(|number, verdict| *number > proposal || !verdict.open || verdict.run != ended.run);
        }
    }

    /// Nobody waits for the proposal any more; it may still be decided.
    pub fn leave_open(&mut self, proposal: u64) {
        if let Some(verdict) = self.verdicts.get_mut(&proposal) {
            verdict.open = true;
        }
    }

    /// The cluster state would not change by calling the run offline, so that what is open about it can do no harm: whatever
    /// makes it online again comes later in the log.
    pub fn settle(&mut self, node: NodeId, incarnation: u64) {
        self.verdicts.retain(|_, verdict| !verdict.open || verdict.run != (node, incarnation));
    }

    /// Runs with an open verdict: it has to be proposed again until its outcome is known.
    pub fn open(&self) -> BTreeSet<(NodeId, u64)> {
        self.verdicts.values().filter(|verdict| verdict.open).map(|verdict| verdict.run).collect()
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
        let condemned = self.verdicts.values().any(|verdict| verdict.run == (node, incarnation));
        let down = condemned || record.reachability == Reachability::Offline;
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

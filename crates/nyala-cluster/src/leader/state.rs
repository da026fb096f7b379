// SPDX-License-Identifier: Apache-2.0

//! The leader's memory of one term, and what it decides from it ([`super`]).

use super::evacuation::Evacuation;
use super::pools::changes_of_pools;
use super::probes::{Probe, Probes};
use super::rebalance::Rebalancer;
use crate::command::Command;
use crate::error::ClusterError;
use crate::failure::{FailureDetector, Watched};
use crate::lease_ledger::{Grant, LeaseLedger};
use crate::state::{ClusterState, NodeRecord};
use nyala_wire::map::{Reachability, Role};
use nyala_wire::mgmt::{Capacity, Heartbeat, TargetCapacity};
use nyala_wire::{NodeId, TargetId};
use std::collections::BTreeMap;

/// Why a heartbeat gets no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLease {
    /// The cluster state has no such node.
    Unknown,
    /// Another run of the node has registered.
    Superseded,
    /// The run is called offline, or is about to be.
    Offline,
}

/// What a heartbeat leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// The lease that its sender gets.
    pub lease: Result<Grant, NoLease>,
    /// The leader is to look now, not only when its pause is over.
    pub look: bool,
}

/// A proposal under way; its outcome goes to [`LeaderState::ended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    term: u64,
    number: u64,
}

/// Memory of one leader in one term. Times are milliseconds of one monotonic clock; `state` is what has been applied.
#[derive(Clone, Debug)]
pub struct LeaderState {
    term: u64,
    proposals: u64,
    detector: FailureDetector,
    ledger: LeaseLedger,
    probes: Probes,
    capacities: BTreeMap<TargetId, Capacity>,
    rebalancer: Rebalancer,
    evacuation: Evacuation,
}

/// The run that a command calls offline.
fn condemned(command: &Command) -> Option<(NodeId, u64)> {
    match command {
        Command::SetReachability { node, incarnation, reachability: Reachability::Offline } => {
            Some((*node, *incarnation))
        }
        _ => None,
    }
}

impl LeaderState {
    /// For a leader that begins a term now: it waits a full lease before it holds silence against anybody.
    pub fn new(term: u64, now_ms: u64) -> LeaderState {
        LeaderState {
            term,
            proposals: 0,
            detector: FailureDetector::new(now_ms),
            ledger: LeaseLedger::default(),
            probes: Probes::default(),
            capacities: BTreeMap::new(),
            rebalancer: Rebalancer::new(now_ms),
            evacuation: Evacuation::default(),
        }
    }

    /// A run has registered, with the capacities of its targets. Its lease counts from when it sent the request, which was
    /// earlier: it is the leader who waits longer.
    pub fn registered(&mut self, node: NodeId, incarnation: u64, capacities: &[TargetCapacity], now_ms: u64) {
        self.heard(node, incarnation, now_ms);
        self.capacities.extend(capacities.iter().map(|c| (c.target, c.capacity)));
    }

    fn heard(&mut self, node: NodeId, incarnation: u64, now_ms: u64) {
        self.detector.heard(node, incarnation, now_ms);
        self.probes.heard(node);
    }

    /// A heartbeat came over a connection.
    pub fn heartbeat(&mut self, state: &ClusterState, beat: &Heartbeat, connection: u64, now: u64) -> HeartbeatAnswer {
        let (id, run) = (beat.node, beat.incarnation);
        let refused = |why| HeartbeatAnswer { lease: Err(why), look: false };
        let Some(node) = state.node(id) else { return refused(NoLease::Unknown) };
        if node.incarnation != run {
            return refused(NoLease::Superseded);
        }
        self.heard(id, run, now);
        self.probes.heard_over(id, run, connection);
        let mine = |target| state.target(target).is_some_and(|t| t.node == id);
        for reported in beat.capacities.iter().filter(|reported| mine(reported.target)) {
            self.capacities.insert(reported.target, reported.capacity);
            self.evacuation.reported(reported);
            reported.inodes.into_iter().for_each(|inodes| self.rebalancer.reported(reported.target, inodes));
        }
        let fencing = state.groups.iter().any(|group| !group.fencing.is_empty());
        let look = node.reachability != Reachability::Online || fencing;
        let lease = self.ledger.heartbeat(state, id, run, beat.map_version).ok_or(NoLease::Offline);
        HeartbeatAnswer { lease, look }
    }

    /// A run says that it ends: a heartbeat that arrives late must not undo the "offline" that its caller proposes next.
    pub fn goodbye(&mut self, node: NodeId, incarnation: u64) {
        self.detector.dead(node, incarnation);
    }

    /// Management nodes send no heartbeats: `last_ms` says when each was heard in Raft.
    pub fn hear_management(&mut self, state: &ClusterState, last_ms: impl Fn(&NodeRecord) -> Option<u64>) {
        for node in state.nodes.iter().filter(|n| n.role == Role::Mgmt) {
            if let Some(at_ms) = last_ms(node) {
                self.detector.heard(node.id, node.incarnation, at_ms);
            }
        }
    }

    /// What each target reported last to this leader.
    pub fn capacities(&self) -> &BTreeMap<TargetId, Capacity> {
        &self.capacities
    }

    /// Whether a command is to be proposed: one that changes nothing (`None`) or is refused anyway does not go into the log.
    /// From here until the outcome is known, a run that it calls offline gets no lease.
    pub fn begin(&mut self, state: &ClusterState, command: &Command) -> Result<Option<Proposal>, ClusterError> {
        let run = condemned(command);
        let trial = state.clone().apply(command.clone());
        if !trial.as_ref().is_ok_and(|events| !events.is_empty()) {
            run.into_iter().for_each(|(node, incarnation)| self.ledger.settle(node, incarnation));
            return trial.map(|_| None);
        }
        self.proposals += 1;
        let number = self.proposals;
        run.into_iter().for_each(|(node, incarnation)| self.ledger.condemn(number, node, incarnation));
        Ok(Some(Proposal { term: self.term, number }))
    }

    /// A proposal was applied or refused (`known`), or nobody waits for it any more. One of another term means nothing here.
    pub fn ended(&mut self, proposal: Proposal, known: bool) {
        match known {
            _ if proposal.term != self.term => {}
            true => self.ledger.resolve(proposal.number),
            false => self.ledger.leave_open(proposal.number),
        }
    }

    /// How long the leader pauses between two looks, milliseconds.
    pub fn look_every_ms(state: &ClusterState) -> u64 {
        (u64::from(state.settings.lease_ms) / 30).clamp(10, 100)
    }

    /// `gap_ms` went by since the last look. If that is much more than the pause, this process stood still: what came
    /// meanwhile has not been taken in yet. Silence that is excused is safe to judge, and a proof of death counts all the same.
    pub fn woke(&mut self, state: &ClusterState, gap_ms: u64, now_ms: u64) {
        let pause_ms = LeaderState::look_every_ms(state);
        if gap_ms > pause_ms + u64::from(state.settings.lease_ms) / 6 {
            self.detector.excuse(gap_ms - pause_ms, now_ms);
        }
    }

    /// Verdicts to propose, one after the other: first those whose earlier proposal has no known outcome, then what the
    /// failure detector finds.
    pub fn verdicts(&mut self, state: &ClusterState, now_ms: u64) -> Vec<Command> {
        self.capacities.retain(|target, _| state.target(*target).is_some());
        self.probes.forget(state);
        let lease_ms = u64::from(state.settings.lease_ms);
        let watched = state.nodes.iter().filter(|n| n.role != Role::Client);
        let watched = watched.map(|n| Watched { node: n.id, incarnation: n.incarnation, reachability: n.reachability });
        let open = self.ledger.open().into_iter().map(|(node, incarnation)| (node, incarnation, Reachability::Offline));
        let found = self.detector.changes(watched, lease_ms, now_ms);
        let all = open.chain(found.map(|(w, reachability)| (w.node, w.incarnation, reachability)));
        all.map(|(node, incarnation, reachability)| Command::SetReachability { node, incarnation, reachability })
            .collect()
    }

    /// Commands for members whose service has said that it knows what they have lost.
    pub fn fenced(&self, state: &ClusterState) -> Vec<Command> {
        self.ledger.due(state)
    }

    /// The change of capacity pools that is due, if there is one.
    pub fn pools(&self, state: &ClusterState) -> Option<Command> {
        changes_of_pools(state, &self.capacities)
    }

    /// Which targets' disks fail now, and the next steps towards mirror groups without them.
    pub fn evacuate(&self, state: &ClusterState) -> Vec<Command> {
        self.evacuation.due(state, &self.capacities)
    }

    /// How many errors a storage target has found on its disk, as last reported.
    pub fn disk_errors(&self, target: TargetId) -> Option<u64> {
        self.evacuation.errors(target)
    }

    /// How many inodes a metadata target has, as last reported.
    pub fn inodes(&self, target: TargetId) -> Option<u64> {
        self.rebalancer.inodes(target)
    }

    /// What is due so that metadata servers that joined get their share, one command after the other.
    pub fn rebalance(&mut self, state: &ClusterState, now_ms: u64) -> Vec<Command> {
        self.rebalancer.due(state, now_ms)
    }

    /// The other side closed a connection, in order. If a service was heard over it, its process may be dead: it is to be
    /// probed, a few times, since its listening socket may be closed a little later.
    pub fn connection_closed(&mut self, state: &ClusterState, connection: u64) -> Option<Probe> {
        self.probes.closed(state, connection)
    }

    /// Somebody's connection to a service was refused: it is probed now, not when it has been silent for long.
    pub fn reported(&mut self, state: &ClusterState, node: NodeId, now_ms: u64) -> Option<Probe> {
        self.probes.reported(state, node, now_ms)
    }

    /// Probes of services that have missed a heartbeat: one that is dead is known to be so long before its lease ends.
    pub fn probe_silent(&mut self, state: &ClusterState, now_ms: u64) -> Vec<Probe> {
        self.probes.silent(state, &self.detector, now_ms)
    }

    /// Whether a refused probe would prove that this run is dead. If not, there is no need to try.
    pub fn may_be_dead(&self, node: NodeId, incarnation: u64) -> bool {
        self.probes.has_closed(node, incarnation)
    }

    /// The run's host refused a probe: whether that proves its death. It may have been heard over another connection
    /// since the probe was begun.
    pub fn refused(&mut self, node: NodeId, incarnation: u64) -> bool {
        let dead = self.may_be_dead(node, incarnation);
        if dead {
            self.detector.dead(node, incarnation);
        }
        dead
    }
}

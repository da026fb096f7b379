// SPDX-License-Identifier: Apache-2.0

//! The management service as far as its log goes: one leader at a time, decisions that survive it, and what a leader remembers
//! and decides by itself ([`LeaderState`], which ships), which does not.

use crate::mutation::Mutation;
use nyala_cluster::leader::{HeartbeatAnswer, NoLease, Probe, Proposal};
use nyala_cluster::lease_ledger::Grant;
use nyala_cluster::{ClusterState, Command, LeaderState, MemberAt, RegisterNode};
use nyala_wire::map::{ClusterMap, MemberState, Reachability};
use nyala_wire::mgmt::Heartbeat;
use nyala_wire::{MapVersion, NodeId};
use std::rc::Rc;

/// The service.
pub struct Mgmt {
    /// What was decided.
    pub state: ClusterState,
    /// Number of the present leader's term; a proposal of another term comes to nothing or has been decided already.
    pub term: u64,
    /// Whether there is a leader.
    pub leads: bool,
    leader: LeaderState,
    map: Rc<ClusterMap>,
    broken: Option<Mutation>,
}

impl Mgmt {
    /// A service with that state.
    pub fn new(state: ClusterState, broken: Option<Mutation>) -> Mgmt {
        let map = Rc::new(state.map());
        Mgmt { state, term: 1, leads: true, leader: LeaderState::new(1, 0), map, broken }
    }

    /// The map.
    pub fn map(&self) -> Rc<ClusterMap> {
        self.map.clone()
    }

    /// A new leader begins: it knows what was decided and nothing else.
    pub fn lead(&mut self, term: u64, now_ms: u64) {
        self.term = term;
        self.leads = true;
        self.leader = LeaderState::new(term, now_ms);
    }

    /// A heartbeat.
    pub fn heartbeat(&mut self, beat: &Heartbeat, connection: u64, now_ms: u64) -> HeartbeatAnswer {
        let mut answer = self.leader.heartbeat(&self.state, beat, connection, now_ms);
        let known = !matches!(answer.lease, Err(NoLease::Unknown | NoLease::Superseded));
        if self.broken == Some(Mutation::LeaseForTheCondemned) && known {
            answer.lease = Ok(Grant { lease_ms: self.state.settings.lease_ms, map_version: MapVersion(0) });
        }
        if self.broken == Some(Mutation::LongLease) {
            answer.lease = answer.lease.map(|grant| Grant { lease_ms: grant.lease_ms * 3, ..grant });
        }
        answer
    }

    /// A run registered: that was a sign of life.
    pub fn registered(&mut self, register: &RegisterNode, now_ms: u64) {
        if let Some((node, _)) = self.state.ids_of(register) {
            self.leader.registered(node, register.incarnation, &[], now_ms);
        }
    }

    /// A service's kernel closed a connection: whom to probe.
    pub fn connection_closed(&mut self, connection: u64) -> Option<Probe> {
        self.leader.connection_closed(&self.state, connection)
    }

    /// Somebody says that a server refuses connections: whom to probe.
    pub fn reported(&mut self, node: NodeId, now_ms: u64) -> Option<Probe> {
        self.leader.reported(&self.state, node, now_ms)
    }

    /// A probe was refused; whether that proves a death.
    pub fn refused(&mut self, node: NodeId, incarnation: u64) -> bool {
        self.leader.refused(node, incarnation)
    }

    /// Whom the leader wants to probe by itself.
    pub fn probe_silent(&mut self, now_ms: u64) -> Vec<Probe> {
        self.leader.probe_silent(&self.state, now_ms)
    }

    /// Lets a proposal into the log, unless it is refused or would change nothing.
    pub fn propose(&mut self, command: Command) -> Option<(Command, Proposal)> {
        let command = self.mutate(command);
        let begun = self.leads.then(|| self.leader.begin(&self.state, &command))?;
        Some((command, begun.ok()??))
    }

    /// What the leader wants to propose by itself.
    pub fn look(&mut self, now_ms: u64) -> Vec<Command> {
        let mut wanted = self.leader.verdicts(&self.state, now_ms);
        if self.broken == Some(Mutation::NoFencing) {
            for group in &self.state.groups {
                let at = |target| Command::Fenced(MemberAt { group: group.id, epoch: group.epoch, target });
                wanted.extend(group.fencing.iter().map(|target| at(*target)));
            }
        } else {
            wanted.extend(self.leader.fenced(&self.state));
        }
        wanted
    }

    /// A proposal is decided; whether the map changed. The leader may have stopped waiting for it (`known`).
    pub fn commit(&mut self, command: &Command, proposal: Proposal, known: bool) -> bool {
        let changed = self.state.apply(command.clone()).is_ok_and(|events| !events.is_empty());
        self.leader.ended(proposal, known);
        if self.broken == Some(Mutation::AnyoneMayReturn) {
            self.let_anyone_return();
        }
        if changed {
            self.map = Rc::new(self.state.map());
        }
        changed
    }

    /// Breaks rules about commands.
    fn mutate(&self, command: Command) -> Command {
        match command {
            Command::MemberResynced(member) if self.broken == Some(Mutation::ResyncedInAnyEpoch) => {
                let epoch = self.state.group(member.group).map_or(member.epoch, |g| g.epoch);
                Command::MemberResynced(MemberAt { epoch, ..member })
            }
            other => other,
        }
    }

    /// Breaks the last-good rule: whoever is online when the last good one is not becomes primary.
    fn let_anyone_return(&mut self) {
        for group in self.state.groups.clone() {
            let reach = |t| self.state.target(t).is_some_and(|t| t.state.reachability == Reachability::Online);
            if group.primary().is_some_and(reach) {
                continue;
            }
            let found = group.members_with_states().find(|(t, s)| reach(*t) && *s != MemberState::Good);
            if let Some((target, _)) = found {
                let trigger = nyala_cluster::Trigger::DeclaredGood;
                // Refused or not: the rule is broken on purpose.
                self.state.apply(Command::SetConsistency { target, trigger }).unwrap_or_default();
            }
        }
        self.map = Rc::new(self.state.map());
    }
}

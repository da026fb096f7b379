// SPDX-License-Identifier: Apache-2.0

//! The management service as far as its log goes: one leader at a time, decisions that survive it, and memory (who was heard
//! when, who knows which map) that does not.

use crate::mutation::Mutation;
use nyala_cluster::failure::Watched;
use nyala_cluster::{ClusterState, Command, FailureDetector, Fence, MemberAt, RegisterNode};
use nyala_wire::map::{ClusterMap, MemberState, Reachability, Role};
use nyala_wire::{MapVersion, NodeId};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The service.
pub struct Mgmt {
    /// What was decided.
    pub state: ClusterState,
    /// Number of the present leader's term; a proposal of another term comes to nothing or has been decided already.
    pub term: u64,
    /// Whether there is a leader.
    pub leads: bool,
    detector: FailureDetector,
    fence: Fence,
    proposed: BTreeSet<Vec<u8>>,
    map: Rc<ClusterMap>,
    broken: Option<Mutation>,
}

impl Mgmt {
    /// A service with that state.
    pub fn new(state: ClusterState, broken: Option<Mutation>) -> Mgmt {
        let map = Rc::new(state.map());
        let detector = FailureDetector::new(0);
        Mgmt { state, term: 1, leads: true, detector, fence: Fence::default(), proposed: BTreeSet::new(), map, broken }
    }

    /// The map.
    pub fn map(&self) -> Rc<ClusterMap> {
        self.map.clone()
    }

    /// A new leader begins: it knows what was decided and nothing else.
    pub fn lead(&mut self, term: u64, now_ms: u64) {
        self.term = term;
        self.leads = true;
        self.detector = FailureDetector::new(now_ms);
        self.fence = Fence::default();
        self.proposed.clear();
    }

    /// A heartbeat: the length of the lease, if there is one, and the map that it is good with.
    pub fn heartbeat(
        &mut self,
        node: NodeId,
        incarnation: u64,
        has: MapVersion,
        now_ms: u64,
    ) -> (Option<u32>, MapVersion) {
        if self.state.node(node).is_some_and(|n| n.incarnation == incarnation) {
            self.detector.heard(node, incarnation, now_ms);
        }
        let grant = self.fence.heartbeat(&self.state, node, incarnation, has);
        if self.broken == Some(Mutation::LeaseForTheCondemned) {
            return (Some(self.state.settings.lease_ms), MapVersion(0));
        }
        let lease_ms =
            grant.map(|g| if self.broken == Some(Mutation::LongLease) { g.lease_ms * 3 } else { g.lease_ms });
        (lease_ms, self.state.version)
    }

    /// A run registered: that was a sign of life.
    pub fn registered(&mut self, register: &RegisterNode, now_ms: u64) {
        if let Some((node, _)) = self.state.ids_of(register) {
            self.detector.heard(node, register.incarnation, now_ms);
        }
    }

    /// A server's host refuses connections.
    pub fn refused(&mut self, node: NodeId, incarnation: u64) {
        self.detector.dead(node, incarnation);
    }

    /// Lets a proposal into the log, unless it is on its way already or would change nothing.
    pub fn propose(&mut self, command: Command) -> Option<Command> {
        let command = self.mutate(command);
        if !self.leads || self.state.clone().apply(command.clone()).is_ok_and(|events| events.is_empty()) {
            return None;
        }
        if let Command::SetReachability { node, incarnation, reachability: Reachability::Offline } = command {
            self.fence.condemn(node, incarnation);
        }
        self.proposed.insert(nyala_wire::codec::encode(&command)).then_some(command)
    }

    /// What the leader wants to propose by itself.
    pub fn look(&mut self, now_ms: u64) -> Vec<Command> {
        let lease_ms = u64::from(self.state.settings.lease_ms);
        let served = self.state.nodes.iter().filter(|n| n.role == Role::Storage);
        let watched = served.map(|n| Watched { node: n.id, incarnation: n.incarnation, reachability: n.reachability });
        let verdicts: Vec<_> = self.detector.changes(watched, lease_ms, now_ms).collect();
        let verdict = |(w, reachability): (Watched, Reachability)| Command::SetReachability {
            node: w.node,
            incarnation: w.incarnation,
            reachability,
        };
        let mut wanted: Vec<Command> = verdicts.into_iter().map(verdict).collect();
        if self.broken == Some(Mutation::NoFencing) {
            for group in &self.state.groups {
                let at = |target| Command::Fenced(MemberAt { group: group.id, epoch: group.epoch, target });
                wanted.extend(group.fencing.iter().map(|target| at(*target)));
            }
        } else {
            wanted.extend(self.fence.due(&self.state));
        }
        wanted
    }

    /// A proposal is decided; whether the map changed.
    pub fn commit(&mut self, command: &Command) -> bool {
        self.proposed.remove(&nyala_wire::codec::encode(command));
        let changed = self.state.apply(command.clone()).is_ok_and(|events| !events.is_empty());
        if let Command::SetReachability { node, .. } = command {
            self.fence.resolve(*node);
        }
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

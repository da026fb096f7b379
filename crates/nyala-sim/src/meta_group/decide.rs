// SPDX-License-Identifier: Apache-2.0

//! What happens at management.

use super::world::{Event, Msg, World, registration};
use crate::event::Endpoint;
use crate::node::Power;
use nyala_cluster::Command;
use nyala_cluster::leader::{NoLease, Proposal};
use nyala_cluster::lease_ledger::Grant;
use nyala_wire::NodeId;
use nyala_wire::map::MemberState;
use std::rc::Rc;

impl World {
    pub(super) fn mgmt_hears(&mut self, from: Endpoint, msg: Msg) {
        if !self.mgmt.leads {
            return;
        }
        let now_ms = self.now_us / 1000;
        match msg {
            Msg::Register(register) => {
                let same =
                    |n: &&nyala_cluster::NodeRecord| n.uuid == register.uuid && n.incarnation == register.incarnation;
                if self.mgmt.state.nodes.iter().any(|node| same(&node)) {
                    self.mgmt.registered(&register, now_ms);
                    let map = self.mgmt.map();
                    self.send(Endpoint::Mgmt, from, Msg::Registered(register.incarnation, map));
                } else {
                    self.propose(Command::RegisterNode(*register));
                }
            }
            Msg::Heartbeat(beat, sent_ms) => {
                let answer = self.mgmt.heartbeat(&beat, beat.incarnation, now_ms);
                let reply = match answer.lease {
                    Ok(Grant { lease_ms, map_version }) => Msg::Lease(Some(lease_ms), map_version, sent_ms),
                    Err(NoLease::Offline) => Msg::Lease(None, self.mgmt.state.version, sent_ms),
                    Err(NoLease::Unknown | NoLease::Superseded) => Msg::Superseded(beat.incarnation),
                };
                self.send(Endpoint::Mgmt, from, reply);
                if answer.look {
                    self.look_now();
                }
            }
            Msg::Refused(node) => {
                if let Some(probe) = self.mgmt.reported(node, now_ms) {
                    let term = self.mgmt.term;
                    self.push(0, Event::Probe(term, probe.node, probe.incarnation));
                }
            }
            Msg::GetMap => {
                let map = self.mgmt.map();
                self.send(Endpoint::Mgmt, from, Msg::Map(map));
            }
            Msg::Propose(command) => self.propose(command),
            _ => {}
        }
    }

    pub(super) fn probed(&mut self, term: u64, node: NodeId, incarnation: u64) {
        let Some(at) = self.nodes.iter().position(|n| n.id == node).filter(|_| term == self.mgmt.term) else { return };
        let open = |from, to| self.net.open(from, to, self.now_us);
        let answers = open(Endpoint::Mgmt, Endpoint::Node(at)) && open(Endpoint::Node(at), Endpoint::Mgmt);
        if answers && self.nodes[at].power == Power::Dead && self.mgmt.leads && self.mgmt.refused(node, incarnation) {
            self.look_now();
        }
    }

    /// A proposal goes on its way through management's log.
    pub fn propose(&mut self, command: Command) {
        if let Some((command, proposal)) = self.mgmt.propose(command) {
            let (after, term) = (self.rng.range(500, 12_000), self.mgmt.term);
            self.push(after, Event::Commit(term, command, proposal));
        }
    }

    pub(super) fn look_now(&mut self) {
        for command in self.mgmt.look(self.now_us / 1000) {
            self.propose(command);
        }
    }

    pub(super) fn look(&mut self, term: u64) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        for probe in self.mgmt.probe_silent(self.now_us / 1000) {
            self.push(0, Event::Probe(term, probe.node, probe.incarnation));
        }
        self.look_now();
        self.push(20_000, Event::Look(term));
    }

    pub(super) fn commit(&mut self, term: u64, command: &Command, proposal: Proposal) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        let known = self.quiet || !self.rng.percent(3);
        if !self.mgmt.commit(command, proposal, known) {
            return;
        }
        if matches!(command, Command::MemberResynced(_)) && self.rng.percent(5) {
            // Who has just become good may be the only one that is left.
            let after = self.rng.range(0, 3000);
            self.push(after, Event::BlackOut);
        }
        let map = self.mgmt.map();
        let group = map.groups[0].clone();
        for (target, state) in group.members_with_states() {
            if state != MemberState::Good && self.power_of(target) {
                // It will have everything again before it is good.
                self.lost_power.remove(&target);
            }
        }
        self.count_copies();
        self.trace.line(self.now_us, || format!("mgmt: {} v{}", crate::mgmt_summary(&group), map.version));
        if let Command::RegisterNode(register) = command {
            self.mgmt.registered(register, self.now_us / 1000);
            if let Some(at) = (0..self.nodes.len()).find(|at| registration(*at, 0).uuid == register.uuid) {
                self.send(Endpoint::Mgmt, Endpoint::Node(at), Msg::Registered(register.incarnation, Rc::clone(&map)));
            }
        }
        for at in 0..self.nodes.len() {
            self.send(Endpoint::Mgmt, Endpoint::Node(at), Msg::Map(Rc::clone(&map)));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What happens at management: it hears, looks, proposes, and tells everybody what was decided.

use crate::event::{Endpoint, Event, Msg};
use crate::node::Power;
use crate::setup::registration;
use crate::world::World;
use nyala_cluster::Command;
use nyala_cluster::leader::{NoLease, Probe, Proposal};
use nyala_cluster::lease_ledger::Grant;
use nyala_wire::NodeId;
use nyala_wire::map::Group;
use nyala_wire::mgmt::Heartbeat;
use std::rc::Rc;

/// After a connection was closed its service is probed at these times, microseconds.
const PROBES_US: [u64; 4] = [0, 10_000, 40_000, 100_000];

impl World {
    pub(crate) fn mgmt_hears(&mut self, from: Endpoint, msg: Msg) {
        if !self.mgmt.leads {
            return;
        }
        let now_ms = self.now_us / 1000;
        match msg {
            Msg::Register(register) => {
                let known = self
                    .mgmt
                    .state
                    .nodes
                    .iter()
                    .any(|n| n.uuid == register.uuid && n.incarnation == register.incarnation);
                if known {
                    self.mgmt.registered(&register, now_ms);
                    self.send(Endpoint::Mgmt, from, Msg::Registered(register.incarnation, self.mgmt.map()));
                } else {
                    self.propose(Command::RegisterNode(*register));
                }
            }
            Msg::Heartbeat { beat, sent_ms } => self.heartbeat(from, &beat, sent_ms),
            Msg::Closed { connection } => {
                let probe = self.mgmt.connection_closed(connection);
                probe.into_iter().for_each(|probe| self.probe(&probe, &PROBES_US));
            }
            Msg::Refused(node) => {
                let probe = self.mgmt.reported(node, now_ms);
                probe.into_iter().for_each(|probe| self.probe(&probe, &[0]));
            }
            Msg::GetMap => self.send(Endpoint::Mgmt, from, Msg::Map(self.mgmt.map())),
            Msg::Propose(command) => self.propose(command),
            Msg::Superseded { .. } => {}
            Msg::Lease { .. }
            | Msg::Map(_)
            | Msg::Registered(..)
            | Msg::Member { .. }
            | Msg::Ask { .. }
            | Msg::Answer { .. } => {}
        }
    }

    /// A connection of a run is one for as long as the run lasts, and has its number.
    fn heartbeat(&mut self, from: Endpoint, beat: &Heartbeat, sent_ms: u64) {
        let answer = self.mgmt.heartbeat(beat, beat.incarnation, self.now_us / 1000);
        let reply = match answer.lease {
            Ok(Grant { lease_ms, map_version }) => {
                Msg::Lease { lease_ms: Some(lease_ms), version: map_version, sent_ms }
            }
            Err(NoLease::Offline) => Msg::Lease { lease_ms: None, version: self.mgmt.state.version, sent_ms },
            Err(NoLease::Unknown | NoLease::Superseded) => Msg::Superseded { incarnation: beat.incarnation },
        };
        self.send(Endpoint::Mgmt, from, reply);
        if answer.look {
            self.look();
        }
    }

    /// Tries a connection to a service, after each of these times.
    fn probe(&mut self, probe: &Probe, after_us: &[u64]) {
        let (term, node, incarnation) = (self.mgmt.term, probe.node, probe.incarnation);
        for us in after_us {
            self.queue.push(self.now_us + us, Event::Probe { term, node, incarnation });
        }
    }

    /// A host whose process is dead refuses, if the network lets the probe and the answer through.
    pub(crate) fn probed(&mut self, term: u64, node: NodeId, incarnation: u64) {
        let Some(at) = self.nodes.iter().position(|n| n.id == node).filter(|_| term == self.mgmt.term) else { return };
        let open = |from, to| self.net.open(from, to, self.now_us);
        let answers = open(Endpoint::Mgmt, Endpoint::Node(at)) && open(Endpoint::Node(at), Endpoint::Mgmt);
        if answers && self.nodes[at].power == Power::Dead && self.mgmt.leads && self.mgmt.refused(node, incarnation) {
            self.look();
        }
    }

    /// A proposal goes on its way through the log.
    pub fn propose(&mut self, command: Command) {
        if let Some((command, proposal)) = self.mgmt.propose(command) {
            let at_us = self.now_us + self.rng.range(500, 12_000);
            self.queue.push(at_us, Event::Commit { term: self.mgmt.term, command, proposal });
        }
    }

    fn look(&mut self) {
        for command in self.mgmt.look(self.now_us / 1000) {
            self.propose(command);
        }
    }

    pub(crate) fn mgmt_tick(&mut self, term: u64) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        for probe in self.mgmt.probe_silent(self.now_us / 1000) {
            self.probe(&probe, &[0]);
        }
        self.look();
        self.queue.push(self.now_us + 20_000, Event::MgmtTick { term });
    }

    pub(crate) fn commit(&mut self, term: u64, command: &Command, proposal: Proposal) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        // Now and then a decision takes longer than its proposer waits.
        let known = self.quiet || !self.rng.percent(3);
        if !self.mgmt.commit(command, proposal, known) {
            return;
        }
        let map = self.mgmt.map();
        let group = map.groups[0].clone();
        if let Command::RegisterNode(register) = command {
            self.mgmt.registered(register, self.now_us / 1000);
        }
        if let Command::RegisterNode(register) = command
            && let Some(at) = (0..self.nodes.len()).find(|at| registration(*at, 0).uuid == register.uuid)
        {
            self.send(Endpoint::Mgmt, Endpoint::Node(at), Msg::Registered(register.incarnation, Rc::clone(&map)));
        }
        self.trace.line(self.now_us, || format!("mgmt: {} -> v{} {}", brief(command), map.version, summary(&group)));
        let verdict = self.monotone.map(&map);
        self.judge(verdict);
        self.good_again(&group);
        self.count_copies(false);
        self.fences.fence(&group, &mut self.nodes);
        let nodes = (0..self.nodes.len()).map(Endpoint::Node);
        let everybody: Vec<Endpoint> = nodes.chain((0..self.clients.len()).map(Endpoint::Client)).collect();
        everybody.into_iter().for_each(|to| self.send(Endpoint::Mgmt, to, Msg::Map(Rc::clone(&map))));
    }
}

/// A group in a few words.
pub fn summary(group: &Group) -> String {
    let members = group.members_with_states().map(|(t, s)| format!("{t}:{s:?}")).collect::<Vec<_>>().join(" ");
    format!(
        "e{} r{} [{members}] fencing {:?}",
        group.epoch,
        group.term,
        group.fencing.iter().map(|t| t.0).collect::<Vec<_>>()
    )
}

/// A command in a few words.
fn brief(command: &Command) -> String {
    match command {
        Command::RegisterNode(register) => format!("RegisterNode run {}", register.incarnation),
        other => format!("{other:?}"),
    }
}

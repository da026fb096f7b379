// SPDX-License-Identifier: Apache-2.0

//! What happens at management: it hears, looks, proposes, and tells everybody what was decided.

use crate::event::{Event, Msg, Place};
use crate::node::Power;
use crate::setup::registration;
use crate::world::World;
use nyala_cluster::Command;
use nyala_wire::map::Group;
use std::rc::Rc;

impl World {
    pub(crate) fn mgmt_hears(&mut self, from: Place, msg: Msg) {
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
                    self.send(Place::Mgmt, from, Msg::Registered(register.incarnation, self.mgmt.map()));
                } else {
                    self.propose(Command::RegisterNode(*register));
                }
            }
            Msg::Heartbeat { node, incarnation, has, sent_ms } => {
                if self.mgmt.state.node(node).is_none_or(|n| n.incarnation != incarnation) {
                    self.send(Place::Mgmt, from, Msg::Superseded { incarnation });
                    return;
                }
                let (lease_ms, version) = self.mgmt.heartbeat(node, incarnation, has, now_ms);
                self.send(Place::Mgmt, from, Msg::Lease { lease_ms, version, sent_ms });
            }
            Msg::GetMap => self.send(Place::Mgmt, from, Msg::Map(self.mgmt.map())),
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

    /// A proposal goes on its way through the log.
    pub fn propose(&mut self, command: Command) {
        if let Some(command) = self.mgmt.propose(command) {
            let at_us = self.now_us + self.rng.range(500, 12_000);
            self.queue.push(at_us, Event::Commit { term: self.mgmt.term, command });
        }
    }

    pub(crate) fn mgmt_tick(&mut self, term: u64) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        // A probe: hosts whose process is dead refuse.
        for at in 0..self.nodes.len() {
            let node = &self.nodes[at];
            let (id, reach) = (node.id, self.net.open(Place::Mgmt, Place::Node(at), self.now_us));
            if node.power == Power::Dead && reach && self.rng.percent(30) {
                let incarnation = self.mgmt.state.node(id).map_or(0, |n| n.incarnation);
                self.mgmt.refused(id, incarnation);
            }
        }
        for command in self.mgmt.look(self.now_us / 1000) {
            self.propose(command);
        }
        self.queue.push(self.now_us + 20_000, Event::MgmtTick { term });
    }

    pub(crate) fn commit(&mut self, term: u64, command: &Command) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        if !self.mgmt.commit(command) {
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
            self.send(Place::Mgmt, Place::Node(at), Msg::Registered(register.incarnation, Rc::clone(&map)));
        }
        self.trace.line(self.now_us, || format!("mgmt: {} -> v{} {}", brief(command), map.version, summary(&group)));
        let verdict = self.monotone.map(&map);
        self.judge(verdict);
        self.good_again(&group);
        self.count_copies(false);
        self.fences.fence(&group, &mut self.nodes);
        let nodes = (0..self.nodes.len()).map(Place::Node);
        let everybody: Vec<Place> = nodes.chain((0..self.clients.len()).map(Place::Client)).collect();
        everybody.into_iter().for_each(|to| self.send(Place::Mgmt, to, Msg::Map(Rc::clone(&map))));
    }
}

/// A group in a few words.
pub fn summary(group: &Group) -> String {
    let members = group.members_with_states().map(|(t, s)| format!("{t}:{s:?}")).collect::<Vec<_>>().join(" ");
    format!(
        "e{} r{} [{members}] fencing {:?}",
        group.epoch,
        group.reign,
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

// SPDX-License-Identifier: Apache-2.0

//! Faults, as the seed has them.

use super::world::{Event, GROUP, World};
use crate::event::Endpoint;
use crate::net::Cut;
use crate::node::Power;
use nyala_cluster::{Command, MemberAt, Trigger};
use nyala_wire::map::MemberState;

impl World {
    /// The next fault.
    pub fn fault(&mut self) {
        if self.quiet {
            return;
        }
        let every = self.plan.fault_every_us;
        let next = self.rng.range(every / 3, every * 2);
        self.push(next, Event::Fault);
        let total: u64 = self.plan.weights.iter().sum();
        let mut roll = self.rng.range(1, total);
        let kind = self.plan.weights.iter().position(|weight| {
            let here = roll <= *weight;
            roll = roll.saturating_sub(*weight);
            here
        });
        let at = self.rng.index(self.nodes.len());
        match kind.unwrap_or(0) {
            0 | 6 => self.break_down(at, Power::Dead),
            1 => self.break_down(at, Power::Off),
            2 => {
                let until = self.now_us + self.rng.range(20_000, 1_800_000);
                self.trace.line(self.now_us, || format!("FAULT: node {at} stands still until {} ms", until / 1000));
                self.nodes[at].paused_until = until;
            }
            3 => self.cut(true),
            4 => self.cut(false),
            5 => self.change_leader(),
            7 | 8 => self.switch_primary(),
            9 => {
                let stopped = !self.group().resync_stopped;
                self.propose(Command::StopResync { group: GROUP, stopped });
            }
            10 => self.black_out(),
            _ => self.demote_unheard(),
        }
    }

    /// All machines lose power.
    pub(super) fn black_out(&mut self) {
        if !self.quiet {
            (0..self.nodes.len()).for_each(|at| self.break_down(at, Power::Off));
        }
    }

    fn break_down(&mut self, at: usize, power: Power) {
        if self.nodes[at].power != Power::Up {
            return;
        }
        self.trace.line(self.now_us, || format!("FAULT: node {at} {power:?}"));
        if power == Power::Off {
            self.loses_power(at);
        }
        self.stop(at, power);
    }

    fn endpoint(&mut self) -> Endpoint {
        match self.rng.range(0, self.nodes.len() as u64) {
            0 => Endpoint::Mgmt,
            n => Endpoint::Node(n as usize - 1),
        }
    }

    fn cut(&mut self, both: bool) {
        let (from, to) = (self.endpoint(), self.endpoint());
        let until_us = self.now_us + self.rng.range(50_000, 1_500_000);
        self.trace
            .line(self.now_us, || format!("FAULT: {from:?} to {to:?} cut until {} ms, both: {both}", until_us / 1000));
        self.net.cuts.push(Cut { from, to, until_us });
        if both {
            self.net.cuts.push(Cut { from: to, to: from, until_us });
        }
    }

    fn change_leader(&mut self) {
        self.mgmt.leads = false;
        self.mgmt.term += 1;
        let (after, term) = (self.rng.range(10_000, 300_000), self.mgmt.term);
        self.push(after, Event::Leads(term));
    }

    fn switch_primary(&mut self) {
        let group = self.group();
        let good = group.members_with_states().skip(1).find(|(_, state)| *state == MemberState::Good);
        if let Some((target, _)) = good {
            let member = MemberAt { group: GROUP, epoch: group.epoch, target };
            self.propose(Command::Failover(member));
        }
    }

    /// An operator takes its role from a primary that lives and does not hear of it.
    fn demote_unheard(&mut self) {
        let group = self.group().clone();
        let Some(at) = group.primary().and_then(|target| self.nodes.iter().position(|n| n.target == target)) else {
            return;
        };
        let target = self.nodes[at].target;
        let until_us = self.now_us + self.rng.range(200_000, 900_000);
        self.trace.line(self.now_us, || format!("FAULT: {target} hears nobody until {} ms", until_us / 1000));
        let others = (0..self.nodes.len()).filter(|other| *other != at).map(Endpoint::Node);
        let cuts: Vec<Cut> =
            others.chain([Endpoint::Mgmt]).map(|from| Cut { from, to: Endpoint::Node(at), until_us }).collect();
        self.net.cuts.extend(cuts);
        if self.rng.percent(50) {
            self.propose(Command::SetConsistency { target, trigger: Trigger::DeclaredStale });
        } else {
            self.switch_primary();
        }
    }

    /// The end of all faults.
    pub fn calm(&mut self) {
        self.trace.line(self.now_us, || "all faults end".to_owned());
        self.quiet = true;
        self.net.heal();
        for at in 0..self.nodes.len() {
            if self.nodes[at].power != Power::Up {
                self.push(1000, Event::Start(at));
            }
        }
        if !self.mgmt.leads {
            let term = self.mgmt.term;
            self.push(0, Event::Leads(term));
        }
        self.propose(Command::StopResync { group: GROUP, stopped: false });
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Faults, as the seed has them: processes die, machines lose power, stand still, are cut off; disks are slow or fail;
//! management changes its leader; operators meddle, also where it is not heard.

use crate::event::{Endpoint, Event, Msg};
use crate::net::{Cut, Echo};
use crate::node::{Node, Power};
use crate::world::{GROUP, World};
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
        self.queue.push(self.now_us + next, Event::Fault);
        let total: u64 = self.plan.weights.iter().sum();
        let mut roll = self.rng.range(1, total);
        let kind = self.plan.weights.iter().position(|weight| {
            let here = roll <= *weight;
            roll = roll.saturating_sub(*weight);
            here
        });
        let at = self.rng.index(self.nodes.len());
        match kind.unwrap_or(0) {
            0 => self.stop(at, Power::Dead),
            1 => self.stop(at, Power::Off),
            2 => self.pause(at),
            3 => self.cut(true),
            4 => self.cut(false),
            5 => self.change_leader(),
            6 => self.slow_disk(at),
            7 => self.nodes[at].fails = if self.nodes[at].fails > 0 { 0 } else { self.rng.range(5, 40) },
            8 => self.switch_primary(),
            9 => {
                let stopped = !self.group().resync_stopped;
                self.propose(Command::StopResync { group: GROUP, stopped });
            }
            10 => (0..self.nodes.len()).for_each(|at| self.stop(at, Power::Off)),
            11 => self.demote_unheard(),
            _ => self.repeat_requests(),
        }
    }

    /// A server stops, and starts again some time later.
    pub fn stop(&mut self, at: usize, power: Power) {
        if self.nodes[at].power != Power::Up {
            return;
        }
        self.kill(at, power);
        let away_us =
            if self.rng.percent(30) { self.rng.range(1_000, 60_000) } else { self.rng.range(60_000, 2_500_000) };
        self.queue.push(self.now_us + away_us, Event::Start { node: at });
    }

    fn kill(&mut self, at: usize, power: Power) {
        let target = self.nodes[at].target;
        self.trace.line(self.now_us, || format!("FAULT: {target} {power:?}"));
        if power == Power::Dead && self.nodes[at].registered {
            let connection = self.nodes[at].incarnation();
            self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::Closed { connection });
        }
        self.nodes[at].stop(power, &mut self.rng);
        self.count_copies(true);
    }

    fn pause(&mut self, at: usize) {
        let target = self.nodes[at].target;
        let until = self.now_us + self.rng.range(20_000, 1_800_000);
        self.trace.line(self.now_us, || format!("FAULT: {target} stands still until {} ms", until / 1000));
        self.nodes[at].paused_until = until;
    }

    fn endpoint(&mut self) -> Endpoint {
        match self.rng.range(0, 3) {
            0 => Endpoint::Mgmt,
            1 if !self.clients.is_empty() => Endpoint::Client(self.rng.index(self.clients.len())),
            _ => Endpoint::Node(self.rng.index(self.nodes.len())),
        }
    }

    fn cut(&mut self, both: bool) {
        let (from, to) = (Endpoint::Node(self.rng.index(self.nodes.len())), self.endpoint());
        let until_us = self.now_us + self.rng.range(50_000, 2_000_000);
        self.trace
            .line(self.now_us, || format!("FAULT: {from:?} cut from {to:?} until {} ms ({both})", until_us / 1000));
        let (from, to) = if self.rng.percent(50) { (from, to) } else { (to, from) };
        self.net.cuts.retain(|cut| cut.until_us > self.now_us);
        self.net.cuts.push(Cut { from, to, until_us });
        if both {
            self.net.cuts.push(Cut { from: to, to: from, until_us });
        }
    }

    /// The leader is lost; proposals on their way are decided by then, or never.
    fn change_leader(&mut self) {
        if !self.mgmt.leads {
            return;
        }
        self.trace.line(self.now_us, || "FAULT: management changes its leader".to_owned());
        self.mgmt.leads = false;
        self.mgmt.term += 1;
        let at_us = self.now_us + self.rng.range(20_000, 500_000);
        self.queue.push(at_us, Event::MgmtLeads { term: self.mgmt.term });
    }

    fn slow_disk(&mut self, at: usize) {
        let slow = if self.nodes[at].slow > 1 { 1 } else { self.rng.range(5, 300) };
        let target = self.nodes[at].target;
        self.trace.line(self.now_us, || format!("FAULT: {target}'s disk is {slow} times as slow"));
        self.nodes[at].slow = slow;
    }

    fn switch_primary(&mut self) {
        let group = self.group();
        let good = group.members_with_states().skip(1).find(|(_, state)| *state == MemberState::Good);
        if let Some((target, _)) = good {
            let member = MemberAt { group: GROUP, epoch: group.epoch, target };
            self.propose(Command::Failover(member));
        }
    }

    /// An operator takes its role from a primary that lives and does not hear of it: for a while it hears nobody but clients, and
    /// some of those do not hear of it either. What it says, its heartbeats among it, is heard.
    fn demote_unheard(&mut self) {
        let group = self.group().clone();
        let Some(target) = group.primary() else { return };
        let good = |n: &Node| n.target != target && group.state(n.target) == Some(MemberState::Good);
        let (Some(at), Some(heir)) =
            (self.nodes.iter().position(|n| n.target == target), self.nodes.iter().find(|n| good(n)).map(|n| n.target))
        else {
            return;
        };
        let until_us = self.now_us + self.rng.range(200_000, 900_000);
        self.trace.line(self.now_us, || format!("FAULT: {target} hears no server until {} ms", until_us / 1000));
        let others = (0..self.nodes.len()).filter(|other| *other != at).map(Endpoint::Node);
        let mut cuts: Vec<(Endpoint, Endpoint)> =
            others.chain([Endpoint::Mgmt]).map(|from| (from, Endpoint::Node(at))).collect();
        for client in 0..self.clients.len() {
            if self.rng.percent(50) {
                cuts.push((Endpoint::Mgmt, Endpoint::Client(client)));
            }
        }
        self.net.cuts.extend(cuts.into_iter().map(|(from, to)| Cut { from, to, until_us }));
        let command = if self.rng.percent(50) {
            Command::SetConsistency { target, trigger: Trigger::DeclaredStale }
        } else {
            Command::Failover(MemberAt { group: GROUP, epoch: group.epoch, target: heir })
        };
        self.propose(command);
    }

    /// What the primary asks of management arrives again, late, while a member restarts more than once: its resyncs begin and end, and
    /// management hears of one that is over when another one runs.
    fn repeat_requests(&mut self) {
        let Some(primary) = self.group().primary() else { return };
        let others: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].target != primary).collect();
        let Some(at) = self.nodes.iter().position(|n| n.target == primary) else { return };
        let until_us = self.now_us + self.rng.range(300_000, 2_500_000);
        self.trace.line(self.now_us, || format!("FAULT: what {primary} asks comes again until {} ms", until_us / 1000));
        self.net.echoes.retain(|echo| echo.until_us > self.now_us);
        self.net.echoes.push(Echo { from: Endpoint::Node(at), until_us });
        let node = others[self.rng.index(others.len())];
        let mut at_us = self.now_us;
        while at_us < until_us {
            self.queue.push(at_us, Event::Restart { node });
            at_us += self.rng.range(100_000, 600_000);
        }
    }

    /// A process dies, and init starts it again.
    pub fn restart(&mut self, at: usize) {
        if self.quiet || self.nodes[at].power != Power::Up {
            return;
        }
        self.kill(at, Power::Dead);
        let away_us = self.rng.range(1_000, 20_000);
        self.queue.push(self.now_us + away_us, Event::Start { node: at });
    }

    /// The end of all faults.
    pub fn calm(&mut self) {
        self.trace.line(self.now_us, || "all faults end".to_owned());
        self.quiet = true;
        self.net.heal();
        for at in 0..self.nodes.len() {
            (self.nodes[at].slow, self.nodes[at].fails) = (1, 0);
            if self.nodes[at].power != Power::Up {
                self.queue.push(self.now_us + 1000, Event::Start { node: at });
            }
        }
        if !self.mgmt.leads {
            self.queue.push(self.now_us, Event::MgmtLeads { term: self.mgmt.term });
        }
        self.clients.iter_mut().for_each(|client| client.stopped = true);
        self.propose(Command::StopResync { group: GROUP, stopped: false });
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What happens at members: inputs, what they want done, their starts and ends.

use super::node::{TERM, record};
use super::world::{Event, GROUP, HEARTBEAT_MS, Msg, World, config, registration};
use crate::event::Endpoint;
use crate::node::Power;
use nyala_cluster::Command;
use nyala_replica::View;
use nyala_replica::log::{LogEffect, LogInput};
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, MemberState};
use nyala_wire::mgmt::Heartbeat;

impl World {
    /// A member handles an input, and what it wants is done.
    pub fn input(&mut self, at: usize, input: LogInput) {
        let effects = self.nodes[at].handle(self.now_us, input);
        for effect in effects {
            if self.nodes[at].power == Power::Up {
                self.carry_out(at, effect);
            }
        }
    }

    pub(super) fn carry_out(&mut self, at: usize, effect: LogEffect) {
        let (now_us, target) = (self.now_us, self.nodes[at].target);
        self.trace.line(now_us, || format!("{target}: {}", brief(&effect)));
        match effect {
            LogEffect::Send(to, envelope, records) => {
                let to = self.nodes.iter().position(|node| node.target == to).expect("members are nodes");
                self.send(Endpoint::Node(at), Endpoint::Node(to), Msg::Member(target, envelope, records));
            }
            LogEffect::Apply { first, records } => {
                let node = &mut self.nodes[at];
                for (index, record) in (first..).zip(&records) {
                    node.applied.apply(index, record);
                }
                node.write_all();
                let last = node.applied.state.last;
                self.input(at, LogInput::Written(last));
            }
            LogEffect::Committed(index) => self.committed(at, index),
            LogEffect::DurableEverywhere(index) => {
                let verdict = self.check.durable(index);
                self.trace.judge(verdict);
            }
            LogEffect::Sync(_) => self.sync(at),
            LogEffect::BeginTerm { term, index } => {
                assert_eq!(index, self.nodes[at].applied.state.last + 1, "a term's record is the next one");
                self.append(at, record(TERM, term.into()));
            }
            LogEffect::Lead(term) => {
                self.nodes[at].leads = Some(term);
                self.lost_power.remove(&target);
                let verdict = self.check.leads(term, &self.nodes[at]);
                self.trace.judge(verdict);
            }
            // The service starts anew.
            LogEffect::StepDown => self.stop(at, Power::Dead),
            LogEffect::Ask(command) => self.ask(at, command),
            LogEffect::FetchMap => self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::GetMap),
            LogEffect::SumUp(range) => {
                let sum = self.nodes[at].sum();
                self.input(at, LogInput::Summed(range.number, Some(sum)));
            }
            LogEffect::Compared(member, number, sum) => {
                let verdict = self.check.compared(member, number, sum);
                self.trace.judge(verdict);
            }
            copies => self.carry_out_copy(at, copies),
        }
    }

    /// What is asked of management may arrive a second time, late.
    fn ask(&mut self, at: usize, command: Command) {
        let msg = Msg::Propose(command);
        if !self.quiet && self.rng.percent(20) {
            let late = self.rng.range(50_000, 900_000);
            self.push(late, Event::Deliver(Endpoint::Node(at), Endpoint::Mgmt, msg.clone()));
        }
        self.send(Endpoint::Node(at), Endpoint::Mgmt, msg);
    }

    fn carry_out_copy(&mut self, at: usize, effect: LogEffect) {
        match effect {
            LogEffect::ReadRows { member, from, .. } => {
                let (to, rows) = self.nodes[at].read_rows(&from);
                self.input(at, LogInput::Rows { member, from, to, rows });
            }
            LogEffect::BeginCopy { state, position, terms } => {
                self.nodes[at].begin_copy(state, position.index, &terms);
                self.input(at, LogInput::CopyTaken);
            }
            LogEffect::PutRows { from, to, rows, last, copy } => {
                assert_eq!(last, self.nodes[at].applied.state.last);
                self.nodes[at].put_rows((&from, &to), &rows, copy);
                self.input(at, LogInput::CopyTaken);
            }
            // why: all others are carried out above.
            other => unreachable!("{other:?} is none of a copy"),
        }
    }

    /// A machine loses power: if all good ones have, what is not on disk may be lost.
    pub fn loses_power(&mut self, at: usize) {
        let target = self.nodes[at].target;
        self.lost_power.insert(target);
        self.count_copies();
    }

    /// Whether all copies that management keeps have lost power.
    pub(super) fn count_copies(&mut self) {
        let group = self.group().clone();
        let mut good = group.members_with_states().filter(|(_, state)| *state == MemberState::Good);
        if good.all(|(member, _)| self.lost_power.contains(&member)) {
            self.check.lost();
        }
    }

    pub(super) fn committed(&mut self, at: usize, index: u64) {
        self.nodes[at].write(index);
        let node = &self.nodes[at];
        let verdict = self.check.committed(node, index);
        self.trace.judge(verdict);
        if self.rng.percent(10) {
            let index = self.nodes[at].written.state.last;
            self.input(at, LogInput::WantDurable(index));
            self.sync(at);
        }
    }

    pub(super) fn sync(&mut self, at: usize) {
        let (boot, index) = (self.nodes[at].boot, self.nodes[at].written.state.last);
        let after = self.rng.range(100, 8000);
        self.push(after, Event::Synced(at, boot, index));
    }

    pub(super) fn synced(&mut self, at: usize, boot: u64, index: u64) {
        let node = &mut self.nodes[at];
        if node.boot != boot {
            return;
        }
        let Some(on_disk) = node.versions.iter().rposition(|tables| tables.state.last <= index) else { return };
        node.versions.drain(..on_disk);
        self.input(at, LogInput::Durable(index));
    }

    /// A process starts.
    pub(super) fn start(&mut self, at: usize) {
        if self.nodes[at].power == Power::Up {
            return;
        }
        self.nodes[at].start(GROUP, config());
        if let (Some(rule), Some(member)) = (self.rule, &mut self.nodes[at].member) {
            member.break_rule(rule);
        }
        let (boot, target) = (self.nodes[at].boot, self.nodes[at].target);
        let position = self.nodes[at].member.as_ref().map(|member| member.position());
        self.trace.line(self.now_us, || format!("{target} starts, run {boot}: {position:?}"));
        self.push(100, Event::Tick(at, boot));
    }

    /// A process ends; it starts again after a while.
    pub fn stop(&mut self, at: usize, power: Power) {
        self.nodes[at].stop(power, &mut self.rng);
        let incarnation = self.nodes[at].incarnation() - 1;
        if power == Power::Dead
            && self.net.open(Endpoint::Node(at), Endpoint::Mgmt, self.now_us)
            && self.mgmt.leads
            && let Some(probe) = self.mgmt.connection_closed(incarnation)
        {
            let term = self.mgmt.term;
            self.push(200, Event::Probe(term, probe.node, probe.incarnation));
        }
        let again = if self.quiet { 1000 } else { self.rng.range(20_000, 1_500_000) };
        self.push(again, Event::Start(at));
    }

    pub(super) fn defer(&mut self, at: usize, event: &Event) -> bool {
        let until = self.nodes[at].paused_until;
        let waits = self.nodes[at].power == Power::Up && self.now_us < until;
        if waits {
            self.push(until - self.now_us + 1, event.clone());
        }
        waits
    }

    pub(super) fn tick(&mut self, at: usize, boot: u64) {
        if self.nodes[at].boot != boot || self.defer(at, &Event::Tick(at, boot)) {
            return;
        }
        let node = &mut self.nodes[at];
        let now_ms = node.clock_ms(self.now_us);
        if now_ms >= node.beat_ms + u64::from(HEARTBEAT_MS) {
            node.beat_ms = now_ms;
            let (id, incarnation, map_version) = (node.id, node.incarnation(), node.has);
            let msg = match node.registered {
                true => Msg::Heartbeat(
                    Box::new(Heartbeat { node: id, incarnation, map_version, capacities: Vec::new() }),
                    now_ms,
                ),
                false => Msg::Register(Box::new(registration(at, incarnation))),
            };
            self.send(Endpoint::Node(at), Endpoint::Mgmt, msg);
        }
        self.input(at, LogInput::Tick);
        if self.rng.percent(5) && self.nodes[at].power == Power::Up {
            self.sync(at);
        }
        self.push(10_000, Event::Tick(at, boot));
    }

    pub(super) fn refuses(&mut self, at: usize, boot: u64, peer: usize) {
        if self.nodes[at].boot == boot && self.nodes[peer].power == Power::Dead {
            let (target, node) = (self.nodes[peer].target, self.nodes[peer].id);
            self.input(at, LogInput::Refused(target));
            self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::Refused(node));
        }
    }

    pub(super) fn node_hears(&mut self, at: usize, from: Endpoint, msg: Msg) {
        match self.nodes[at].power {
            Power::Up => {}
            Power::Dead => {
                if let Endpoint::Node(sender) = from {
                    let boot = self.nodes[sender].boot;
                    self.push(300, Event::Refuses(sender, boot, at));
                }
                return;
            }
            Power::Off => return,
        }
        if self.defer(at, &Event::Deliver(from, Endpoint::Node(at), msg.clone())) {
            return;
        }
        match msg {
            Msg::Registered(run, map) if run == self.nodes[at].incarnation() => {
                self.nodes[at].registered = true;
                self.take_map(at, &map);
            }
            Msg::Map(map) => self.take_map(at, &map),
            Msg::Lease(lease_ms, version, sent_ms) => {
                if let Some(ms) = lease_ms {
                    let until_ms = sent_ms + u64::from(ms) * 2 / 3;
                    self.input(at, LogInput::Lease { until_ms, version });
                }
                if version > self.nodes[at].has {
                    self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::GetMap);
                }
            }
            Msg::Member(from, envelope, records) => self.input(at, LogInput::Message(from, envelope, records)),
            Msg::Superseded(incarnation) if incarnation == self.nodes[at].incarnation() => self.stop(at, Power::Dead),
            _ => {}
        }
    }

    pub(super) fn take_map(&mut self, at: usize, map: &ClusterMap) {
        let node = &mut self.nodes[at];
        if node.registered && map.version > node.has {
            node.has = map.version;
            if let Some(view) = View::of(map, GROUP) {
                self.input(at, LogInput::Map(view));
            }
        }
    }

    pub(super) fn power_of(&self, target: TargetId) -> bool {
        self.nodes.iter().any(|node| node.target == target && node.power != Power::Off)
    }
}

fn brief(effect: &LogEffect) -> String {
    match effect {
        LogEffect::Send(to, envelope, records) => {
            let first = records.iter().map(|record| super::node::pairs(record).collect::<Vec<_>>()).collect::<Vec<_>>();
            format!("to {to} e{} {:?} {first:?}", envelope.epoch, envelope.body)
        }
        other => format!("{other:?}"),
    }
}

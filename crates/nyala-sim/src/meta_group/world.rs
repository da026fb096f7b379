// SPDX-License-Identifier: Apache-2.0

//! The events, and what happens at them.

use super::check::Check;
use super::node::{Node, TERM, record};
use crate::event::Place;
use crate::mgmt::Mgmt;
use crate::mutation::MetaMutation;
use crate::net::Net;
use crate::node::Power;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::trace::Trace;
use nyala_cluster::leader::{NoLease, Proposal};
use nyala_cluster::lease_ledger::Grant;
use nyala_cluster::{ClusterState, Command, NewTarget, RegisterNode};
use nyala_replica::View;
use nyala_replica::log::{LogConfig, LogEffect, LogEnvelope, LogInput, LogRule, Record};
use nyala_wire::map::{ClusterMap, Group, MemberState, Role, Settings, TargetKind};
use nyala_wire::mgmt::Heartbeat;
use nyala_wire::{ClusterId, GroupId, MapVersion, NodeId, TargetId};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

/// The group under test.
pub const GROUP: GroupId = GroupId(1);
const HEARTBEAT_MS: u32 = 100;
const LEASE_MS: u32 = 600;
/// Keys that records set.
pub const KEYS: u64 = 24;

/// What is sent.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A run registers.
    Register(Box<RegisterNode>),
    /// Management's answer.
    Registered(u64, Rc<ClusterMap>),
    /// A heartbeat, sent at a moment of the sender's clock.
    Heartbeat(Box<Heartbeat>, u64),
    /// Its answer.
    Lease(Option<u32>, MapVersion, u64),
    /// Another run has registered.
    Superseded(u64),
    /// A map, or a wish for it.
    Map(Rc<ClusterMap>),
    /// See [`Msg::Map`].
    GetMap,
    /// A wish of a member's.
    Propose(Command),
    /// A message between members.
    Member(TargetId, LogEnvelope, Vec<Record>),
    /// A host refuses connections.
    Refused(NodeId),
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message arrives.
    Deliver(Place, Place, Msg),
    /// A node's timer, of a run.
    Tick(usize, u64),
    /// A node's disk has what was written by now, of a run.
    Synced(usize, u64, u64),
    /// A server is started.
    Start(usize),
    /// A host refuses a node's message.
    Refuses(usize, u64, usize),
    /// Clients want a change of whoever they take for the primary.
    Work,
    /// Management looks around.
    Look(u64),
    /// A proposal is decided.
    Commit(u64, Command, Proposal),
    /// A service's host is probed.
    Probe(u64, NodeId, u64),
    /// Management has a leader again.
    Leads(u64),
    /// Something breaks.
    Fault,
}

/// The whole.
pub struct World {
    /// Virtual time, microseconds.
    pub now_us: u64,
    /// Chance.
    pub rng: Rng,
    /// What the seed means.
    pub plan: Plan,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::HashMap<u64, Event>,
    last_event: u64,
    /// Events so far.
    pub steps: u64,
    /// The network.
    pub net: Net,
    /// Management.
    pub mgmt: Mgmt,
    /// The members.
    pub nodes: Vec<Node>,
    /// What must hold.
    pub check: Check,
    /// Faults have ended.
    pub quiet: bool,
    /// Clients want nothing any more.
    pub idle: bool,
    /// The last record's value.
    pub value: u64,
    rule: Option<LogRule>,
    /// Members that have lost power, and are not known to have everything since.
    lost_power: BTreeSet<TargetId>,
    /// The last things that went on.
    pub trace: Trace,
}

fn registration(at: usize, incarnation: u64) -> RegisterNode {
    let uuid = |kind: u8| ClusterId([kind + at as u8; 16]);
    let (id, kind) = (TargetId(0), TargetKind::Meta);
    let target = NewTarget { uuid: uuid(100), id, alias: String::new(), kind, losses: 0, spare: at > 0 };
    RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role: Role::Meta,
        uuid: uuid(1),
        alias: String::new(),
        addresses: vec![([10, 0, 0, 1 + at as u8], 8005).into()],
        incarnation,
        targets: vec![target],
    }
}

fn first_state(members: usize) -> ClusterState {
    let settings = Settings { heartbeat_ms: HEARTBEAT_MS, lease_ms: LEASE_MS, ..Settings::default() };
    let mut state = ClusterState::default();
    let mut apply = |command| state.apply(command).expect("the commands that set the cluster up are valid");
    apply(Command::Init { cluster: ClusterId([7; 16]), settings });
    (0..members).for_each(|at| drop(apply(Command::RegisterNode(registration(at, 0)))));
    let members = state.targets.iter().map(|target| target.id).collect();
    state
        .apply(Command::CreateGroup { group: GROUP, kind: TargetKind::Meta, members })
        .expect("one serves, the others are spares");
    state
}

fn config() -> LogConfig {
    LogConfig {
        resend_ms: 40,
        give_up_ms: 250,
        retry_ms: 150,
        recent_bytes: 300,
        append_bytes: 60,
        copy_bytes: 40,
        copy_rest_percent: 50,
    }
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64, broken: Option<MetaMutation>, traced: bool) -> World {
        let (rule, broken) = match broken {
            Some(MetaMutation::Protocol(rule)) => (Some(rule), None),
            Some(MetaMutation::Mgmt(broken)) => (None, Some(broken)),
            None => (None, None),
        };
        let mut rng = Rng::new(seed);
        let plan = Plan::new(&mut rng);
        let state = first_state(plan.members);
        let mut nodes = Vec::new();
        for (at, target) in state.targets.iter().enumerate() {
            let drift = rng.range(100 - plan.drift, 100 + plan.drift);
            let mut node = Node::new(target.node, target.id, drift);
            if at == 0 {
                // What was there before it was mirrored.
                node.applied.state.last = 7;
                node.applied.rows.insert(1, 0);
                node.write_all();
            }
            nodes.push(node);
        }
        let net = Net::new(&plan);
        let mut world = World {
            now_us: 0,
            rng,
            plan,
            queue: BinaryHeap::new(),
            events: Default::default(),
            last_event: 0,
            steps: 0,
            net,
            mgmt: Mgmt::new(state, broken),
            nodes,
            check: Check::default(),
            quiet: false,
            idle: false,
            value: 0,
            rule,
            lost_power: BTreeSet::new(),
            trace: Trace::new(traced),
        };
        (0..world.nodes.len()).for_each(|at| world.push(0, Event::Start(at)));
        let (work, fault) = (world.plan.pause_us, world.plan.fault_every_us);
        world.push(work, Event::Work);
        world.push(fault, Event::Fault);
        world.push(1000, Event::Look(1));
        world
    }

    /// Something will happen, in so many microseconds.
    pub fn push(&mut self, after_us: u64, event: Event) {
        self.last_event += 1;
        self.events.insert(self.last_event, event);
        self.queue.push(Reverse((self.now_us + after_us, self.last_event)));
    }

    /// The next thing happens.
    pub fn step(&mut self) {
        let Some(Reverse((at_us, number))) = self.queue.pop() else { return };
        self.now_us = at_us;
        self.steps += 1;
        let event = self.events.remove(&number).expect("each number in the queue has its event");
        match event {
            Event::Deliver(from, Place::Node(to), msg) => self.node_hears(to, from, msg),
            Event::Deliver(from, _, msg) => self.mgmt_hears(from, msg),
            Event::Tick(at, boot) => self.tick(at, boot),
            Event::Synced(at, boot, index) => self.synced(at, boot, index),
            Event::Start(at) => self.start(at),
            Event::Refuses(at, boot, peer) => self.refuses(at, boot, peer),
            Event::Work => self.work(),
            Event::Look(term) => self.look(term),
            Event::Commit(term, command, proposal) => self.commit(term, &command, proposal),
            Event::Probe(term, node, incarnation) => self.probed(term, node, incarnation),
            Event::Leads(term) => {
                if term == self.mgmt.term {
                    let now_ms = self.now_us / 1000;
                    self.mgmt.lead(term, now_ms);
                    self.push(0, Event::Look(term));
                }
            }
            Event::Fault => self.fault(),
        }
    }

    fn send(&mut self, from: Place, to: Place, msg: Msg) {
        for delay in self.net.delays(&mut self.rng, from, to, self.now_us) {
            self.push(delay, Event::Deliver(from, to, msg.clone()));
        }
    }

    /// The group as management sees it.
    pub fn group(&self) -> &Group {
        &self.mgmt.state.groups[0]
    }

    // --- clients ---

    fn work(&mut self) {
        if self.idle {
            return;
        }
        // Clients may take any for the primary that takes itself for it, and its host may not be reached by others.
        for at in 0..self.nodes.len() {
            let (node, now_us) = (&self.nodes[at], self.now_us);
            let serves = node.member.as_ref().is_some_and(|member| member.serves(node.clock_ms(now_us)));
            if node.leads.is_some() && serves && node.paused_until <= now_us {
                let key = self.rng.range(0, KEYS - 1) as u8;
                let verdict = self.check.read(&self.nodes[at], key);
                self.trace.judge(verdict);
            }
        }
        let leading: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].leads.is_some()).collect();
        if !leading.is_empty() {
            let at = leading[self.rng.index(leading.len())];
            if self.nodes[at].paused_until <= self.now_us {
                let count = self.rng.range(1, 3);
                for _ in 0..count {
                    self.value += 1;
                    let key = self.rng.range(0, KEYS - 1) as u8;
                    self.append(at, record(key, self.value));
                }
            }
        }
        let next = self.rng.range(self.plan.pause_us / 4, self.plan.pause_us / 2);
        self.push(next, Event::Work);
    }

    /// The primary's server applies a record and hands it over.
    fn append(&mut self, at: usize, record: Record) {
        let node = &mut self.nodes[at];
        let index = node.applied.state.last + 1;
        node.applied.apply(index, &record);
        node.unwritten.push((index, record.clone()));
        if self.rng.percent(3) {
            // The store writes by itself now and then.
            self.nodes[at].write_all();
        }
        self.input(at, LogInput::Append(vec![record]));
    }

    // --- members ---

    /// A member handles an input, and what it wants is done.
    pub fn input(&mut self, at: usize, input: LogInput) {
        let effects = self.nodes[at].handle(self.now_us, input);
        for effect in effects {
            if self.nodes[at].power == Power::Up {
                self.carry_out(at, effect);
            }
        }
    }

    fn carry_out(&mut self, at: usize, effect: LogEffect) {
        let (now_us, target) = (self.now_us, self.nodes[at].target);
        self.trace.line(now_us, || format!("{target}: {}", brief(&effect)));
        match effect {
            LogEffect::Send(to, envelope, records) => {
                let to = self.nodes.iter().position(|node| node.target == to).expect("members are nodes");
                self.send(Place::Node(at), Place::Node(to), Msg::Member(target, envelope, records));
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
            LogEffect::Ask(command) => self.send(Place::Node(at), Place::Mgmt, Msg::Propose(command)),
            LogEffect::FetchMap => self.send(Place::Node(at), Place::Mgmt, Msg::GetMap),
        }
    }

    /// A machine loses power: if all good ones have, what is not on disk may be lost.
    pub fn loses_power(&mut self, at: usize) {
        let target = self.nodes[at].target;
        self.lost_power.insert(target);
        self.count_copies();
    }

    /// Whether all copies that management keeps have lost power.
    fn count_copies(&mut self) {
        let group = self.group().clone();
        let mut good = group.members_with_states().filter(|(_, state)| *state == MemberState::Good);
        if good.all(|(member, _)| self.lost_power.contains(&member)) {
            self.check.lost();
        }
    }

    fn committed(&mut self, at: usize, index: u64) {
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

    fn sync(&mut self, at: usize) {
        let (boot, index) = (self.nodes[at].boot, self.nodes[at].written.state.last);
        let after = self.rng.range(100, 8000);
        self.push(after, Event::Synced(at, boot, index));
    }

    fn synced(&mut self, at: usize, boot: u64, index: u64) {
        let node = &mut self.nodes[at];
        if node.boot != boot {
            return;
        }
        let Some(on_disk) = node.versions.iter().rposition(|tables| tables.state.last <= index) else { return };
        node.versions.drain(..on_disk);
        self.input(at, LogInput::Durable(index));
    }

    /// A process starts.
    fn start(&mut self, at: usize) {
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
            && self.net.open(Place::Node(at), Place::Mgmt, self.now_us)
            && self.mgmt.leads
            && let Some(probe) = self.mgmt.connection_closed(incarnation)
        {
            let term = self.mgmt.term;
            self.push(200, Event::Probe(term, probe.node, probe.incarnation));
        }
        let again = if self.quiet { 1000 } else { self.rng.range(20_000, 1_500_000) };
        self.push(again, Event::Start(at));
    }

    fn defer(&mut self, at: usize, event: &Event) -> bool {
        let until = self.nodes[at].paused_until;
        let waits = self.nodes[at].power == Power::Up && self.now_us < until;
        if waits {
            self.push(until - self.now_us + 1, event.clone());
        }
        waits
    }

    fn tick(&mut self, at: usize, boot: u64) {
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
            self.send(Place::Node(at), Place::Mgmt, msg);
        }
        self.input(at, LogInput::Tick);
        if self.rng.percent(5) && self.nodes[at].power == Power::Up {
            self.sync(at);
        }
        self.push(10_000, Event::Tick(at, boot));
    }

    fn refuses(&mut self, at: usize, boot: u64, peer: usize) {
        if self.nodes[at].boot == boot && self.nodes[peer].power == Power::Dead {
            let (target, node) = (self.nodes[peer].target, self.nodes[peer].id);
            self.input(at, LogInput::Refused(target));
            self.send(Place::Node(at), Place::Mgmt, Msg::Refused(node));
        }
    }

    fn node_hears(&mut self, at: usize, from: Place, msg: Msg) {
        match self.nodes[at].power {
            Power::Up => {}
            Power::Dead => {
                if let Place::Node(sender) = from {
                    let boot = self.nodes[sender].boot;
                    self.push(300, Event::Refuses(sender, boot, at));
                }
                return;
            }
            Power::Off => return,
        }
        if self.defer(at, &Event::Deliver(from, Place::Node(at), msg.clone())) {
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
                    self.send(Place::Node(at), Place::Mgmt, Msg::GetMap);
                }
            }
            Msg::Member(from, envelope, records) => self.input(at, LogInput::Message(from, envelope, records)),
            Msg::Superseded(incarnation) if incarnation == self.nodes[at].incarnation() => self.stop(at, Power::Dead),
            _ => {}
        }
    }

    fn take_map(&mut self, at: usize, map: &ClusterMap) {
        let node = &mut self.nodes[at];
        if node.registered && map.version > node.has {
            node.has = map.version;
            if let Some(view) = View::of(map, GROUP) {
                self.input(at, LogInput::Map(view));
            }
        }
    }

    fn power_of(&self, target: TargetId) -> bool {
        self.nodes.iter().any(|node| node.target == target && node.power != Power::Off)
    }

    // --- management ---

    fn mgmt_hears(&mut self, from: Place, msg: Msg) {
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
                    self.send(Place::Mgmt, from, Msg::Registered(register.incarnation, map));
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
                self.send(Place::Mgmt, from, reply);
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
                self.send(Place::Mgmt, from, Msg::Map(map));
            }
            Msg::Propose(command) => self.propose(command),
            _ => {}
        }
    }

    fn probed(&mut self, term: u64, node: NodeId, incarnation: u64) {
        let Some(at) = self.nodes.iter().position(|n| n.id == node).filter(|_| term == self.mgmt.term) else { return };
        let open = |from, to| self.net.open(from, to, self.now_us);
        let answers = open(Place::Mgmt, Place::Node(at)) && open(Place::Node(at), Place::Mgmt);
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

    fn look_now(&mut self) {
        for command in self.mgmt.look(self.now_us / 1000) {
            self.propose(command);
        }
    }

    fn look(&mut self, term: u64) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        for probe in self.mgmt.probe_silent(self.now_us / 1000) {
            self.push(0, Event::Probe(term, probe.node, probe.incarnation));
        }
        self.look_now();
        self.push(20_000, Event::Look(term));
    }

    fn commit(&mut self, term: u64, command: &Command, proposal: Proposal) {
        if term != self.mgmt.term || !self.mgmt.leads {
            return;
        }
        let known = self.quiet || !self.rng.percent(3);
        if !self.mgmt.commit(command, proposal, known) {
            return;
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
                self.send(Place::Mgmt, Place::Node(at), Msg::Registered(register.incarnation, Rc::clone(&map)));
            }
        }
        for at in 0..self.nodes.len() {
            self.send(Place::Mgmt, Place::Node(at), Msg::Map(Rc::clone(&map)));
        }
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

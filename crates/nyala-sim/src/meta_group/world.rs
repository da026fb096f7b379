// SPDX-License-Identifier: Apache-2.0

//! The events, and what happens at them.

use super::check::Check;
use super::node::{Node, record};
use crate::event::Endpoint;
use crate::mgmt::Mgmt;
use crate::mutation::MetaMutation;
use crate::net::Net;
use crate::node::Power;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::trace::Trace;
use nyala_cluster::leader::Proposal;
use nyala_cluster::{ClusterState, Command, NewTarget, RegisterNode};
use nyala_replica::log::{LogConfig, LogEnvelope, LogInput, LogRule, RangeSum, Record};
use nyala_replica::share::ShareLimits;
use nyala_wire::map::{ClusterMap, Group, Role, Settings, TargetKind};
use nyala_wire::mgmt::Heartbeat;
use nyala_wire::{ClusterId, GroupId, MapVersion, NodeId, TargetId};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

/// The group under test.
pub const GROUP: GroupId = GroupId(1);
pub(super) const HEARTBEAT_MS: u32 = 100;
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
    Deliver(Endpoint, Endpoint, Msg),
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
    /// All machines lose power.
    BlackOut,
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
    pub(super) rule: Option<LogRule>,
    /// Members that have lost power, and are not known to have everything since.
    pub(super) lost_power: BTreeSet<TargetId>,
    /// The last things that went on.
    pub trace: Trace,
}

pub(super) fn registration(at: usize, incarnation: u64) -> RegisterNode {
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

pub(super) fn config() -> LogConfig {
    LogConfig {
        resend_ms: 40,
        give_up_ms: 250,
        retry_ms: 150,
        recent_bytes: 300,
        append_bytes: 60,
        copy_bytes: 40,
        share: ShareLimits {
            min_bytes_per_s: 4000,
            max_bytes_per_s: 40_000,
            interval_ms: 10,
            ..ShareLimits::default()
        },
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
            Event::Deliver(from, Endpoint::Node(to), msg) => self.node_hears(to, from, msg),
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
            Event::BlackOut => self.black_out(),
        }
    }

    pub(super) fn send(&mut self, from: Endpoint, to: Endpoint, msg: Msg) {
        for delay in self.net.delays(&mut self.rng, from, to, self.now_us) {
            self.push(delay, Event::Deliver(from, to, msg.clone()));
        }
    }

    /// The group as management sees it.
    pub fn group(&self) -> &Group {
        &self.mgmt.state.groups[0]
    }

    // --- clients ---

    pub(super) fn work(&mut self) {
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
                // Not by chance: what else happens stays as it is.
                if self.value.is_multiple_of(4) && self.nodes[at].power == Power::Up {
                    let number = self.check.asks(self.nodes[at].sum());
                    let (from, to, most) = (Vec::new(), Vec::new(), KEYS as u32);
                    self.input(at, LogInput::Compare(RangeSum { number, from, to, most }));
                }
            }
        }
        let next = self.rng.range(self.plan.pause_us / 4, self.plan.pause_us / 2);
        self.push(next, Event::Work);
    }

    /// The primary's server applies a record and hands it over.
    pub(super) fn append(&mut self, at: usize, record: Record) {
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
}

// SPDX-License-Identifier: Apache-2.0

//! The world of one seed: everybody who takes part, the queue of events, and what each event does.

use crate::check::fresh::Fresh;
use crate::check::monotone::Monotone;
use crate::check::primary::Primary;
use crate::client::Client;
use crate::event::{Event, Msg, Place, Queue};
use crate::mgmt::Mgmt;
use crate::mutation::Mutation;
use crate::net::Net;
use crate::node::{Node, Power};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::trace::Trace;
use nyala_cluster::{ClusterState, Command, NewTarget, RegisterNode};
use nyala_wire::map::{Group, Role, Settings, TargetKind};
use nyala_wire::{ClusterId, GroupId};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Heartbeats go out so often; everything is faster than in a real cluster, in the same proportions.
pub const HEARTBEAT_MS: u32 = 100;
/// Length of a lease.
pub const LEASE_MS: u32 = 600;
/// The one group.
pub const GROUP: GroupId = GroupId(1);

/// Everything.
pub struct World {
    /// Virtual time, microseconds.
    pub now_us: u64,
    /// What is to come.
    pub queue: Queue,
    /// All chance.
    pub rng: Rng,
    /// What the seed means.
    pub plan: Plan,
    /// The network.
    pub net: Net,
    /// Management.
    pub mgmt: Mgmt,
    /// Storage servers, one member each.
    pub nodes: Vec<Node>,
    /// Clients.
    pub clients: Vec<Client>,
    /// Last tag given to a block.
    pub tag: u64,
    /// What was broken on purpose.
    pub broken: Option<Mutation>,
    /// What went on.
    pub trace: Trace,
    /// No more faults.
    pub quiet: bool,
    /// What went wrong.
    pub wrong: Option<String>,
    /// Checks.
    pub fresh: Fresh,
    /// Checks.
    pub primary: Primary,
    /// Checks.
    pub monotone: Monotone,
    /// When the last complete copy was lost: what clients hear of requests of before says nothing about what is left.
    pub lost_all_us: Option<u64>,
    /// Writes whose first answer has been looked at.
    pub answered: BTreeSet<(usize, u64)>,
}

/// How server `n` registers.
pub fn registration(n: usize, incarnation: u64) -> RegisterNode {
    let uuid = |kind: u8| ClusterId([kind + n as u8; 16]);
    let target = NewTarget { uuid: uuid(100), id: Default::default(), alias: String::new(), kind: TargetKind::Storage };
    RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role: Role::Storage,
        uuid: uuid(1),
        alias: String::new(),
        addresses: vec![([10, 0, 0, 1 + n as u8], 8003).into()],
        incarnation,
        targets: vec![target],
    }
}

fn first_state(plan: &Plan) -> ClusterState {
    let settings =
        Settings { heartbeat_ms: HEARTBEAT_MS, lease_ms: LEASE_MS, session_timeout_ms: 30_000, ..Settings::default() };
    let mut state = ClusterState::default();
    let mut apply = |command| state.apply(command).expect("the commands that set the cluster up are valid");
    apply(Command::Init { cluster: ClusterId([7; 16]), settings });
    for n in 0..plan.members {
        apply(Command::RegisterNode(registration(n, 0)));
    }
    let members = state.targets.iter().map(|t| t.id).collect();
    let create = Command::CreateGroup { group: GROUP, kind: TargetKind::Storage, members };
    state.apply(create).expect("all targets are online and good");
    state
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64, broken: Option<Mutation>, traced: bool) -> World {
        let mut rng = Rng::new(seed);
        let plan = Plan::new(&mut rng);
        let state = first_state(&plan);
        let mut nodes = Vec::new();
        for (id, target) in state.targets.iter().map(|t| (t.node, t.id)).collect::<Vec<_>>() {
            nodes.push(Node::new(id, target, rng.range(100 - plan.drift, 100 + plan.drift)));
        }
        let mgmt = Mgmt::new(state, broken);
        let client = |n| Client::new(n, mgmt.map(), plan.pause_us, plan.reads);
        let clients = (0..plan.clients).map(client).collect();
        let net = Net::new(&plan);
        let mut world = World {
            now_us: 0,
            queue: Queue::default(),
            rng,
            plan,
            net,
            mgmt,
            nodes,
            clients,
            tag: 0,
            broken,
            trace: Trace::new(traced),
            quiet: false,
            wrong: None,
            fresh: Fresh::default(),
            primary: Primary::default(),
            monotone: Monotone::default(),
            lost_all_us: None,
            answered: BTreeSet::new(),
        };
        world.queue.push(0, Event::MgmtTick { term: 1 });
        (0..world.nodes.len()).for_each(|node| world.queue.push(1000 * node as u64, Event::Start { node }));
        (0..world.clients.len()).for_each(|client| world.queue.push(1000, Event::ClientTick { client }));
        world.queue.push(world.plan.fault_every_us, Event::Fault);
        world
    }

    /// Something was wrong; the first thing counts.
    pub fn judge(&mut self, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.trace.line(self.now_us, || format!("WRONG: {what}"));
            self.wrong.get_or_insert(what);
        }
    }

    /// The group, as management has decided.
    pub fn group(&self) -> &Group {
        self.mgmt.state.group(GROUP).expect("nothing in the simulation removes the group")
    }

    /// Lets the next thing happen; `false` when time is up or something is wrong.
    pub fn step(&mut self, until_us: u64) -> bool {
        let Some((at_us, event)) = self.queue.pop() else { return false };
        if at_us > until_us || self.wrong.is_some() {
            self.queue.push(at_us, event);
            return false;
        }
        self.now_us = at_us;
        self.happens(event);
        true
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Deliver { from, to, msg } => self.deliver(from, to, msg),
            Event::NodeTick { node, boot } => self.node_tick(node, boot),
            Event::JobDone { node, boot, job } => self.job_done(node, boot, job),
            Event::Refused { node, boot, peer } => self.peer_refused(node, boot, peer),
            Event::Start { node } => self.start(node),
            Event::ClientTick { client } => self.client_tick(client),
            Event::MgmtTick { term } => self.mgmt_tick(term),
            Event::Commit { term, command } => self.commit(term, &command),
            Event::MgmtLeads { term } => {
                let now_ms = self.now_us / 1000;
                self.mgmt.lead(term, now_ms);
                self.queue.push(self.now_us, Event::MgmtTick { term });
            }
            Event::Fault => self.fault(),
        }
    }

    fn deliver(&mut self, from: Place, to: Place, msg: Msg) {
        match to {
            Place::Mgmt => self.mgmt_hears(from, msg),
            Place::Node(node) => self.node_hears(node, from, msg),
            Place::Client(client) => self.client_hears(client, msg),
        }
    }

    /// Sends a message; the network does with it what it likes.
    pub fn send(&mut self, from: Place, to: Place, msg: Msg) {
        for delay_us in self.net.delays(&mut self.rng, from, to, self.now_us) {
            self.queue.push(self.now_us + delay_us, Event::Deliver { from, to, msg: msg.clone() });
        }
    }

    fn mgmt_hears(&mut self, from: Place, msg: Msg) {
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
                let (lease_ms, version) = self.mgmt.heartbeat(node, incarnation, has, now_ms);
                self.send(Place::Mgmt, from, Msg::Lease { lease_ms, version, sent_ms });
            }
            Msg::GetMap => self.send(Place::Mgmt, from, Msg::Map(self.mgmt.map())),
            Msg::Propose(command) => self.propose(command),
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

    fn mgmt_tick(&mut self, term: u64) {
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

    fn commit(&mut self, term: u64, command: &Command) {
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

// SPDX-License-Identifier: Apache-2.0

//! The world of one seed: everybody who takes part, the queue of events, and what each event does.

use crate::check::fences::Fences;
use crate::check::fresh::Fresh;
use crate::check::monotone::Monotone;
use crate::check::primary::Primary;
use crate::client::Client;
use crate::event::{Endpoint, Event, Msg, Queue};
use crate::mgmt::Mgmt;
use crate::mutation::Mutation;
use crate::net::Net;
use crate::node::Node;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::setup::first_state;
use crate::trace::Trace;
use nyala_wire::GroupId;
use nyala_wire::map::Group;
use std::collections::BTreeSet;

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
    pub fences: Fences,
    /// Checks.
    pub primary: Primary,
    /// Checks.
    pub monotone: Monotone,
    /// When the last complete copy was lost: what clients hear of requests of before says nothing about what is left.
    pub lost_all_us: Option<u64>,
    /// Writes whose first answer has been looked at.
    pub answered: BTreeSet<(usize, u64)>,
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
            fences: Fences::default(),
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
            Event::ReadAhead { node, boot, asked, got } => self.read_ahead_ends(node, boot, asked, got),
            Event::Refused { node, boot, peer } => self.peer_refused(node, boot, peer),
            Event::Start { node } => self.start(node),
            Event::Restart { node } => self.restart(node),
            Event::ClientTick { client } => self.client_tick(client),
            Event::MgmtTick { term } => self.mgmt_tick(term),
            Event::Probe { term, node, incarnation } => self.probed(term, node, incarnation),
            Event::Commit { term, command, proposal } => self.commit(term, &command, proposal),
            Event::MgmtLeads { term } => {
                let now_ms = self.now_us / 1000;
                self.mgmt.lead(term, now_ms);
                self.queue.push(self.now_us, Event::MgmtTick { term });
            }
            Event::Fault => self.fault(),
        }
    }

    fn deliver(&mut self, from: Endpoint, to: Endpoint, msg: Msg) {
        match to {
            Endpoint::Mgmt => self.mgmt_hears(from, msg),
            Endpoint::Node(node) => self.node_hears(node, from, msg),
            Endpoint::Client(client) => self.client_hears(client, msg),
        }
    }

    /// Sends a message; the network does with it what it likes.
    pub fn send(&mut self, from: Endpoint, to: Endpoint, msg: Msg) {
        for delay_us in self.net.delays(&mut self.rng, from, to, self.now_us) {
            self.queue.push(self.now_us + delay_us, Event::Deliver { from, to, msg: msg.clone() });
        }
    }
}

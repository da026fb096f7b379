// SPDX-License-Identifier: Apache-2.0

//! What happens at storage servers, and what their members want done.

use crate::check::acknowledged;
use crate::disk::Tag;
use crate::event::{Asked, Blocks, Event, Msg, Place};
use crate::mutation::Mutation;
use crate::node::{Doing, Power};
use crate::world::{GROUP, World, registration};
use nyala_replica::share::ShareLimits;
use nyala_replica::{Answer, Config, Effect, Input, Job, Member, Request, Standing, Ticket, Token, View};
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, Group, MemberState};

/// Settings of members: small regions, so that files have several, and few runs, so that they overflow.
fn config() -> Config {
    Config {
        region_bytes: 2 * crate::disk::BLOCK,
        max_runs: 3,
        resend_ms: 40,
        give_up_ms: 250,
        flush_ms: 150,
        copies: 2,
        sync_every: 3,
        retry_ms: 200,
        share: ShareLimits { min_bytes_per_s: 400_000, max_bytes_per_s: 8 << 20, slower_percent: 50, interval_ms: 40 },
    }
}

impl World {
    fn runs(&self, node: usize, boot: u64) -> bool {
        self.nodes[node].power == Power::Up && self.nodes[node].boot == boot
    }

    /// A server that stands still gets everything later.
    fn put_off(&mut self, node: usize, event: &Event) -> bool {
        let until = self.nodes[node].paused_until;
        let waits = self.nodes[node].power == Power::Up && self.now_us < until;
        if waits {
            self.queue.push(until + 1, event.clone());
        }
        waits
    }

    /// A server's process starts.
    pub fn start(&mut self, at: usize) {
        let broken = self.broken;
        let node = &mut self.nodes[at];
        if node.power == Power::Up {
            return;
        }
        node.power = Power::Up;
        node.boot += 1;
        let mut rows = node.disk.rows();
        if broken == Some(Mutation::Protocol(nyala_replica::Rule::KeepIntents)) {
            rows.clear();
        }
        let mut member = Member::open(node.target, GROUP, config(), rows);
        if let Some(Mutation::Protocol(rule)) = broken {
            member.break_rule(rule);
        }
        node.member = Some(member);
        let (boot, target) = (node.boot, node.target);
        let tracked = node.member.as_ref().map(Member::tracked);
        self.trace.line(self.now_us, || format!("{target} starts, run {boot}: {tracked:?}"));
        self.queue.push(self.now_us + 100, Event::NodeTick { node: at, boot });
    }

    /// A server's timer.
    pub fn node_tick(&mut self, at: usize, boot: u64) {
        if !self.runs(at, boot) || self.put_off(at, &Event::NodeTick { node: at, boot }) {
            return;
        }
        let now_ms = self.nodes[at].clock_ms(self.now_us);
        let node = &mut self.nodes[at];
        let (id, incarnation, has) = (node.id, node.incarnation(), node.has);
        let beats = now_ms >= node.beat_ms + u64::from(crate::world::HEARTBEAT_MS);
        if beats {
            node.beat_ms = now_ms;
            let msg = match node.registered {
                true => Msg::Heartbeat { node: id, incarnation, has, sent_ms: now_ms },
                false => Msg::Register(Box::new(registration(at, incarnation))),
            };
            self.send(Place::Node(at), Place::Mgmt, msg);
        }
        self.input(at, Input::Tick);
        self.queue.push(self.now_us + 20_000, Event::NodeTick { node: at, boot });
    }

    /// Disk work ends.
    pub fn job_done(&mut self, at: usize, boot: u64, job: Job) {
        if !self.runs(at, boot) || self.put_off(at, &Event::JobDone { node: at, boot, job }) {
            return;
        }
        let target = self.nodes[at].target;
        if let Some((Doing::Write { file, data, .. }, ok)) = self.nodes[at].doing.get(&job) {
            let now_us = self.now_us;
            self.trace.line(now_us, || format!("{target}: wrote file {} {data:?}, ok: {ok}", file.inode.0));
        }
        if let Some(input) = self.nodes[at].end(job, &mut self.rng) {
            self.input(at, input);
        }
    }

    /// Another server's host refuses connections.
    pub fn peer_refused(&mut self, at: usize, boot: u64, peer: usize) {
        if self.runs(at, boot) && self.nodes[peer].power == Power::Dead {
            let target = self.nodes[peer].target;
            self.input(at, Input::Refused { target });
        }
    }

    /// A message arrives.
    pub fn node_hears(&mut self, at: usize, from: Place, msg: Msg) {
        match self.nodes[at].power {
            Power::Up => {}
            Power::Dead => {
                if let Place::Node(sender) = from {
                    let boot = self.nodes[sender].boot;
                    self.queue.push(self.now_us + 300, Event::Refused { node: sender, boot, peer: at });
                }
                return;
            }
            Power::Off => return,
        }
        if self.put_off(at, &Event::Deliver { from, to: Place::Node(at), msg: msg.clone() }) {
            return;
        }
        match msg {
            Msg::Registered(run, map) if run == self.nodes[at].incarnation() => {
                self.nodes[at].registered = true;
                self.node_map(at, &map);
            }
            Msg::Map(map) => self.node_map(at, &map),
            Msg::Lease { lease_ms: Some(ms), version, sent_ms } => {
                let until_ms = sent_ms + u64::from(ms) * 2 / 3;
                self.input(at, Input::Lease { until_ms, version });
                self.fetch_if_behind(at, version);
            }
            Msg::Lease { version, .. } => self.fetch_if_behind(at, version),
            Msg::Member { from, envelope, payload } => {
                let ticket = self.buffer(at, payload);
                self.input(at, Input::Message { from, envelope, payload: ticket });
            }
            Msg::Ask { client, attempt, seq, lowest, epoch, wish } => {
                let payload = match &wish {
                    Asked::Write(_, _, blocks) => Some(blocks.clone()),
                    Asked::Read(..) | Asked::Sync => None,
                };
                let ticket = self.buffer(at, payload);
                let node = &mut self.nodes[at];
                node.last += 1;
                let token = Token(node.last);
                node.waiting.insert(token.0, (client, attempt, seq));
                let wish = wish.wish(ticket);
                let request = Request { token, client: client as u64, seq, lowest, epoch, wish };
                self.input(at, Input::Request(request));
            }
            Msg::Registered(..) => {}
            Msg::Register(_) | Msg::Heartbeat { .. } | Msg::GetMap | Msg::Propose(_) | Msg::Answer { .. } => {}
        }
    }

    fn fetch_if_behind(&mut self, at: usize, version: nyala_wire::MapVersion) {
        if version > self.nodes[at].has {
            self.send(Place::Node(at), Place::Mgmt, Msg::GetMap);
        }
    }

    fn buffer(&mut self, at: usize, data: Option<Blocks>) -> Ticket {
        let node = &mut self.nodes[at];
        node.last += 1;
        let ticket = Ticket(node.last);
        data.into_iter().for_each(|data| {
            node.buffers.insert(ticket, data);
        });
        ticket
    }

    fn node_map(&mut self, at: usize, map: &ClusterMap) {
        let node = &mut self.nodes[at];
        if node.takes_map(map)
            && let Some(view) = View::of(map, GROUP)
        {
            self.input(at, Input::Map(view));
        }
    }

    /// The member handles an input, and what it wants is done.
    pub fn input(&mut self, at: usize, input: Input) {
        let effects = self.nodes[at].handle(self.now_us, input);
        let mut effects = effects.into_iter().peekable();
        while let Some(effect) = effects.next() {
            // An answer that ends a change is followed by the end of its buffer; one from memory is not.
            let ends = matches!(effects.peek(), Some(Effect::Drop(_)));
            self.effect(at, effect, ends);
        }
        self.look_at(at);
    }

    fn effect(&mut self, at: usize, effect: Effect, ends: bool) {
        match effect {
            Effect::Reply(token, answer) => self.reply(at, token, answer, ends),
            Effect::Send(to, envelope, payload) => {
                let node = &self.nodes[at];
                let from = node.target;
                let payload = payload.and_then(|ticket| node.buffers.get(&ticket).cloned());
                if let Some(peer) = self.nodes.iter().position(|n| n.target == to) {
                    self.send(Place::Node(at), Place::Node(peer), Msg::Member { from, envelope, payload });
                }
            }
            Effect::Drop(ticket) => {
                self.nodes[at].buffers.remove(&ticket);
            }
            Effect::Ask(command) => self.send(Place::Node(at), Place::Mgmt, Msg::Propose(command)),
            Effect::FetchMap => self.send(Place::Node(at), Place::Mgmt, Msg::GetMap),
            disk => self.begin_job(at, disk),
        }
    }

    fn begin_job(&mut self, at: usize, effect: Effect) {
        if let Effect::Persist { rows, durable, .. } = &effect {
            let target = self.nodes[at].target;
            self.trace.line(self.now_us, || format!("{target}: persist {rows:?} durable {durable}"));
        }
        let Some(job) = self.nodes[at].begin(effect, &mut self.rng) else { return };
        let node = &self.nodes[at];
        let (base, boot) = (node.slow, node.boot);
        let us = match node.doing.get(&job) {
            Some((Doing::Persist { durable: true, .. } | Doing::Flush(_), _)) => self.rng.range(300, 2500),
            _ => self.rng.range(50, 900),
        };
        self.queue.push(self.now_us + us * base, Event::JobDone { node: at, boot, job });
    }

    fn reply(&mut self, at: usize, token: Token, answer: Answer, ends: bool) {
        let node = &mut self.nodes[at];
        let Some((client, attempt, seq)) = node.waiting.remove(&token.0) else { return };
        let data = match answer {
            Answer::Data(job) => node.reads.remove(&job),
            _ => None,
        };
        let pending = self.clients[client].pending.clone();
        if let (Answer::Done, Some(pending), true) = (answer, pending, ends)
            && let Asked::Write(file, _, blocks) = &pending.asked
            && pending.seq == seq
            && self.answered.insert((client, seq))
        {
            let epoch = self.nodes[at].member.as_ref().and_then(Member::epoch).map_or(0, |(epoch, _)| epoch);
            let verdict = acknowledged::check(self.group(), epoch, &self.nodes, *file, blocks);
            self.judge(verdict);
        }
        self.send(Place::Node(at), Place::Client(client), Msg::Answer { attempt, answer, data });
    }

    /// What is looked at after each input.
    fn look_at(&mut self, at: usize) {
        let now_us = self.now_us;
        let Some(member) = &self.nodes[at].member else { return };
        let (standing, epoch, boot) = (member.standing(), member.epoch(), self.nodes[at].boot);
        if standing == Standing::Leading {
            let verdict = self.primary.check(&self.nodes, now_us);
            self.judge(verdict);
            // The last good copy is the truth again, whatever it has lost.
            let node = &mut self.nodes[at];
            let leads = node.member.as_ref().is_some_and(|m| m.has_lease(node.clock_ms(now_us)));
            node.lost_power &= !leads;
        }
        if let Some((epoch, _)) = epoch {
            let verdict = self.monotone.member(at, boot, epoch);
            self.judge(verdict);
        }
    }

    /// Members that lost power, were found out and are good again have everything again.
    pub fn good_again(&mut self, group: &Group) {
        for node in &mut self.nodes {
            match group.state(node.target) {
                Some(MemberState::Good) if node.found_out => (node.lost_power, node.found_out) = (false, false),
                Some(MemberState::Good) => {}
                _ => node.found_out |= node.lost_power,
            }
        }
    }

    /// After a loss: if no complete copy is left, what members have on disk may come back.
    ///
    /// A copy is complete if its member is good and has not lost power. In the moment of a loss (`at_once`) it must also be up:
    /// management may give up one that is not and keep the one that has lost power.
    pub fn count_copies(&mut self, at_once: bool) {
        let group = self.group().clone();
        let good = |target: TargetId| group.state(target) == Some(MemberState::Good);
        let whole = |n: &crate::node::Node| {
            good(n.target) && !n.lost_power && (!at_once || (n.power == Power::Up && n.registered))
        };
        if self.nodes.iter().any(whole) {
            return;
        }
        self.lost_all_us = Some(self.now_us);
        for pending in self.clients.iter().filter_map(|client| client.pending.as_ref()) {
            if let Asked::Write(file, _, data) = &pending.asked {
                let blocks = data.tags.iter().enumerate();
                blocks.for_each(|(n, tag)| self.fresh.may_repeat((*file, data.first + n as u64), *tag));
            }
        }
        let lost: Vec<usize> =
            (0..self.nodes.len()).filter(|at| good(self.nodes[*at].target) && self.nodes[*at].lost_power).collect();
        let all: Vec<_> = self.fresh.blocks().collect();
        for at in lost {
            let values: Vec<(_, Tag)> = all.iter().map(|b| (*b, self.nodes[at].disk.durable(b.0, b.1))).collect();
            values.into_iter().for_each(|(block, tag)| self.fresh.may_return(block, tag));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What happens at storage servers, and what their members want done.

use crate::disk::blocks;
use crate::event::{Asked, Blocks, Endpoint, Event, Msg};
use crate::mutation::Mutation;
use crate::node::{Doing, Power};
use crate::setup::registration;
use crate::world::{GROUP, World};
use nyala_replica::share::ShareLimits;
use nyala_replica::{Answer, Config, FENCES, Input, Job, Member, Request, Ticket, Token, View};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::Heartbeat;

/// Settings of members: small regions, so that files have several, and few runs, so that they overflow.
fn config() -> Config {
    Config {
        region_bytes: 2 * crate::disk::BLOCK,
        max_runs: 3,
        ahead: 2,
        file_bytes: 1 << 50,
        resend_ms: 40,
        give_up_ms: 250,
        flush_ms: 150,
        copies: 2,
        sync_every: 3,
        retry_ms: 200,
        client_idle_ms: 24 * 3_600_000,
        share: ShareLimits { min_bytes_per_s: 400_000, max_bytes_per_s: 8 << 20, slower_percent: 50, interval_ms: 10 },
    }
}

/// Longest time that a read takes which a server begins before its member knows of it, microseconds.
const READ_AHEAD_US: u64 = 3000;

impl World {
    /// Whether this run of a server is at work.
    pub fn runs(&self, node: usize, boot: u64) -> bool {
        self.nodes[node].power == Power::Up && self.nodes[node].boot == boot
    }

    /// A server that stands still gets everything later.
    pub fn defer(&mut self, node: usize, event: &Event) -> bool {
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
        if !self.runs(at, boot) || self.defer(at, &Event::NodeTick { node: at, boot }) {
            return;
        }
        let now_ms = self.nodes[at].clock_ms(self.now_us);
        let node = &mut self.nodes[at];
        let (id, incarnation, has) = (node.id, node.incarnation(), node.has);
        let beats = now_ms >= node.beat_ms + u64::from(crate::world::HEARTBEAT_MS);
        if beats {
            node.beat_ms = now_ms;
            let msg = match node.registered {
                true => {
                    let beat = Heartbeat { node: id, incarnation, map_version: has, capacities: Vec::new() };
                    Msg::Heartbeat { beat: Box::new(beat), sent_ms: now_ms }
                }
                false => Msg::Register(Box::new(registration(at, incarnation))),
            };
            self.send(Endpoint::Node(at), Endpoint::Mgmt, msg);
        }
        self.input(at, Input::Tick);
        self.queue.push(self.now_us + 20_000, Event::NodeTick { node: at, boot });
    }

    /// Disk work ends.
    pub fn job_done(&mut self, at: usize, boot: u64, job: Job) {
        if !self.runs(at, boot) || self.defer(at, &Event::JobDone { node: at, boot, job }) {
            return;
        }
        let target = self.nodes[at].target;
        if let Some((Doing::Write { file, data, .. }, ok)) = self.nodes[at].doing.get(&job) {
            if !ok && *file != FENCES {
                // It is there in part: that part may be seen before the whole is done again.
                for (n, tag) in data.tags.iter().enumerate() {
                    self.fresh.may_repeat((*file, data.first + n as u64), *tag);
                }
            }
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
            let (target, node) = (self.nodes[peer].target, self.nodes[peer].id);
            self.input(at, Input::Refused { target });
            self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::Refused(node));
        }
    }

    /// A message arrives.
    pub fn node_hears(&mut self, at: usize, from: Endpoint, msg: Msg) {
        match self.nodes[at].power {
            Power::Up => {}
            Power::Dead => {
                if let Endpoint::Node(sender) = from {
                    let boot = self.nodes[sender].boot;
                    self.queue.push(self.now_us + 300, Event::Refused { node: sender, boot, peer: at });
                }
                return;
            }
            Power::Off => return,
        }
        if self.defer(at, &Event::Deliver { from, to: Endpoint::Node(at), msg: msg.clone() }) {
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
            asked @ Msg::Ask { .. } => {
                // Shells try so; here both ways are gone.
                if self.rng.one_in(2) || !self.read_ahead(at, &asked) {
                    self.asked(at, asked);
                }
            }
            // A late copy of an older run's registration came after ours: begin again with a new run.
            Msg::Superseded { incarnation } if incarnation == self.nodes[at].incarnation() => {
                self.stop(at, Power::Dead);
            }
            Msg::Registered(..) | Msg::Superseded { .. } => {}
            Msg::Register(_) | Msg::Heartbeat { .. } | Msg::Closed { .. } | Msg::Refused(_) => {}
            Msg::GetMap | Msg::Propose(_) | Msg::Answer { .. } => {}
        }
    }

    fn fetch_if_behind(&mut self, at: usize, version: nyala_wire::MapVersion) {
        if version > self.nodes[at].has {
            self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::GetMap);
        }
    }

    /// Keeps what came with a message or request.
    pub fn buffer(&mut self, at: usize, data: Option<Blocks>) -> Ticket {
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

    /// The member gets a client's request.
    pub fn asked(&mut self, at: usize, asked: Msg) {
        let Msg::Ask { client, attempt, seq, lowest, epoch, operation } = asked else { return };
        let payload = match &operation {
            Asked::Write(_, _, blocks) => Some(blocks.clone()),
            Asked::Read(..) | Asked::Sync => None,
        };
        let (ticket, now_us) = (self.buffer(at, payload), self.now_us);
        let node = &mut self.nodes[at];
        node.last += 1;
        let token = Token(node.last);
        node.waiting.insert(token.0, (client, attempt, seq));
        let (operation, came_us) = (operation.operation(ticket), node.clock_us(now_us));
        let request = Request { token, client: client as u64, seq, lowest, epoch, operation, came_us };
        self.input(at, Input::Request(request));
    }

    /// Begins to read without the member, if that is what is asked for.
    pub fn read_ahead(&mut self, at: usize, asked: &Msg) -> bool {
        let Msg::Ask { operation: Asked::Read(file, span), .. } = asked else { return false };
        let (range, disk) = (blocks(*span), &self.nodes[at].disk);
        let half = range.start..range.start + (range.end - range.start) / 2;
        let got = half.map(|block| disk.get(*file, block)).collect();
        let ends = self.now_us + self.rng.range(0, READ_AHEAD_US);
        self.queue.push(ends, Event::ReadAhead { node: at, boot: self.nodes[at].boot, asked: asked.clone(), got });
        true
    }

    /// It has read the rest: the member says whether that is an answer, or gets the request.
    pub fn read_ahead_ends(&mut self, at: usize, boot: u64, asked: Msg, got: Vec<crate::disk::Tag>) {
        let event = Event::ReadAhead { node: at, boot, asked: asked.clone(), got: got.clone() };
        if !self.runs(at, boot) || self.defer(at, &event) {
            return;
        }
        let Msg::Ask { client, attempt, epoch, operation: Asked::Read(file, span), .. } = &asked else { return };
        let (now_us, range) = (self.now_us, blocks(*span));
        let node = &mut self.nodes[at];
        let (now_us, mut tags) = (node.clock_us(now_us), got);
        tags.extend((range.start + tags.len() as u64..range.end).map(|block| node.disk.get(*file, block)));
        let member = node.member.as_mut();
        if member.is_some_and(|member| member.may_answer_read(now_us, *epoch, *file, *span)) {
            let data = Some(Blocks { first: range.start, tags });
            let answer = Msg::Answer { attempt: *attempt, answer: Answer::Data(Job(0)), data };
            return self.send(Endpoint::Node(at), Endpoint::Client(*client), answer);
        }
        self.asked(at, asked);
    }
}

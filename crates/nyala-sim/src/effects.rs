// SPDX-License-Identifier: Apache-2.0

//! What members want done, and what is looked at after each input.

use crate::check::acknowledged;
use crate::event::{Asked, Endpoint, Event, Msg};
use crate::node::Doing;
use crate::world::World;
use nyala_cluster::Command;
use nyala_replica::{Answer, Effect, Input, Member, MemberRole, Token};

impl World {
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
                    self.send(Endpoint::Node(at), Endpoint::Node(peer), Msg::Member { from, envelope, payload });
                }
            }
            Effect::Drop(ticket) => {
                self.nodes[at].buffers.remove(&ticket);
            }
            Effect::Ask(command) => self.ask_mgmt(at, command),
            Effect::FetchMap => self.send(Endpoint::Node(at), Endpoint::Mgmt, Msg::GetMap),
            disk => self.begin_job(at, disk),
        }
    }

    fn ask_mgmt(&mut self, at: usize, command: Command) {
        let from = Endpoint::Node(at);
        if let Some(delay_us) = self.net.echo(&mut self.rng, from, self.now_us) {
            let again = Event::Deliver { from, to: Endpoint::Mgmt, msg: Msg::Propose(command.clone()) };
            self.queue.push(self.now_us + delay_us, again);
        }
        self.send(from, Endpoint::Mgmt, Msg::Propose(command));
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
        self.send(Endpoint::Node(at), Endpoint::Client(client), Msg::Answer { attempt, answer, data });
    }

    /// What is looked at after each input.
    fn look_at(&mut self, at: usize) {
        let now_us = self.now_us;
        let Some(member) = &self.nodes[at].member else { return };
        let (role, epoch, boot) = (member.role(), member.epoch(), self.nodes[at].boot);
        if role == MemberRole::Primary {
            let verdict = self.primary.check(&self.nodes, now_us);
            self.judge(verdict);
            let verdict = self.fences.check(self.group(), &self.nodes[at], now_us);
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
}

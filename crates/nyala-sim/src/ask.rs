// SPDX-License-Identifier: Apache-2.0

//! What happens at clients.

use crate::event::{Asked, Blocks, Endpoint, Event, Msg};
use crate::world::World;
use nyala_replica::Answer;

/// A request without an answer is sent again after so long, microseconds.
const RESEND_US: u64 = 120_000;

impl World {
    /// A client's timer: a new request, or the old one again.
    pub fn client_tick(&mut self, at: usize) {
        let quick = self.plan.pause_us;
        let client = &mut self.clients[at];
        match &client.pending {
            None if !client.stopped => {
                client.think(&mut self.rng, &mut self.tag, self.now_us);
                self.ask(at);
            }
            Some(pending) if self.now_us >= pending.sent_us + RESEND_US => {
                self.send(Endpoint::Client(at), Endpoint::Mgmt, Msg::GetMap);
                self.ask(at);
            }
            _ => {}
        }
        let next = self.rng.range(quick / 2, quick * 2);
        self.queue.push(self.now_us + next, Event::ClientTick { client: at });
    }

    /// Sends what the client waits for (again).
    pub fn ask(&mut self, at: usize) {
        let now_us = self.now_us;
        let Some((target, attempt, epoch)) = self.clients[at].send(&mut self.rng, now_us) else { return };
        let Some(pending) = &self.clients[at].pending else { return };
        let (seq, operation) = (pending.seq, pending.asked.clone());
        let msg = Msg::Ask { client: at, attempt, seq, lowest: seq, epoch, operation };
        if let Some(node) = self.nodes.iter().position(|n| n.target == target) {
            self.send(Endpoint::Client(at), Endpoint::Node(node), msg);
        }
    }

    /// An answer or a map arrives.
    pub fn client_hears(&mut self, at: usize, msg: Msg) {
        match msg {
            Msg::Map(map) if map.version > self.clients[at].map.version => self.clients[at].map = map,
            Msg::Answer { attempt, answer, data } => self.answer(at, attempt, answer, data),
            _ => {}
        }
    }

    fn answer(&mut self, at: usize, attempt: u64, answer: Answer, data: Option<Blocks>) {
        let Some(pending) = self.clients[at].pending.clone() else { return };
        // A read counts with the copy that was sent last; an answer to any copy of a change is an answer to all.
        let mine = match pending.asked {
            Asked::Read(..) => attempt == pending.attempt,
            _ => attempt <= pending.attempt && attempt >= pending.first_attempt,
        };
        if !mine {
            return;
        }
        let since_us = if matches!(pending.asked, Asked::Read(..)) { pending.sent_us } else { pending.began_us };
        if matches!(answer, Answer::Done | Answer::Data(_)) && self.lost_all_us.is_some_and(|lost| since_us <= lost) {
            self.clients[at].pending = None;
            return;
        }
        match answer {
            Answer::Done => self.acknowledged(at, &pending.asked, pending.began_us),
            Answer::Data(_) => self.was_read(at, &pending.asked, pending.sent_us, data),
            Answer::Failed => {
                // Whether it took effect is not known; it is not asked for again.
                self.clients[at].pending = None;
            }
            Answer::WrongEpoch => self.send(Endpoint::Client(at), Endpoint::Mgmt, Msg::GetMap),
            Answer::AskPrimary => {
                self.clients[at].pending.iter_mut().for_each(|p| p.read_at_primary = true);
                self.ask(at);
            }
            Answer::NotReady => {}
        }
    }

    fn acknowledged(&mut self, at: usize, asked: &Asked, began_us: u64) {
        let now_us = self.now_us;
        match asked {
            Asked::Write(file, _, blocks) => {
                for (n, tag) in blocks.tags.iter().enumerate() {
                    let verdict = self.fresh.see((*file, blocks.first + n as u64), *tag, began_us, now_us);
                    self.judge(verdict);
                }
            }
            Asked::Sync => self.fresh.synced(began_us),
            Asked::Read(..) => {}
        }
        self.trace.line(now_us, || format!("client {at}: done {asked:?}"));
        self.clients[at].answered += 1;
        self.clients[at].pending = None;
    }

    fn was_read(&mut self, at: usize, asked: &Asked, sent_us: u64, data: Option<Blocks>) {
        let (Asked::Read(file, _), Some(data)) = (asked, data) else { return };
        let now_us = self.now_us;
        self.trace.line(now_us, || format!("client {at}: read file {} {data:?}", file.inode.0));
        for (n, tag) in data.tags.iter().enumerate() {
            let verdict = self.fresh.see((*file, data.first + n as u64), *tag, sent_us, now_us);
            self.judge(verdict);
        }
        self.clients[at].answered += 1;
        self.clients[at].pending = None;
    }
}

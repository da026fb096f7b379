// SPDX-License-Identifier: Apache-2.0

//! What a client keeps of what a server has acknowledged, and says to its next run.

use nyala_wire::meta::*;
use nyala_wire::*;
use std::collections::BTreeMap;

/// Where the server's log was when it replied.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub run: u64,
    pub durable: u64,
    pub position: u64,
}

/// What the server's run has to hear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    #[default]
    Known,
    /// What an earlier one acknowledged.
    Say,
    /// That nothing is cached.
    Confirm,
}

#[derive(Default)]
pub struct Unsynced {
    run: u64,
    pub phase: Phase,
    sent: bool,
    changes: BTreeMap<(u64, u64), Acknowledged>,
}

impl Unsynced {
    /// This run knows that nothing was acknowledged before.
    pub fn begin(&mut self, run: u64) {
        self.run = run;
    }

    /// In how many of a hundred turns that is sent; seldom again, as a server holds it until it has an answer.
    pub fn how_often(&self) -> u64 {
        if self.sent { 5 } else { 100 }
    }

    /// For a failing test.
    pub fn describe(&self) -> String {
        format!("run {} {:?} sent {}", self.run, self.phase, self.sent)
    }

    /// What to send next, if anything comes before requests.
    pub fn next(&mut self) -> Option<MetaOp> {
        self.sent = true;
        match self.phase {
            Phase::Known => None,
            Phase::Say => Some(MetaOp::Replay(Replay {
                changes: self.changes.values().cloned().collect(),
                last: true,
                open: Vec::new(),
                run: Some(self.run as u32),
            })),
            Phase::Confirm => Some(MetaOp::DelegationPoll { boot: self.run, kept: Vec::new(), moving: Vec::new() }),
        }
    }

    pub fn is_settled(&self, run: u64) -> bool {
        self.run == run && self.phase == Phase::Known
    }

    /// A server has replied: whether it is the run that is known.
    pub fn heard(&mut self, mark: Mark, reply: &Result<MetaReply, WireError>) -> bool {
        if mark.run > self.run {
            (self.run, self.phase, self.sent) = (mark.run, Phase::Say, false);
        }
        if mark.run < self.run {
            return false;
        }
        match (self.phase, reply) {
            (Phase::Say, Ok(MetaReply::Replayed { lost })) => {
                assert!(lost.is_empty(), "nobody is dead: {lost:?} {:?}", self.changes);
                self.changes.clear();
                (self.phase, self.sent) = (Phase::Confirm, false);
            }
            // The answer to a poll of before names the new run, too; it confirms nothing.
            (Phase::Confirm, Ok(MetaReply::Revocations { boot, .. })) if *boot == self.run && self.sent => {
                self.phase = Phase::Known;
            }
            _ => {}
        }
        if self.phase != Phase::Say {
            self.changes.retain(|(position, _), _| *position > mark.durable);
        }
        true
    }

    pub fn keep(&mut self, mark: Mark, request: &MetaRequest, reply: &MetaReply) {
        if request.op.is_change() && mark.position > mark.durable {
            let (encoded, body) = (codec::encode(request).into(), codec::encode(reply).into());
            let change = Acknowledged { position: mark.position, request: encoded, reply: body };
            self.changes.insert((mark.position, request.sequence), change);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What is written to the database next, and when: everything that the history has and the database has not, oldest first.
//!
//! **Failure model.** The database may be away for any time: what the history still has is written afterwards, in folded steps where
//! only those are left. A reply may be lost: the same points are written once more, which changes nothing there. It may refuse
//! points as malformed: they are counted and left out, since they would be refused again. It may find a batch too long: smaller ones follow.

use super::history::{History, Tier};
use super::line::lines;

/// Most values of a batch, unless one round has more.
const MOST_VALUES: usize = 20_000;
/// Pause after a failure; twice as long after each further one.
const PAUSE_MS: u64 = 1000;
/// The longest pause.
const LONGEST_PAUSE_MS: u64 = 30_000;

/// Points to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Line protocol.
    pub body: String,
    /// Number of values in it.
    pub values: usize,
    /// The time of its last points.
    pub up_to_ms: u64,
    /// Number of its rounds.
    rounds: usize,
}

/// What the database said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has them.
    Written,
    /// It will never take some of them.
    Refused,
    /// It takes no batch as long as that.
    TooLong,
    /// It may take them later.
    Failed,
}

/// How far the database is.
#[derive(Clone, Debug)]
pub struct Outbox {
    sent_ms: u64,
    values: usize,
    pause_ms: u64,
    next_try_ms: u64,
}

impl Outbox {
    /// For a database that has everything up to this time.
    pub fn new(sent_ms: u64) -> Outbox {
        Outbox { sent_ms, values: MOST_VALUES, pause_ms: PAUSE_MS, next_try_ms: 0 }
    }

    /// The database has everything up to here, milliseconds since 1970.
    pub fn sent_ms(&self) -> u64 {
        self.sent_ms
    }

    /// What is to be written at this moment of a monotonic clock; nothing if all is, or a pause is under way.
    pub fn next(&self, now_ms: u64, history: &History) -> Option<Batch> {
        if now_ms < self.next_try_ms {
            return None;
        }
        let raw_from = history.raw_from();
        Tier::ALL.into_iter().rev().find_map(|tier| {
            let wanted = |time: &u64| *time > self.sent_ms && (tier == Tier::Raw) == (*time >= raw_from);
            history.blocks(tier).find_map(|block| {
                let rounds = (self.values / block.series().max(1)).max(1);
                let times: Vec<u64> = block.times().iter().copied().filter(wanted).take(rounds).collect();
                let (from, up_to_ms) = (*times.first()?, *times.last()?);
                let mut body = String::new();
                let values = lines(&mut body, block, from..=up_to_ms);
                Some(Batch { body, values, up_to_ms, rounds: times.len() })
            })
        })
    }

    /// The database has answered, at this moment of the same clock.
    pub fn answered(&mut self, now_ms: u64, batch: &Batch, answer: Answer) {
        match answer {
            Answer::TooLong if batch.rounds > 1 => self.values = (batch.values / 2).max(1),
            Answer::Written | Answer::Refused | Answer::TooLong => {
                (self.sent_ms, self.pause_ms, self.next_try_ms) = (batch.up_to_ms, PAUSE_MS, 0);
            }
            Answer::Failed => {
                self.next_try_ms = now_ms + self.pause_ms;
                self.pause_ms = (self.pause_ms * 2).min(LONGEST_PAUSE_MS);
            }
        }
    }

    /// The clock was set back, and the history with it: what comes now is earlier than what was written.
    pub fn set_back(&mut self, last_ms: u64) {
        self.sent_ms = self.sent_ms.min(last_ms);
    }
}

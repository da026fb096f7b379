// SPDX-License-Identifier: Apache-2.0

//! Tells the participants of a decided transaction until all have acknowledged it. [`crate::tx`] has the failure model.

use super::io::{Note, Ticket};
use super::state::{Progress, RequestKey, State, Task};
use super::waits::{Event, Wait};
use nyala_wire::TargetId;
use nyala_wire::meta_tx::{TxAction, TxId};

/// Pauses before a participant is told again, milliseconds: the first, and the longest.
const PAUSES_MS: [u64; 2] = [10, 1_000];

#[derive(Debug)]
struct Participant {
    target: TargetId,
    /// A commit is under way.
    asked: Option<Ticket>,
    due_ms: u64,
    pause_ms: u64,
}

/// One decided transaction.
#[derive(Debug)]
pub struct Telling {
    number: u64,
    participants: Vec<TargetId>,
    left: Vec<Participant>,
}

impl Telling {
    /// Begins.
    pub fn new(number: u64, participants: Vec<TargetId>) -> Telling {
        let left = participants.iter().map(|target| Participant {
            target: *target,
            asked: None,
            due_ms: 0,
            pause_ms: PAUSES_MS[0],
        });
        Telling { number, left: left.collect(), participants }
    }

    /// `None` once all have done it. It is forgotten later, by [`super::forget`].
    pub fn advance(&mut self, state: &mut State) -> Option<Wait> {
        if self.participants.is_empty() {
            return None;
        }
        let tx = TxId { coordinator: state.ground.me, number: self.number };
        self.left.retain_mut(|participant| !participant.advance(state, tx));
        if self.left.is_empty() {
            state.acknowledged.push((self.number, std::mem::take(&mut self.participants)));
            return None;
        }
        let due = self.left.iter().filter(|participant| participant.asked.is_none()).map(|one| one.due_ms).min();
        Some(due.map_or(Wait::COMPLETION, Wait::until))
    }
}

impl Participant {
    /// Whether it has done it.
    fn advance(&mut self, state: &mut State, tx: TxId) -> bool {
        match self.asked.map(|ticket| state.heard(ticket)) {
            Some(None) => return false,
            Some(Some(Ok(_))) => return true,
            Some(Some(Err(error))) => {
                state.note(Note::CommitUnconfirmed(tx, self.target, error));
                self.asked = None;
                self.due_ms = state.now.ms + self.pause_ms;
                self.pause_ms = (self.pause_ms * 2).min(PAUSES_MS[1]);
            }
            None => {}
        }
        if self.asked.is_none() && state.now.ms >= self.due_ms {
            self.asked = Some(state.ask(self.target, tx, TxAction::Commit));
        }
        false
    }
}

/// Tells of a transaction that an earlier run decided. Its client's request is not answered before that.
pub struct TellAgain {
    telling: Telling,
    request: RequestKey,
}

impl TellAgain {
    /// Begins.
    pub fn new(number: u64, participants: Vec<TargetId>, request: RequestKey) -> TellAgain {
        TellAgain { telling: Telling::new(number, participants), request }
    }
}

impl Task for TellAgain {
    fn step(&mut self, state: &mut State) -> Progress {
        if let Some(wait) = self.telling.advance(state) {
            return Progress::Wait(wait);
        }
        state.unacknowledged.remove(&self.request);
        state.wake(Event::Released);
        Progress::Done
    }
}

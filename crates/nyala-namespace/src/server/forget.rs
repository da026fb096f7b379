// SPDX-License-Identifier: Apache-2.0

//! Forgets decided transactions once all participants have them on disk. [`crate::tx`] has the failure model.

use super::io::{Note, Ticket};
use super::state::{Progress, State, Task};
use super::waits::Wait;
use crate::keys;
use nyala_kv::Batch;
use nyala_wire::TargetId;
use nyala_wire::meta_tx::{TxAction, TxId};

/// Pause before participants are asked whether their commits are on disk; by then they mostly are.
const FORGET_PAUSE_MS: u64 = 1_000;
/// Most questions of that kind under way.
const FORGET_AT_ONCE: usize = 32;

/// A transaction that all have done: each is asked once more, in turn.
#[derive(Debug)]
struct Done {
    number: u64,
    participants: Vec<TargetId>,
    next: usize,
    asked: Option<Ticket>,
    failed: bool,
}

impl Done {
    /// Whether it is known: all have it on disk, or one does not say so.
    fn advance(&mut self, state: &mut State) -> bool {
        let tx = TxId { coordinator: state.ground.me, number: self.number };
        loop {
            match self.asked {
                None => match self.participants.get(self.next) {
                    Some(target) if !self.failed => self.asked = Some(state.ask(*target, tx, TxAction::Commit)),
                    _ => return true,
                },
                Some(ticket) => {
                    let Some(answer) = state.heard(ticket) else { return false };
                    self.asked = None;
                    self.failed |= answer.is_err();
                    self.next += 1;
                }
            }
        }
    }
}

/// Forgets transactions that all participants have on disk: a second Commit is answered when the first one's change is.
/// Until then the decision has to be kept, because a participant that loses power is in doubt again. Never ends.
#[derive(Default)]
pub struct Forget {
    later: Vec<(u64, Vec<TargetId>)>,
    some: Vec<Done>,
    due_ms: Option<u64>,
}

impl Task for Forget {
    fn step(&mut self, state: &mut State) -> Progress {
        loop {
            let mut known = true;
            self.some.iter_mut().for_each(|done| known &= done.advance(state));
            if !known {
                return Progress::Wait(Wait::COMPLETION);
            }
            self.forget(state);
            if self.later.is_empty() {
                let due_ms = *self.due_ms.get_or_insert(state.now.ms + FORGET_PAUSE_MS);
                if state.now.ms < due_ms {
                    return Progress::Wait(Wait::until(due_ms));
                }
                self.due_ms = None;
                self.later = std::mem::take(&mut state.acknowledged);
            }
            let at = self.later.len().min(FORGET_AT_ONCE);
            let some = self.later.drain(..at);
            self.some = some
                .map(|(number, participants)| Done { number, participants, next: 0, asked: None, failed: false })
                .collect();
        }
    }
}

impl Forget {
    fn forget(&mut self, state: &mut State) {
        let mut batch = Batch::new();
        for done in self.some.drain(..) {
            match done.failed {
                true => state.acknowledged.push((done.number, done.participants)),
                false => drop(batch.delete(keys::committed(done.number))),
            }
        }
        if let Err(error) = state.apply(&batch) {
            state.note(Note::NotForgotten(error));
        }
    }
}

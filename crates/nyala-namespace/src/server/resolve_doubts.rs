// SPDX-License-Identifier: Apache-2.0

//! Asks what became of transactions that were prepared here and whose coordinators keep silent. [`crate::tx`] has the failure
//! model.

use super::io::{Effect, Note, Ticket};
use super::participant::end;
use super::state::{Progress, State, Task};
use super::waits::Wait;
use nyala_wire::TargetId;
use nyala_wire::meta_tx::{Outcome, TxAction, TxId, TxReply};
use std::collections::{BTreeMap, VecDeque};

/// After so long without a word from the coordinator a participant asks, milliseconds.
const DOUBT_MS: u64 = 1_000;

/// Asks coordinators that keep silent what became of their transactions. Never ends.
#[derive(Default)]
pub struct ResolveDoubts {
    /// Each coordinator on its own, in turn: one that is down holds up nobody else's.
    asking: Vec<(VecDeque<TxId>, Ticket)>,
    due_ms: Option<u64>,
}

impl Task for ResolveDoubts {
    fn step(&mut self, state: &mut State) -> Progress {
        self.asking.retain_mut(|(list, ticket)| go_on(state, list, ticket));
        if !self.asking.is_empty() {
            return Progress::Wait(Wait::COMPLETION);
        }
        let due_ms = *self.due_ms.get_or_insert(state.now.ms + DOUBT_MS / 2);
        if state.now.ms < due_ms {
            return Progress::Wait(Wait::until(due_ms));
        }
        self.due_ms = None;
        let mut doubtful: BTreeMap<TargetId, VecDeque<TxId>> = BTreeMap::new();
        for (tx, promise) in &state.prepared {
            if state.now.ms.saturating_sub(promise.since_ms) > DOUBT_MS {
                doubtful.entry(tx.coordinator).or_default().push_back(*tx);
            }
        }
        for list in doubtful.into_values() {
            let ticket = ask_status(state, list[0]);
            self.asking.push((list, ticket));
        }
        if self.asking.is_empty() { self.step(state) } else { Progress::Wait(Wait::COMPLETION) }
    }
}

fn ask_status(state: &mut State, tx: TxId) -> Ticket {
    state.ask(tx.coordinator, tx, TxAction::Status)
}

/// Takes in a coordinator's answer and asks it for the next one, as long as it answers; whether that goes on.
fn go_on(state: &mut State, list: &mut VecDeque<TxId>, ticket: &mut Ticket) -> bool {
    let (Some(answer), Some(tx)) = (state.heard(*ticket), list.front().copied()) else { return true };
    list.pop_front();
    match answer {
        Ok(TxReply::Outcome(outcome)) if outcome != Outcome::Pending => {
            match end(state, tx, outcome == Outcome::Committed) {
                // Nobody waits for it to be safe; the coordinator tells again, and is confirmed when it is.
                Ok(durability) => state.ask_and_forget(|ticket| Effect::Log(ticket, durability)),
                Err(error) => state.note(Note::CannotEnd(tx, error.to_string())),
            }
        }
        Ok(_) => {}
        Err(error) => {
            state.note(Note::OutcomeOpen(tx, error));
            return false;
        }
    }
    match list.front() {
        Some(next) => *ticket = ask_status(state, *next),
        None => return false,
    }
    true
}

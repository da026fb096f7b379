// SPDX-License-Identifier: Apache-2.0

//! Rows that say in which slots sessions hold delegations ([`crate::held_slots`]).
//!
//! Failure model: where there is no room for a row, nothing is given. A process that dies loses only rows
//! whose replies did not leave. A power cut may take rows that clients rely on; the next run cannot claim to have everything then, and counts rows
//! for nothing. It may end before clients have said what they hold: so a row names the newest run whose rows are whole.

use super::io::Note;
use super::room_gate::RoomGate;
use super::state::{Progress, State, Task};
use super::waits::Wait;
use crate::held_slots::{Held, MayHold};
use crate::{keys, runs};
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::{SessionId, WireError};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Between looks for rows that say too much, milliseconds.
const LOOK_MS: u64 = 5_000;
/// Most rows that go at once.
const BATCH_ROWS: usize = 256;

/// Writes down what was given in slots where its session had nothing before; whether it may be told. `false`: it is taken back.
pub fn keep(state: &mut State) -> bool {
    let new = state.delegations.slots.take_new();
    if new.is_empty() || write(state, &new) {
        return true;
    }
    for ((session, slot), writes) in new {
        match writes {
            false => state.delegations.take_back(session, slot),
            // What it had before stays; that it has more than it is told harms nobody.
            true => state.delegations.slots.not_raised((session, slot)),
        }
    }
    false
}

/// The same for what a session goes on holding since an earlier run. If it cannot be written, the rows of this run say nothing.
pub fn keep_confirmed(state: &mut State) -> Result<(), WireError> {
    let new = state.delegations.slots.take_new();
    if new.is_empty() || write(state, &new) {
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.delete(keys::held_by());
    state.apply(&batch)
}

fn write(state: &mut State, new: &[(Held, bool)]) -> bool {
    let tables = &state.ground.tables;
    if tables.is_full() || !tables.admits(ChangeKind::Grows) {
        return false;
    }
    let mut batch = Batch::new();
    for ((session, slot), writes) in new {
        batch.put(keys::held(*session, *slot), [u8::from(*writes)]);
    }
    state.apply(&batch).is_ok()
}

/// What is known after a start.
pub struct TakenUp {
    /// What sessions of earlier runs may hold.
    pub may_hold: HashMap<SessionId, MayHold>,
    /// Nothing is missing that earlier runs answered for, and rows say all that sessions may hold.
    pub whole: bool,
}

/// What rows of earlier runs say of these sessions. `all_answered`: nothing is missing that the run before this one answered for. It may
/// have ended before clients had said what an earlier one had answered for: then that is missing.
pub fn take_up(
    state: &mut State,
    sessions: impl Iterator<Item = SessionId>,
    all_answered: bool,
) -> Result<TakenUp, WireError> {
    let whole = all_answered && runs::was_whole(&*state.ground.tables, state.boot)?;
    let none = || if whole { MayHold::In(HashMap::new()) } else { MayHold::Anything };
    let mut may_hold: HashMap<SessionId, MayHold> = sessions.map(|session| (session, none())).collect();
    let mut found = Vec::new();
    state.ground.tables.scan(&[keys::HELD], &[keys::HELD + 1], &mut |key, row| {
        found.extend(keys::parse_held(key).map(|held| (held, row != [0])));
        ControlFlow::Continue(())
    })?;
    for ((session, slot), writes) in found {
        let of = may_hold.get_mut(&session);
        state.delegations.slots.found((session, slot), writes, of.is_some());
        if let Some(MayHold::In(slots)) = of {
            slots.insert(slot, writes);
        }
    }
    let mut batch = Batch::new();
    match whole {
        true => runs::is_whole(state.boot, &mut batch),
        false => drop(batch.delete(keys::held_by())),
    }
    state.apply(&batch)?;
    Ok(TakenUp { may_hold, whole })
}

/// Removes rows of what is not held any more, and says of them when they are whole. Never ends.
#[derive(Default)]
pub struct ForgetHeld {
    /// It was said.
    whole: bool,
    gate: RoomGate,
    due_ms: Option<u64>,
}

impl ForgetHeld {
    /// `whole`: that they are whole was said at the start.
    pub fn new(whole: bool) -> ForgetHeld {
        ForgetHeld { whole, ..ForgetHeld::default() }
    }
}

impl Task for ForgetHeld {
    fn step(&mut self, state: &mut State) -> Progress {
        let due_ms = *self.due_ms.get_or_insert(state.now.ms + LOOK_MS);
        if state.now.ms < due_ms {
            return Progress::Wait(Wait::until(due_ms));
        }
        if self.gate.pass(state, None).is_none() {
            return Progress::Wait(Wait::COMPLETION);
        }
        (self.gate, self.due_ms) = (RoomGate::default(), None);
        let mut batch = Batch::new();
        for (session, slot) in state.delegations.slots.take_idle(BATCH_ROWS) {
            batch.delete(keys::held(session, slot));
        }
        if !self.whole && state.replays.over() && state.delegations.recovered() {
            self.whole = true;
            runs::is_whole(state.boot, &mut batch);
        }
        if let Err(error) = state.apply(&batch) {
            state.note(Note::NotForgotten(error));
        }
        self.step(state)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Removes rows of slots that other servers serve: what was given away, and what came by a move that was given up.
//!
//! Failure model: this server may act upon an old map, by which a slot that came is not its own yet: a slot that is on its way here, or
//! was when its rows came, is left alone until a newer map says otherwise. Management may be put back from an old copy, whose map names
//! another server for a slot: what was served here goes only if this server gave it away. It may stop at any moment, and goes on after the
//! next start.

use super::clear::clear_some;
use super::known::{is_given, read};
use crate::server::io::Note;
use crate::server::room_gate::RoomGate;
use crate::server::state::{Progress, State, Task};
use crate::server::waits::{Event, Wait};
use crate::slot_rows::slots_with_rows;
use nyala_wire::{Slot, WireError};

/// Pause after some rows, milliseconds: others go first.
const PAUSE_MS: u64 = 5;
/// After an error it is tried again, milliseconds.
const AGAIN_MS: u64 = 1_000;

/// Looks for such slots whenever the map changes. Never ends.
#[derive(Default)]
pub struct Purge {
    left: Vec<Slot>,
    gate: RoomGate,
}

impl Task for Purge {
    fn step(&mut self, state: &mut State) -> Progress {
        let wait = self.advance(state).unwrap_or_else(|(slot, error)| {
            state.note(Note::SlotNotCleared(slot, error));
            Wait::until(state.now.ms + AGAIN_MS)
        });
        Progress::Wait(wait)
    }
}

impl Purge {
    fn advance(&mut self, state: &mut State) -> Result<Wait, (Slot, WireError)> {
        if !state.now.serving {
            return Ok(Wait::on(Event::Map).or_until(state.now.ms + AGAIN_MS));
        }
        if self.left.is_empty() {
            self.left = others(state).map_err(|error| (Slot(0), error))?;
        }
        let Some(slot) = self.left.last().copied() else { return Ok(Wait::on(Event::Map)) };
        if self.gate.pass(state, None).is_none() {
            return Ok(Wait::COMPLETION);
        }
        self.gate = RoomGate::default();
        let failed = |error| (slot, error);
        if !is_others(state, slot).map_err(failed)? || clear_some(state, slot).map_err(failed)? {
            self.left.pop();
        }
        Ok(Wait::until(state.now.ms + PAUSE_MS))
    }
}

/// Slots with rows here that are not to be here.
fn others(state: &State) -> Result<Vec<Slot>, WireError> {
    let mut found = Vec::new();
    for slot in slots_with_rows(&*state.ground.tables)? {
        if is_others(state, slot)? {
            found.push(slot);
        }
    }
    Ok(found)
}

fn is_others(state: &State, slot: Slot) -> Result<bool, WireError> {
    let (map, me) = (state.ground.map(), state.ground.me);
    let others = map.slot_target(slot).is_some_and(|server| server != me);
    let expected = map.slot_move(slot).is_some_and(|moving| moving.to == me);
    let going = state.leaving.as_ref().is_some_and(|leaving| leaving.slot == slot);
    if !others || expected || going {
        return Ok(false);
    }
    match read(state, slot)? {
        Some(known) if !known.served => Ok(known.map < map.version),
        _ => is_given(state, slot),
    }
}

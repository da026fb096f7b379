// SPDX-License-Identifier: Apache-2.0

//! The end of an attempt, whatever came of it.

use crate::server::io::Note;
use crate::server::slots::follow_map;
use crate::server::state::State;
use crate::server::waits::Event;

/// The slot is used as before, if it is still here.
pub fn end(state: &mut State) {
    let Some(leaving) = state.leaving.take() else { return };
    if leaving.sealed
        && let Err(error) = follow_map(state)
    {
        state.note(Note::SlotNotTaken(error));
    }
    for inode in state.lock_waits.in_slot(leaving.slot) {
        state.wake(Event::FileLocks(inode));
    }
    state.wake(Event::Delegations);
}

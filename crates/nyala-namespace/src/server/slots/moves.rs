// SPDX-License-Identifier: Apache-2.0

//! What the map says of moves.

use crate::server::state::State;
use nyala_wire::map::SlotMove;
use nyala_wire::{ErrorCode, Slot, WireError};

/// Whether an earlier run may still have given away a slot of this server.
pub fn is_sealed_by_another_run(state: &State) -> bool {
    let (me, run) = (state.ground.me, state.boot);
    state.ground.map().moves.iter().any(|moving| moving.from == me && moving.run != 0 && moving.run != run)
}

/// What came of an attempt by the map: whether the slot is another server's, or the attempt was given up. `None`: it goes on.
pub fn outcome(state: &State, moving: &SlotMove) -> Option<bool> {
    let map = state.ground.map();
    if map.slot_target(moving.slot) != Some(state.ground.me) {
        return Some(true);
    }
    let goes_on = map.slot_move(moving.slot).is_some_and(|now| now.attempt == moving.attempt && now.to == moving.to);
    (!goes_on).then_some(false)
}

/// What an attempt that the map does not show any more comes to.
pub fn given_up(slot: Slot) -> WireError {
    ErrorCode::NOT_READY.with(format!("the move of slot {slot} was given up"))
}

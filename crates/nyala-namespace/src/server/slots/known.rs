// SPDX-License-Identifier: Apache-2.0

//! What a server knows of slots that came from others, or went to them.

use crate::keys;
use crate::records::TakenRecord;
use crate::server::state::State;
use nyala_wire::{Slot, WireError, codec};

/// What is known of a slot that came, or is to come, from another server.
pub fn read(state: &State, slot: Slot) -> Result<Option<TakenRecord>, WireError> {
    state.ground.tables.get(&keys::taken(slot))?.map(|row| codec::decode(&row)).transpose()
}

/// Whether a slot was given away, or is about to be.
pub fn is_given(state: &State, slot: Slot) -> Result<bool, WireError> {
    Ok(state.ground.tables.get(&keys::given(slot))?.is_some())
}

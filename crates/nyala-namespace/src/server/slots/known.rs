// SPDX-License-Identifier: Apache-2.0

//! What a server knows of slots that came from others, or went to them.

use crate::keys;
use crate::records::TakenRecord;
use crate::server::state::State;
use nyala_wire::{Slot, TargetId, WireError, codec};

/// What is known of a slot that came, or is to come, from another server.
pub fn read(state: &State, slot: Slot) -> Result<Option<TakenRecord>, WireError> {
    state.ground.tables.get(&keys::taken(slot))?.map(|row| codec::decode(&row)).transpose()
}

/// To which server a slot was given, or is about to be.
pub fn given_to(state: &State, slot: Slot) -> Result<Option<TargetId>, WireError> {
    let row = state.ground.tables.get(&keys::given(slot))?;
    Ok(row.and_then(|row| <[u8; 2]>::try_from(&row[..]).ok()).map(|to| TargetId(u16::from_be_bytes(to))))
}

// SPDX-License-Identifier: Apache-2.0

//! Whether a request may be done here and now, by the slots of what it names.
//!
//! Failure model: a client with an old map asks the wrong server; one whose request was done before the slot left, and whose reply was lost,
//! asks the right one. Kept replies are looked for first, so a refusal here says that the request was not done.

use crate::change::{Fault, Step};
use crate::server::ground::Ground;
use crate::server::state::State;
use nyala_wire::meta::MetaOp;
use nyala_wire::{ErrorCode, InodeId, Slot, WireError};

fn not_here(ground: &Ground, slot: Slot) -> WireError {
    ErrorCode::WRONG_SERVER.with(format!("slot {slot} is not served by target {}", ground.me))
}

/// When a request arrives: refused if it is for a slot of another server, or for one that is about to be. Changes of another server's
/// slots go on: they may have been done when it was here.
pub fn admit(state: &State, op: &MetaOp) -> Result<(), WireError> {
    let Some(slot) = op.routing_inode().map(InodeId::slot) else { return Ok(()) };
    if !state.ground.is_here(slot) {
        return if op.is_change() { Ok(()) } else { Err(not_here(&state.ground, slot)) };
    }
    let closed = state.leaving.as_ref().is_some_and(|leaving| leaving.closed && leaving.slot == slot);
    let closed = closed && !returns_something(op);
    match closed || state.ground.locks.is_sealed(slot) {
        true => Err(ErrorCode::NOT_READY.with(format!("slot {slot} is about to be served by another server"))),
        false => Ok(()),
    }
}

/// Whether a client may need the answer to return a delegation.
fn returns_something(op: &MetaOp) -> bool {
    matches!(
        op,
        MetaOp::Close { .. }
            | MetaOp::Commit(_)
            | MetaOp::PutInline(_)
            | MetaOp::PutInlines { .. }
            | MetaOp::Spill { .. }
            | MetaOp::SetAttr { .. }
            | MetaOp::FileInfo { .. }
    )
}

/// When a request is tried: a slot may have left while it waited.
pub fn pass(ground: &Ground, op: &MetaOp) -> Step<()> {
    let Some(slot) = op.routing_inode().map(InodeId::slot) else { return Ok(()) };
    if !ground.is_here(slot) {
        return Err(not_here(ground, slot).into());
    }
    if ground.locks.is_sealed(slot) { Err(Fault::Blocked) } else { Ok(()) }
}

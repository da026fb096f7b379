// SPDX-License-Identifier: Apache-2.0

//! Hints that a directory may have the wrong number of fragments. One that is lost is no loss: the next entries bring the next one.

use super::io::Effect;
use super::state::State;
use super::waits::Event;
use nyala_wire::InodeId;
use nyala_wire::meta_tx::{TxAction, TxId, TxRequest};

/// Has a directory looked at, by its own server.
pub fn consider(state: &mut State, dir: InodeId) {
    match state.ground.map().slot_target(dir.slot()) {
        Some(target) if target == state.ground.me => consider_here(state, dir),
        Some(target) => {
            let tx = TxId { coordinator: state.ground.me, number: 0 };
            let request = TxRequest { tx, action: TxAction::ConsiderSplit { dir } };
            state.ask_and_forget(|ticket| Effect::Ask(ticket, target, request));
        }
        None => {}
    }
}

/// Has a directory of this server looked at.
pub fn consider_here(state: &mut State, dir: InodeId) {
    if state.ground.is_here(dir.slot()) {
        state.considered.add(dir);
        state.wake(Event::Considered);
    }
}

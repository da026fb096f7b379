// SPDX-License-Identifier: Apache-2.0

//! After a session has taken over what a guest held ([`crate::ns::adopt`]).

use super::state::State;
use crate::keys;
use nyala_wire::SessionId;

/// If nothing is left of the guest, nobody waits for it.
pub fn adopted(state: &mut State, guest: SessionId) {
    if state.ground.tables.get(&keys::session(guest)).is_ok_and(|row| row.is_none()) {
        state.sessions.forget(guest);
    }
}

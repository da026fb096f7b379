// SPDX-License-Identifier: Apache-2.0

//! Waiting for room in the tables.

use super::io::{Completion, Ticket};
use super::state::State;
use nyala_kv::ChangeKind;
use nyala_wire::WireError;

/// One question whether there is room, asked at most once.
#[derive(Debug, Default)]
pub struct RoomGate {
    asked: Option<Ticket>,
}

impl RoomGate {
    /// Whether a change may be made: `None` while that is not known; an error: a change of this kind is to be refused.
    /// Without a kind: once there is memory for changes at all.
    pub fn pass(&mut self, state: &mut State, kind: Option<ChangeKind>) -> Option<Result<(), WireError>> {
        let Some(ticket) = self.asked else {
            let tables = &state.ground.tables;
            if kind.map_or(!tables.is_full(), |kind| tables.admits(kind)) {
                return Some(Ok(()));
            }
            self.asked = Some(state.ask_room(kind));
            return None;
        };
        state.completed(ticket).map(|completion| match completion {
            Completion::Room(result) => result,
            // why: each ticket is completed with the kind that belongs to its effect.
            other => unreachable!("room came to {other:?}"),
        })
    }
}

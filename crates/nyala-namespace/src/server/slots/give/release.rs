// SPDX-License-Identifier: Apache-2.0

//! Whether everybody has let go of what is in a slot that is closed.

use crate::delegations::Need;
use crate::keys;
use crate::server::state::State;
use nyala_wire::{InodeId, SessionId, Slot, WireError};
use std::ops::ControlFlow;

/// What clients keep of a closed slot.
#[derive(Debug, Default)]
pub struct Release {
    held: Vec<InodeId>,
}

impl Release {
    /// How many inodes were not let go of when it was looked last, and one of them.
    pub fn remaining(&self) -> (usize, Option<InodeId>) {
        (self.held.len(), self.held.first().copied())
    }

    /// Whether nobody keeps or holds anything of the slot. Clients are told to let go.
    pub fn is_free(&mut self, state: &mut State, slot: Slot) -> Result<bool, WireError> {
        self.held.retain(|inode| state.delegations.is_used(*inode));
        if self.held.is_empty() {
            // What had begun before the slot was closed may have been given something since.
            self.held = state.delegations.used_in(slot);
        }
        for inode in &self.held {
            // Who moves inline content has no delegation to return, and says when it is done.
            state.delegations.clear(*inode, SessionId(0), Need::Remove, state.now.ms);
        }
        let news = state.delegations.take_news();
        state.ring(news);
        let settled = state.delegations.recovered() && state.replays.over() && state.now.serving;
        Ok(self.held.is_empty() && settled && !state.ground.locks.any_in(slot) && !truncates(state, slot)?)
    }
}

/// Whether a truncation in the slot is not over.
fn truncates(state: &State, slot: Slot) -> Result<bool, WireError> {
    let prefix = keys::slot_prefix(keys::TRUNCATE, slot);
    let mut any = false;
    state.ground.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |_, _| {
        any = true;
        ControlFlow::Break(())
    })?;
    Ok(any)
}

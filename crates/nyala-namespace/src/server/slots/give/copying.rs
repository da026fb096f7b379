// SPDX-License-Identifier: Apache-2.0

//! One attempt to copy a slot, from its first row until nobody uses it and all of it is on the other server's disk.

use super::release::Release;
use super::sender::Sender;
use super::stage::{Stage, Turn};
use crate::server::io::{Durability, Note};
use crate::server::slots::moves::{given_up, is_sealed_by_another_run, outcome};
use crate::server::slots::seal::seal;
use crate::server::slots::{Leaving, rows};
use crate::server::state::State;
use crate::server::waits::Wait;
use nyala_wire::map::SlotMove;
use nyala_wire::{ErrorCode, WireError};

/// With so few changed rows left, the slot is closed.
const FEW: usize = 64;
/// After so many rounds of changed rows it is closed all the same: they are made faster than they are sent.
const ROUNDS: u32 = 64;
/// So long a slot stays closed, milliseconds; then it is open again for a while, and tried again.
const CLOSED_MS: u64 = 4_000;
const OPEN_MS: u64 = 3_000;
/// How often it is looked whether clients have let go, milliseconds.
const LOOK_MS: u64 = 25;

/// One attempt.
pub struct Copying {
    moving: SlotMove,
    sender: Sender,
    stage: Stage,
}

impl Copying {
    /// Begins with the first row.
    pub fn new(state: &mut State, moving: SlotMove) -> Copying {
        state.leaving = Some(Leaving::new(moving.slot));
        Copying { moving, sender: Sender::new(moving), stage: Stage::Scanning }
    }

    /// Of which move.
    pub fn moving(&self) -> SlotMove {
        self.moving
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, state: &mut State) -> Turn {
        if outcome(state, &self.moving).is_some() {
            return Turn::Failed(given_up(self.moving.slot));
        }
        if !self.stage.is_sealed() && is_sealed_by_another_run(state) {
            // What an earlier run had begun was heard late. Clients wait for that slot, so it comes first.
            return Turn::Failed(ErrorCode::BUSY.with("another slot comes first"));
        }
        let advanced = self.go_on(state);
        advanced.map_or_else(Turn::Failed, |wait| wait.map_or(Turn::Complete(self.moving), Turn::Wait))
    }

    fn go_on(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        loop {
            if let Some(wait) = self.sender.advance(state, self.stage.is_sealed())? {
                return Ok(Some(wait));
            }
            match &mut self.stage {
                Stage::Scanning => self.scan(state)?,
                Stage::CatchingUp(rounds) => {
                    *rounds += 1;
                    let few = if *rounds < ROUNDS { FEW } else { usize::MAX };
                    if !self.catch_up(state, few)? {
                        self.close(state, true);
                        self.stage = Stage::Closed(state.now.ms + CLOSED_MS, Release::default());
                    }
                }
                Stage::Closed(..) => {
                    if let Some(wait) = self.while_closed(state)? {
                        return Ok(Some(wait));
                    }
                }
                Stage::Sealed(left) => {
                    let rows = rows::take(&*state.ground.tables, left)?;
                    let last = left.is_empty();
                    self.sender.send(state, rows, last);
                    if last {
                        self.stage = Stage::Syncing(state.log(Durability::OnDisk));
                    }
                }
                Stage::Syncing(ticket) => {
                    return state.logged(*ticket).map_or(Ok(Some(Wait::COMPLETION)), |logged| logged.map(|()| None));
                }
            }
        }
    }

    fn while_closed(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        let Stage::Closed(until_ms, release) = &mut self.stage else { return Ok(None) };
        if state.now.ms >= *until_ms {
            let (inodes, one) = release.remaining();
            state.note(Note::SlotHeld(self.moving.slot, inodes, one));
            self.close(state, false);
            self.stage = Stage::CatchingUp(0);
            self.sender.pause_until(state.now.ms + OPEN_MS);
            return Ok(None);
        }
        let free = release.is_free(state, self.moving.slot)?;
        if !self.catch_up(state, FEW)? {
            if !free {
                return Ok(Some(Wait::until(state.now.ms + LOOK_MS)));
            }
            self.stage = Stage::Sealed(seal(state, self.moving)?);
        }
        Ok(None)
    }

    fn scan(&mut self, state: &mut State) -> Result<(), WireError> {
        let State { ground, leaving, .. } = state;
        let Some(leaving) = leaving else { return Err(given_up(self.moving.slot)) };
        let (rows, last) = leaving.next_rows(&*ground.tables)?;
        if last {
            self.stage = Stage::CatchingUp(0);
        }
        self.sender.send(state, rows, false);
        Ok(())
    }

    /// Sends some of the changed rows, if more than `few` are left; whether it did.
    fn catch_up(&mut self, state: &mut State, few: usize) -> Result<bool, WireError> {
        let State { ground, leaving, .. } = state;
        let Some(leaving) = leaving else { return Err(given_up(self.moving.slot)) };
        let Some(rows) = leaving.changed_rows(&*ground.tables, few)? else { return Ok(false) };
        self.sender.send(state, rows, false);
        Ok(true)
    }

    fn close(&self, state: &mut State, closed: bool) {
        if let Some(leaving) = &mut state.leaving {
            leaving.closed = closed;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! One attempt to copy a slot, from its first row until nobody uses it and all of it is on the other server's disk.

use super::{given_up, is_sealed_by_another_run, outcome};
use crate::delegations::Need;
use crate::keys;
use crate::server::io::{Durability, Note, Ticket};
use crate::server::slots::{Outgoing, follow_map, rows};
use crate::server::state::State;
use crate::server::waits::{Event, Wait};
use nyala_wire::map::SlotMove;
use nyala_wire::meta_tx::{MoveRows, MovedRow, TxAction, TxId};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// With so few changed rows left, the slot is closed.
const FEW: usize = 64;
/// After so many rounds of changed rows it is closed all the same: they are made faster than they are sent.
const ROUNDS: u32 = 64;
/// So long a slot stays closed, milliseconds; then it is open again for a while, and tried again.
const CLOSED_MS: u64 = 4_000;
const OPEN_MS: u64 = 3_000;
/// How often it is looked whether clients have let go, milliseconds.
const LOOK_MS: u64 = 25;
/// A message that gets lost is repeated after so long, and this often, milliseconds: longer than a failover takes.
const REPEAT_MS: u64 = 200;
const REPEATS: u32 = 60;
/// While the slot is sealed not as often: clients wait.
const SEALED_REPEATS: u32 = 15;
/// Pause after each message, milliseconds: others go first.
const PAUSE_MS: u64 = 2;

#[derive(Debug)]
enum Stage {
    /// All rows in turn.
    Scanning,
    /// What has changed meanwhile; how often.
    CatchingUp(u32),
    /// Nothing begins; until when.
    Closed(u64),
    /// Nobody uses it: keys of rows that are still to be sent.
    Sealed(BTreeSet<Vec<u8>>),
    /// All is sent; this server's own log has to be on disk as well.
    Syncing(Ticket),
}

/// A message that is not confirmed yet.
struct Sending {
    rows: MoveRows,
    asked: Option<Ticket>,
    tries: u32,
}

/// How far it is.
pub enum Turn {
    /// It goes on later.
    Wait(Wait),
    /// Nothing is left to be sent, and nobody uses the slot.
    Complete(SlotMove),
    /// It has to begin again, if at all.
    Failed(WireError),
}

/// One attempt.
pub struct Copying {
    moving: SlotMove,
    number: u64,
    sending: Option<Sending>,
    stage: Stage,
    /// What clients keep of the closed slot.
    held: Vec<InodeId>,
    pause_ms: u64,
}

/// The slot is used as before, if it is still here.
pub fn end(state: &mut State) {
    let Some(outgoing) = state.outgoing.take() else { return };
    if outgoing.sealed
        && let Err(error) = follow_map(state)
    {
        state.note(Note::SlotNotTaken(error));
    }
    for inode in state.lock_waits.in_slot(outgoing.slot) {
        state.wake(Event::FileLocks(inode));
    }
    state.wake(Event::Delegations);
}

impl Copying {
    /// Begins with the first row.
    pub fn new(state: &mut State, moving: SlotMove) -> Copying {
        state.outgoing = Some(Outgoing::new(moving.slot));
        Copying { moving, number: 0, sending: None, stage: Stage::Scanning, held: Vec::new(), pause_ms: 0 }
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
        let sealed = matches!(self.stage, Stage::Sealed(_) | Stage::Syncing(_));
        if !sealed && is_sealed_by_another_run(state) {
            // What an earlier run had begun was heard late. Clients wait for that slot, so it comes first.
            return Turn::Failed(ErrorCode::BUSY.with("another slot comes first"));
        }
        match self.go_on(state) {
            Ok(Some(wait)) => Turn::Wait(wait),
            Ok(None) => Turn::Complete(self.moving),
            Err(error) => Turn::Failed(error),
        }
    }

    fn go_on(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        loop {
            if let Some(wait) = self.confirmed(state)? {
                return Ok(Some(wait));
            }
            if state.now.ms < self.pause_ms {
                return Ok(Some(Wait::until(self.pause_ms)));
            }
            match &mut self.stage {
                Stage::Scanning => self.scan(state)?,
                Stage::CatchingUp(rounds) => {
                    *rounds += 1;
                    let enough = *rounds >= ROUNDS;
                    if !self.catch_up(state, if enough { usize::MAX } else { FEW })? {
                        self.stage = Stage::Closed(state.now.ms + CLOSED_MS);
                        self.close(state, true);
                    }
                }
                Stage::Closed(until_ms) => {
                    let late = state.now.ms >= *until_ms;
                    if late {
                        state.note(Note::SlotHeld(self.moving.slot, self.held.len(), self.held.first().copied()));
                        self.held.clear();
                        self.close(state, false);
                        (self.stage, self.pause_ms) = (Stage::CatchingUp(0), state.now.ms + OPEN_MS);
                    } else if !self.catch_up(state, FEW)? {
                        match self.is_free(state)? {
                            true => self.seal(state)?,
                            false => return Ok(Some(Wait::until(state.now.ms + LOOK_MS))),
                        }
                    }
                }
                Stage::Sealed(left) => {
                    let rows = rows::take(&*state.ground.tables, left)?;
                    let last = left.is_empty();
                    self.send(state, rows, last);
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

    /// Waits until the last message is confirmed.
    fn confirmed(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        let sealed = matches!(self.stage, Stage::Sealed(_) | Stage::Syncing(_));
        let Some(sending) = &mut self.sending else { return Ok(None) };
        let Some(asked) = sending.asked else {
            if state.now.ms < self.pause_ms {
                return Ok(Some(Wait::until(self.pause_ms)));
            }
            let tx = TxId { coordinator: state.ground.me, number: 0 };
            sending.asked = Some(state.ask(self.moving.to, tx, TxAction::MoveRows(sending.rows.clone())));
            return Ok(Some(Wait::COMPLETION));
        };
        match state.heard(asked) {
            None => return Ok(Some(Wait::COMPLETION)),
            Some(Ok(_)) => {
                (self.sending, self.number) = (None, self.number + 1);
                self.pause_ms = if sealed { 0 } else { state.now.ms + PAUSE_MS };
                return Ok(None);
            }
            Some(Err(error)) => {
                let most = if sealed { SEALED_REPEATS } else { REPEATS };
                let never = matches!(error.code, ErrorCode::INVALID | ErrorCode::BAD_MESSAGE | ErrorCode::NO_SPACE);
                if never || sending.tries >= most {
                    return Err(error);
                }
            }
        }
        (sending.asked, sending.tries) = (None, sending.tries + 1);
        self.pause_ms = state.now.ms + REPEAT_MS;
        Ok(Some(Wait::until(self.pause_ms)))
    }

    fn send(&mut self, state: &State, rows: Vec<MovedRow>, last: bool) {
        let SlotMove { slot, attempt, .. } = self.moving;
        let (map, number, doubtful) = (state.ground.map().version, self.number, last && state.doubts.any_in(slot));
        let rows = MoveRows { slot, attempt, map, number, rows, last, doubtful };
        self.sending = Some(Sending { rows, asked: None, tries: 0 });
    }

    fn scan(&mut self, state: &mut State) -> Result<(), WireError> {
        let State { ground, outgoing, .. } = state;
        let Some(outgoing) = outgoing else { return Err(given_up(self.moving.slot)) };
        let (rows, next) = rows::from(&*ground.tables, self.moving.slot, &outgoing.reached)?;
        if next.is_none() {
            self.stage = Stage::CatchingUp(0);
        }
        // Behind the last one everything counts as read.
        outgoing.reached = next.unwrap_or_else(|| vec![u8::MAX]);
        self.send(state, rows, false);
        Ok(())
    }

    /// Sends some of the changed rows, if more than `few` are left; whether it did.
    fn catch_up(&mut self, state: &mut State, few: usize) -> Result<bool, WireError> {
        let State { ground, outgoing, .. } = state;
        let Some(outgoing) = outgoing else { return Err(given_up(self.moving.slot)) };
        if outgoing.changed.len() <= few {
            return Ok(false);
        }
        let rows = rows::take(&*ground.tables, &mut outgoing.changed)?;
        self.send(state, rows, false);
        Ok(true)
    }

    fn close(&self, state: &mut State, closed: bool) {
        if let Some(outgoing) = &mut state.outgoing {
            outgoing.closed = closed;
        }
    }

    /// Whether nobody keeps or holds anything of the slot. Clients are told to let go.
    fn is_free(&mut self, state: &mut State) -> Result<bool, WireError> {
        let slot = self.moving.slot;
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
        let locked = state.ground.locks.any_in(slot) || truncates(state, self.moving)?;
        Ok(self.held.is_empty() && settled && !locked)
    }

    /// From here on nobody uses the slot.
    fn seal(&mut self, state: &mut State) -> Result<(), WireError> {
        let mut left = rows::sent_last(&*state.ground.tables, self.moving.slot)?;
        if let Some(outgoing) = &mut state.outgoing {
            outgoing.sealed = true;
            left.append(&mut outgoing.changed);
        }
        self.stage = Stage::Sealed(left);
        follow_map(state)
    }
}

/// Whether a truncation in the slot is not over.
fn truncates(state: &State, moving: SlotMove) -> Result<bool, WireError> {
    let prefix = keys::slot_prefix(keys::TRUNCATE, moving.slot);
    let mut any = false;
    state.ground.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |_, _| {
        any = true;
        ControlFlow::Break(())
    })?;
    Ok(any)
}

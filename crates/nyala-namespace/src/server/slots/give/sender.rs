// SPDX-License-Identifier: Apache-2.0

//! Sends a slot's rows, one message at a time.
//!
//! Failure model: messages and answers may be lost. The same message is sent again until it is confirmed; what cannot be taken is not.

use crate::server::io::Ticket;
use crate::server::state::State;
use crate::server::waits::Wait;
use nyala_wire::map::SlotMove;
use nyala_wire::meta_tx::{MoveRows, MovedRow, TxAction, TxId};
use nyala_wire::{ErrorCode, WireError};

/// A message that gets lost is repeated after so long, and this often, milliseconds: longer than a failover takes.
const REPEAT_MS: u64 = 200;
const REPEATS: u32 = 60;
/// While the slot is sealed not as often: clients wait.
const SEALED_REPEATS: u32 = 15;
/// Pause after each message, milliseconds: others go first.
const PAUSE_MS: u64 = 2;

/// A message that is not confirmed yet.
struct Sending {
    rows: MoveRows,
    asked: Option<Ticket>,
    tries: u32,
}

/// The messages of one attempt.
pub struct Sender {
    moving: SlotMove,
    number: u64,
    sending: Option<Sending>,
    pause_ms: u64,
}

impl Sender {
    /// Of this attempt.
    pub fn new(moving: SlotMove) -> Sender {
        Sender { moving, number: 0, sending: None, pause_ms: 0 }
    }

    /// Has these rows sent next.
    pub fn send(&mut self, state: &State, rows: Vec<MovedRow>, last: bool) {
        let SlotMove { slot, attempt, .. } = self.moving;
        let (map, number, doubtful) = (state.ground.map().version, self.number, last && state.doubts.any_in(slot));
        let rows = MoveRows { slot, attempt, map, number, rows, last, doubtful };
        self.sending = Some(Sending { rows, asked: None, tries: 0 });
    }

    /// Nothing is sent before this moment.
    pub fn pause_until(&mut self, ms: u64) {
        self.pause_ms = ms;
    }

    /// What it waits for before the next message may be sent. `sealed`: clients wait meanwhile.
    pub fn advance(&mut self, state: &mut State, sealed: bool) -> Result<Option<Wait>, WireError> {
        if state.now.ms < self.pause_ms {
            return Ok(Some(Wait::until(self.pause_ms)));
        }
        let Some(sending) = &mut self.sending else { return Ok(None) };
        let Some(asked) = sending.asked else {
            let tx = TxId { coordinator: state.ground.me, number: 0 };
            sending.asked = Some(state.ask(self.moving.to, tx, TxAction::MoveRows(sending.rows.clone())));
            return Ok(Some(Wait::COMPLETION));
        };
        match state.heard(asked) {
            None => return Ok(Some(Wait::COMPLETION)),
            Some(Ok(_)) => {
                (self.sending, self.number) = (None, self.number + 1);
                self.pause_ms = if sealed { 0 } else { state.now.ms + PAUSE_MS };
            }
            Some(Err(error)) => {
                let most = if sealed { SEALED_REPEATS } else { REPEATS };
                let never = matches!(error.code, ErrorCode::INVALID | ErrorCode::BAD_MESSAGE | ErrorCode::NO_SPACE);
                if never || sending.tries >= most {
                    return Err(error);
                }
                (sending.asked, sending.tries) = (None, sending.tries + 1);
                self.pause_ms = state.now.ms + REPEAT_MS;
            }
        }
        Ok((state.now.ms < self.pause_ms).then(|| Wait::until(self.pause_ms)))
    }
}

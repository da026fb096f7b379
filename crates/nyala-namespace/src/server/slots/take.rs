// SPDX-License-Identifier: Apache-2.0

//! Takes a slot from another server: its rows first, then the right to serve it. [`super`] has the failure model.

use super::known::read;
use super::{clear, rows};
use crate::keys;
use crate::records::TakenRecord;
use crate::server::io::{Durability, Ticket, Token};
use crate::server::room_gate::RoomGate;
use crate::server::state::{Progress, State, Task};
use crate::server::waits::Wait;
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::map::SlotMove;
use nyala_wire::meta_tx::{MoveRows, TxReply};
use nyala_wire::{ErrorCode, WireError, codec};

/// Rows have arrived.
pub fn arrive(state: &mut State, token: Token, rows: MoveRows) {
    state.run(Take { token, rows, phase: Phase::Room(RoomGate::default()) });
}

enum Phase {
    Room(RoomGate),
    /// What an earlier attempt brought goes, some rows at a time.
    Clearing(RoomGate),
    Writing,
    /// The last ones are to be on disk before the other server says so.
    Logging(Ticket),
}

struct Take {
    token: Token,
    rows: MoveRows,
    phase: Phase,
}

impl Task for Take {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.advance(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => Ok(TxReply::Done),
            Err(error) => Err(error),
        };
        state.answer(self.token, result);
        Progress::Done
    }
}

impl Take {
    fn advance(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        loop {
            match &mut self.phase {
                Phase::Room(gate) => match gate.pass(state, Some(ChangeKind::Grows)) {
                    Some(room) => self.phase = room.map(|()| Phase::Clearing(RoomGate::default()))?,
                    None => return Ok(Some(Wait::COMPLETION)),
                },
                Phase::Clearing(gate) => {
                    if gate.pass(state, None).is_none() {
                        return Ok(Some(Wait::COMPLETION));
                    }
                    let done = self.clear(state)?;
                    self.phase = if done { Phase::Writing } else { Phase::Clearing(RoomGate::default()) };
                }
                Phase::Writing => {
                    self.write(state)?;
                    if !self.rows.last {
                        return Ok(None);
                    }
                    self.phase = Phase::Logging(state.log(Durability::OnDisk));
                }
                Phase::Logging(ticket) => {
                    return state.logged(*ticket).map_or(Ok(Some(Wait::COMPLETION)), |logged| logged.map(|()| None));
                }
            }
        }
    }

    /// What is known of the slot, if these rows are of its present attempt.
    fn check(&self, state: &State) -> Result<Option<TakenRecord>, WireError> {
        let MoveRows { slot, attempt, map, .. } = self.rows;
        let (ours, me) = (state.ground.map(), state.ground.me);
        if ours.version < map {
            return Err(ErrorCode::NOT_READY.with("this metadata server has not heard of that cluster map yet"));
        }
        let expected = |moving: &&SlotMove| moving.to == me && moving.attempt == attempt;
        if ours.slot_move(slot).filter(expected).is_none() || state.ground.is_here(slot) {
            return Err(ErrorCode::INVALID.with(format!("slot {slot} is not on its way here by that attempt")));
        }
        read(state, slot)
    }

    /// Whether nothing of an earlier attempt is left.
    fn clear(&self, state: &mut State) -> Result<bool, WireError> {
        let known = self.check(state)?;
        let MoveRows { slot, attempt, number, .. } = self.rows;
        if known.as_ref().is_some_and(|known| known.attempt == attempt) {
            return Ok(true);
        }
        if number != 0 || known.is_some_and(|known| known.attempt > attempt) {
            return Err(ErrorCode::INVALID.with("rows of a slot have to come in order, of the present attempt"));
        }
        clear::clear_some(state, slot)
    }

    /// Writes the rows, unless they were written before.
    fn write(&self, state: &mut State) -> Result<(), WireError> {
        let MoveRows { slot, attempt, map, number, rows, last, doubtful } = &self.rows;
        let known = self.check(state)?.filter(|known| known.attempt == *attempt);
        let mut known = known.unwrap_or(TakenRecord { attempt: *attempt, map: *map, ..TakenRecord::default() });
        if *number < known.next {
            return Ok(());
        }
        if *number > known.next || known.whole {
            return Err(ErrorCode::INVALID.with("rows of a slot have to come in order"));
        }
        let mut batch = Batch::new();
        for row in rows {
            if !rows::belongs(*slot, &row.key) {
                return Err(ErrorCode::BAD_MESSAGE.with("a row that does not belong to the slot"));
            }
            if row.key.first() == Some(&keys::INODE) {
                let before = state.ground.tables.get(&row.key)?.is_some();
                let by = i64::from(row.value.is_some()) - i64::from(before);
                known.inodes = known.inodes.saturating_add_signed(by);
            }
            match &row.value {
                Some(value) => batch.put(&row.key[..], &value[..]),
                None => batch.delete(&row.key[..]),
            };
        }
        (known.next, known.whole, known.doubtful) = (number + 1, *last, *doubtful);
        known.map = known.map.max(*map);
        batch.put(keys::taken(*slot), codec::encode(&known));
        match batch.refused() {
            Some(why) => Err(ErrorCode::BAD_MESSAGE.with(why)),
            None => state.apply(&batch),
        }
    }
}

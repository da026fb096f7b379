// SPDX-License-Identifier: Apache-2.0

//! Takes a slot from another server: its rows first, then the right to serve it. [`super`] has the failure model.

use super::{purge, rows};
use crate::file_locks::FileLocks;
use crate::keys;
use crate::ns::deferred_unlink::HOLDER;
use crate::records::{SessionRecord, TakenRecord};
use crate::sequences;
use crate::server::io::{Durability, Note, Ticket, Token};
use crate::server::room::RoomGate;
use crate::server::state::{Progress, State, Task};
use crate::server::waits::Wait;
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::map::SlotMove;
use nyala_wire::meta_tx::{MoveRows, TxReply};
use nyala_wire::{ErrorCode, SessionId, Slot, WireError, codec};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

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
        purge::clear_some(state, slot)
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

/// What is known of a slot that came, or is to come, from another server.
pub fn read(state: &State, slot: Slot) -> Result<Option<TakenRecord>, WireError> {
    state.ground.tables.get(&keys::taken(slot))?.map(|row| codec::decode(&row)).transpose()
}

/// Serves what came from other servers and is this one's by the map. Returns what is this one's, and not whole.
pub fn serve_what_came(state: &mut State) -> Result<Vec<Slot>, WireError> {
    let mut taken = Vec::new();
    let prefix = keys::taken_prefix();
    state.ground.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, row| {
        taken.push((key.to_vec(), row.to_vec()));
        ControlFlow::Continue(())
    })?;
    let mut unfinished = Vec::new();
    for (key, row) in taken {
        let known: TakenRecord = codec::decode(&row)?;
        let Some(slot) = keys::parse_taken(&key).filter(|slot| state.ground.is_here(*slot)) else { continue };
        match (known.whole, known.served) {
            (true, true) => {}
            (true, false) => serve(state, slot, known)?,
            (false, _) => unfinished.push(slot),
        }
    }
    Ok(unfinished)
}

fn serve(state: &mut State, slot: Slot, known: TakenRecord) -> Result<(), WireError> {
    let mut batch = Batch::new();
    let count = purge::number_of_inodes(state)?;
    batch.put(keys::inode_count(), (count + known.inodes).to_le_bytes());
    batch.put(keys::taken(slot), codec::encode(&TakenRecord { served: true, ..known.clone() }));
    let guests = guests(state, slot, &mut batch)?;
    state.apply(&batch)?;
    for session in guests.into_iter().filter(|session| !state.sessions.is_known(*session)).collect::<Vec<_>>() {
        state.sessions.take_up(session, state.now.ms);
    }
    if known.doubtful {
        state.doubts.any_died(sequences::known(&*state.ground.tables)?.next);
    }
    state.note(Note::SlotTaken(slot, known.inodes));
    state.count("slot.taken");
    Ok(())
}

/// The sessions that hold something in a slot; those that are not known get a row, and so do their locks.
fn guests(state: &State, slot: Slot, batch: &mut Batch) -> Result<BTreeSet<SessionId>, WireError> {
    let tables = &state.ground.tables;
    let (mut sessions, mut locked) = (BTreeSet::new(), Vec::new());
    let prefix = keys::slot_prefix(keys::OPEN, slot);
    tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        sessions.extend(keys::parse_open(key).map(|(_, session)| session).filter(|session| *session != HOLDER));
        ControlFlow::Continue(())
    })?;
    let prefix = keys::slot_prefix(keys::FILE_LOCKS, slot);
    tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, row| {
        locked.extend(keys::parse_inode(key).map(|inode| (inode, row.to_vec())));
        ControlFlow::Continue(())
    })?;
    for (inode, row) in locked {
        let locks: FileLocks = codec::decode(&row)?;
        for held in locks.all() {
            sessions.insert(held.session);
            batch.put(keys::session_lock(held.session, inode), []);
        }
    }
    for session in &sessions {
        if tables.get(&keys::session(*session))?.is_none() {
            let client = format!("open at another server when slot {slot} came");
            let record = SessionRecord { client, caches: None, guest: Some(true) };
            batch.put(keys::session(*session), codec::encode(&record));
        }
    }
    Ok(sessions)
}

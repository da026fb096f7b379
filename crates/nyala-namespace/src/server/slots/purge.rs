// SPDX-License-Identifier: Apache-2.0

//! Removes rows of slots that other servers serve: what was given away, and what came by a move that was given up.
//!
//! Failure model: this server may act upon an old map, by which a slot that came is not its own yet: a slot that is on its way here, or was
//! when its rows came, is left alone until a newer map says otherwise. It may stop at any moment, and goes on after the next start.

use super::{rows, take};
use crate::change::Fault;
use crate::file_locks::FileLocks;
use crate::keys;
use crate::server::io::Note;
use crate::server::room::RoomGate;
use crate::server::state::{Progress, State, Task};
use crate::server::waits::{Event, Wait};
use crate::slot_rows::slots_with_rows;
use nyala_kv::Batch;
use nyala_wire::{ErrorCode, Slot, WireError, codec};

/// Rows that go at once, and the pause after them, milliseconds: others go first.
const AT_ONCE: usize = 256;
const PAUSE_MS: u64 = 5;
/// After an error it is tried again, milliseconds.
const AGAIN_MS: u64 = 1_000;

/// Looks for such slots whenever the map changes. Never ends.
#[derive(Default)]
pub struct Purge {
    left: Vec<Slot>,
    gate: RoomGate,
}

impl Task for Purge {
    fn step(&mut self, state: &mut State) -> Progress {
        let wait = self.advance(state).unwrap_or_else(|(slot, error)| {
            state.note(Note::SlotNotCleared(slot, error));
            Wait::until(state.now.ms + AGAIN_MS)
        });
        Progress::Wait(wait)
    }
}

impl Purge {
    fn advance(&mut self, state: &mut State) -> Result<Wait, (Slot, WireError)> {
        if !state.now.serving {
            return Ok(Wait::on(Event::Map).or_until(state.now.ms + AGAIN_MS));
        }
        if self.left.is_empty() {
            self.left = others(state).map_err(|error| (Slot(0), error))?;
        }
        let Some(slot) = self.left.last().copied() else { return Ok(Wait::on(Event::Map)) };
        if self.gate.pass(state, None).is_none() {
            return Ok(Wait::COMPLETION);
        }
        self.gate = RoomGate::default();
        let failed = |error| (slot, error);
        if !is_others(state, slot).map_err(failed)? || clear_some(state, slot).map_err(failed)? {
            self.left.pop();
        }
        Ok(Wait::until(state.now.ms + PAUSE_MS))
    }
}

/// Slots with rows here that are not to be here.
fn others(state: &State) -> Result<Vec<Slot>, WireError> {
    let mut found = Vec::new();
    for slot in slots_with_rows(&*state.ground.tables)? {
        if is_others(state, slot)? {
            found.push(slot);
        }
    }
    Ok(found)
}

fn is_others(state: &State, slot: Slot) -> Result<bool, WireError> {
    let (map, me) = (state.ground.map(), state.ground.me);
    let others = map.slot_target(slot).is_some_and(|server| server != me);
    let expected = map.slot_move(slot).is_some_and(|moving| moving.to == me);
    let going = state.outgoing.as_ref().is_some_and(|outgoing| outgoing.slot == slot);
    if !others || expected || going {
        return Ok(false);
    }
    Ok(take::read(state, slot)?.is_none_or(|known| known.map < map.version))
}

/// Removes some rows of a slot, and then what is known of it; whether none is left.
pub fn clear_some(state: &mut State, slot: Slot) -> Result<bool, WireError> {
    // What came and was never served is not among this server's inodes yet.
    let counted = take::read(state, slot)?.is_none_or(|known| known.served);
    let (some, next) = rows::from(&*state.ground.tables, slot, &[])?;
    let mut batch = Batch::new();
    let mut inodes = 0;
    for row in some.iter().take(AT_ONCE) {
        inodes += u64::from(row.key.first() == Some(&keys::INODE));
        if row.key.first() == Some(&keys::FILE_LOCKS)
            && let (Some(inode), Some(locks)) = (keys::parse_inode(&row.key), &row.value)
        {
            let locks: FileLocks = codec::decode(locks)?;
            for held in locks.all() {
                batch.delete(keys::session_lock(held.session, inode));
            }
        }
        batch.delete(&row.key[..]);
    }
    if counted && inodes > 0 {
        let count = number_of_inodes(state)?;
        batch.put(keys::inode_count(), count.saturating_sub(inodes).to_le_bytes());
    }
    let done = next.is_none() && some.len() <= AT_ONCE;
    if done {
        batch.delete(keys::taken(slot));
    }
    state.apply(&batch)?;
    Ok(done)
}

/// How many inodes this server counts as its own.
pub fn number_of_inodes(state: &mut State) -> Result<u64, WireError> {
    state.ground.look(None, |change| change.number(&keys::inode_count())).map_err(|fault| match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    })
}

// SPDX-License-Identifier: Apache-2.0

//! Serves slots that came from other servers, from the moment on at which the map says that they are this one's.
//!
//! Failure model: it may be repeated, also after a power cut that took it back: the row of the slot says whether it was done.

use super::clear::number_of_inodes;
use crate::file_locks::FileLocks;
use crate::keys;
use crate::ns::deferred_unlink::HOLDER;
use crate::records::{SessionRecord, TakenRecord};
use crate::sequences;
use crate::server::io::Note;
use crate::server::state::State;
use nyala_kv::Batch;
use nyala_wire::{SessionId, Slot, WireError, codec};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

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
    let count = number_of_inodes(state)?;
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

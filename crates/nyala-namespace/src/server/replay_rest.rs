// SPDX-License-Identifier: Apache-2.0

//! What goes with changes that are done again: files that are open, and truncations that an earlier run left. [`super::replay`] has the
//! failure model.

use super::change_request::ChangeRequest;
use super::io::Note;
use super::state::{Progress, State, Task};
use super::truncation::{Truncation, is_under_way};
use crate::keys;
use crate::records::TruncateRecord;
use nyala_kv::Batch;
use nyala_wire::{InodeId, SessionId};
use std::collections::{BTreeMap, BTreeSet};

/// Notes a file as open that a client has open, if it is not noted. It may be made only by what is done again.
pub fn note_open(state: &mut State, inode: InodeId, session: SessionId) {
    let key = keys::open(inode, session);
    // A table that cannot be read is reported to whoever changes it.
    if state.ground.is_here(inode.slot()) && state.ground.tables.get(&key).is_ok_and(|row| row.is_none()) {
        let mut batch = Batch::new();
        batch.put(key, []);
        apply(state, &batch);
    }
}

/// Takes that back for those that are not there after all.
pub fn forget_open(state: &mut State, open: &BTreeSet<(InodeId, SessionId)>) {
    let mut batch = Batch::new();
    for (inode, session) in open {
        if state.ground.tables.get(&keys::inode(*inode)).is_ok_and(|row| row.is_none()) {
            batch.delete(keys::open(*inode, *session));
        }
    }
    apply(state, &batch);
}

/// A change is done again that was acknowledged. If it was lost, nothing truncated its inode when it was done: a truncation of which the log
/// has the beginning came before, and was over. If it was not, that says nothing of what came later, unless it is that truncation.
pub fn is_over(state: &mut State, change: &ChangeRequest) {
    let Some(inode) = change.locked_inode() else { return };
    let Some(record) = state.replays.truncations.get(&inode) else { return };
    if change.was_there && (record.session, record.sequence) != change.key() {
        return;
    }
    state.replays.truncations.remove(&inode);
    let mut batch = Batch::new();
    batch.delete(keys::truncate(inode));
    apply(state, &batch);
}

fn apply(state: &mut State, batch: &Batch) {
    if let Err(error) = state.apply(batch) {
        state.note(Note::NotForgotten(error));
    }
}

/// Goes on with the truncations that are left of what is served here, once everything is done again, and whenever the map changes. A row
/// of any other slot came with rows that are on their way: whoever serves that slot goes on with it, or has ended it.
pub fn truncate(state: &mut State) {
    if !state.replays.over() {
        return;
    }
    let left = std::mem::take(&mut state.replays.truncations);
    let (here, elsewhere) = left.into_iter().partition(|(inode, _)| state.ground.is_here(inode.slot()));
    state.replays.truncations = elsewhere;
    let here: BTreeMap<InodeId, TruncateRecord> = here;
    for (inode, record) in here {
        // Rows of a slot that came in the meantime are newer.
        if !is_under_way(state, inode) {
            continue;
        }
        match Truncation::lock(state, inode, record, true) {
            Ok(truncation) => state.begin(RecoveredTruncation(truncation)),
            Err(error) => state.note(Note::TruncationFailed(inode, error)),
        }
    }
}

/// A truncation that an earlier run left.
struct RecoveredTruncation(Truncation);

impl Task for RecoveredTruncation {
    fn step(&mut self, state: &mut State) -> Progress {
        match self.0.advance(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => {}
            Err(error) => state.note(Note::TruncationFailed(self.0.inode, error)),
        }
        Progress::Done
    }
}

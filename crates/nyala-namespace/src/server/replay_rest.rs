// SPDX-License-Identifier: Apache-2.0

//! What goes with changes that are done again: files that are open, and truncations that an earlier run left. [`super::replay`] has the
//! failure model.

use super::io::Note;
use super::state::{Progress, State, Task};
use super::truncation::Truncation;
use crate::keys;
use nyala_kv::Batch;
use nyala_wire::{InodeId, SessionId};
use std::collections::BTreeSet;

/// Notes files as open that clients have open and that are not noted; those stay in the list.
pub fn note_open(state: &mut State, open: &mut BTreeSet<(InodeId, SessionId)>) {
    let mut batch = Batch::new();
    open.retain(|(inode, session)| {
        // A table that cannot be read is reported to whoever changes it.
        let key = keys::open(*inode, *session);
        let missing =
            state.ground.is_here(inode.slot()) && state.ground.tables.get(&key).is_ok_and(|row| row.is_none());
        if missing {
            batch.put(key, []);
        }
        missing
    });
    apply(state, &batch);
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

/// A change that was acknowledged while nothing truncated its inode: what an earlier run left of a truncation before is over.
pub fn is_over(state: &mut State, inode: Option<InodeId>) {
    let Some(inode) = inode.filter(|inode| state.replays.truncations.remove(inode).is_some()) else { return };
    let mut batch = Batch::new();
    batch.delete(keys::truncate(inode));
    apply(state, &batch);
}

fn apply(state: &mut State, batch: &Batch) {
    if let Err(error) = state.apply(batch) {
        state.note(Note::NotForgotten(error));
    }
}

/// Goes on with the truncations that are left.
pub fn truncate(state: &mut State) {
    for (inode, record) in std::mem::take(&mut state.replays.truncations) {
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

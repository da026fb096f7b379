// SPDX-License-Identifier: Apache-2.0

//! Removes what renames replaced, a moment later ([`crate::ns::deferred_unlink`]).
//!
//! Failure model: this server may stop at any time; what it held is in the tables, and its moment begins anew. A client may
//! have opened such a file under a delegation and not have said so: it is asked, like before every removal. One that does not
//! answer holds up only that file, until its session ends.

use super::backoff::look_again;
use super::io::Note;
use super::recall::Recall;
use super::room_gate::RoomGate;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::change::Fault;
use crate::delegations::Need;
use crate::ns::deferred_unlink::{HOLDER, let_go};
use nyala_wire::{InodeId, WireError};
use std::collections::BTreeSet;

/// A file stays for one to two of these, milliseconds.
const MOMENT_MS: u64 = 1_000;

/// Looks for files whose moment is over. Never ends.
#[derive(Default)]
pub struct DeferredUnlinks {
    before: BTreeSet<InodeId>,
    due_ms: Option<u64>,
}

impl Task for DeferredUnlinks {
    fn step(&mut self, state: &mut State) -> Progress {
        let due = self.due_ms.is_some_and(|due_ms| state.now.ms >= due_ms);
        if due && state.now.serving && state.delegations.are_bounded() {
            // What cannot be read now is tried again at the next look.
            let held = state.ground.tables.deferred().unwrap_or_default();
            for &inode in
                held.intersection(&self.before).filter(|inode| state.ground.is_here(inode.slot())).collect::<Vec<_>>()
            {
                if state.unlinking.insert(inode) {
                    // Each on its own: one may have to wait for a client or a transaction.
                    state.begin(Unlink { inode, recall: Recall::new(HOLDER), gate: RoomGate::default() });
                }
            }
            self.before = held;
        }
        let due_ms = state.now.ms + MOMENT_MS;
        self.due_ms = Some(due_ms);
        Progress::Wait(Wait::until(due_ms))
    }
}

/// Removes one, unless it is open.
struct Unlink {
    inode: InodeId,
    recall: Recall,
    gate: RoomGate,
}

impl Task for Unlink {
    fn step(&mut self, state: &mut State) -> Progress {
        match self.attempt(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => {}
            Err(error) => state.note(Note::DeferredUnlinkFailed(self.inode, error)),
        }
        self.recall.end(state);
        state.unlinking.remove(&self.inode);
        Progress::Done
    }
}

impl Unlink {
    fn attempt(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        if self.gate.pass(state, None).is_none() {
            return Ok(Some(Wait::COMPLETION));
        }
        self.gate = RoomGate::default();
        let inode = self.inode;
        if !state.ground.is_here(inode.slot()) {
            return Ok(None);
        }
        let changed = state.ground.look(None, |mut change| {
            let_go(&mut change, inode)?;
            let gone = change.destroyed();
            Ok((gone, change.finish()))
        });
        match changed {
            // Also when somebody has it open: others may have it so under a delegation, and would not be asked later.
            Ok((gone, batch)) if self.recall.clear(state, &[inode], Need::Remove) => {
                state.apply(&batch)?;
                gone.iter().for_each(|inode| state.delegations.end_inode(*inode));
                Ok(None)
            }
            Ok(_) => Ok(Some(look_again(Event::Delegations, state.now.ms))),
            Err(Fault::Refused(error)) => Err(error),
            Err(_) => Ok(Some(look_again(Event::Released, state.now.ms))),
        }
    }
}

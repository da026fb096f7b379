// SPDX-License-Identifier: Apache-2.0

//! Buffering a part of a write: it becomes dirty data of the file.
//!
//! **Failure model.** A part is buffered as a whole or not at all. What was accepted under a session that has ended since is
//! refused.

use crate::error::{Error, Result};
use crate::file::state::content::Content;
use crate::file::state::{File, stripe_writes};
use crate::rpc::bound::Bound;
use crate::writeback::owner::Writeback;
use nyala_transport::wall_clock;
use nyala_wire::{ErrorCode, SessionId};
use std::sync::Arc;

/// A part of a write: `room` bytes of the budget are taken for it.
#[derive(Clone, Copy)]
pub(crate) struct WritePart<'a> {
    pub(crate) at: u64,
    pub(crate) data: &'a [u8],
    pub(crate) room: usize,
    pub(crate) session: SessionId,
}

/// The file's data has to be moved back first (`file::write`).
pub(crate) fn encoded() -> Error {
    Error::refused(ErrorCode::NOT_SUPPORTED, "the file is encoded, and was not moved back before it was written to")
}

impl Writeback {
    /// Buffers a piece, moving inline content to storage if it does not fit there. `None`: that was not expected when
    /// `room` was taken; look again. Else how many of the `room` bytes are in use now.
    pub(crate) fn buffer(self: &Arc<Writeback>, file: &Arc<File>, part: WritePart<'_>) -> Result<Option<usize>> {
        let WritePart { at, data, room, session } = part;
        let end = at + data.len() as u64;
        let now_ms = self.ctx.now_ms();
        let mut state = file.state.lock();
        if state.session() != session {
            return Err(Bound::new(file.inode, session).lost());
        }
        if !stripe_writes::accepts(&state, at) {
            return Err(encoded());
        }
        if !state.pending_attrs().is_settled() {
            // What was set goes out first: a write changes the time that was set, and may move the content to storage.
            return Ok(None);
        }
        let before = state.written().dirty().bytes();
        let stamp = state.written_mut().stamp();
        let migrates = match state.content() {
            Content::Inline { data, .. } if end > state.inline_limit() => Some(data.clone()),
            _ => None,
        };
        if let Some(base) = migrates {
            if data.len() + base.len() > room {
                return Ok(None);
            }
            state.begin_migration();
            state.written_mut().insert_under(0, &base, now_ms, stamp);
        }
        state.written_mut().insert(at, data, now_ms, stamp);
        if let Some(migration) = state.migration_mut() {
            migration.note_write(at..end);
        }
        state.note_write(at..end, wall_clock());
        let newly_active = state.activate();
        let used = state.written().dirty().bytes() - before;
        drop(state);
        if newly_active {
            self.files.activate(file);
        }
        Ok(Some(used))
    }
}

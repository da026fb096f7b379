// SPDX-License-Identifier: Apache-2.0

//! Buffering a part of a write: it becomes dirty data of the file.
//!
//! **Failure model.** A part is buffered as a whole or not at all. What was accepted under a session that has ended since is
//! refused.

use crate::error::Result;
use crate::file::state::{Content, File, InlineMigration};
use crate::rpc::bound::Bound;
use crate::types::wall_clock;
use crate::writeback::logic::ranges::RangeSet;
use crate::writeback::owner::Writeback;
use nyala_wire::SessionId;
use std::sync::Arc;

/// A part of a write: `room` bytes of the budget are taken for it.
#[derive(Clone, Copy)]
pub(crate) struct WritePart<'a> {
    pub(crate) at: u64,
    pub(crate) data: &'a [u8],
    pub(crate) room: usize,
    pub(crate) session: SessionId,
}

impl Writeback {
    /// Buffers a piece, moving inline content to storage if it does not fit there. `None`: that was not expected when
    /// `room` was taken; look again. Else how many of the `room` bytes are in use now.
    pub(crate) fn buffer(self: &Arc<Writeback>, file: &Arc<File>, part: WritePart<'_>) -> Result<Option<usize>> {
        let WritePart { at, data, room, session } = part;
        let end = at + data.len() as u64;
        let now_ms = self.ctx.now_ms();
        let mut state = file.state.lock();
        if state.session != session {
            return Err(Bound::new(file.inode, session).lost());
        }
        let before = state.written.dirty().bytes();
        let stamp = state.written.stamp();
        let migration = match &state.content {
            Content::Inline { version, data: base } if end > state.inline_limit => Some((*version, base.clone())),
            _ => None,
        };
        if let Some((version, base)) = migration {
            if data.len() + base.len() > room {
                return Ok(None);
            }
            let mut own = RangeSet::default();
            state.written.dirty().iter().for_each(|extent| own.insert(extent.range()));
            state.written.insert_under(0, &base, now_ms, stamp);
            state.content = Content::Striped;
            state.migration = Some(InlineMigration { version, base_len: base.len() as u64, own, failed: false });
        }
        state.written.insert(at, data, now_ms, stamp);
        if let Some(migration) = &mut state.migration {
            migration.own.insert(at..end);
        }
        state.cache.remove(at..end);
        let gap = at > state.size;
        state.commit.note_usage(gap);
        state.size = state.size.max(end);
        state.written.wrote_upto(end, wall_clock());
        let newly_active = !std::mem::replace(&mut state.active, true);
        let used = state.written.dirty().bytes() - before;
        drop(state);
        if newly_active {
            self.files.activate(file);
        }
        Ok(Some(used))
    }
}

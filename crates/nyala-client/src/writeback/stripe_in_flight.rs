// SPDX-License-Identifier: Apache-2.0

//! A stripe on its way to storage.
//!
//! **Failure model.** One that fails, or whose runtime is dropped under it, is dirty again, as is every later one: what counts as stored has no gap.

use crate::context::Hold;
use crate::error::Result;
use crate::file::state::stripes::Stripes;
use crate::file::state::{File, FileState};
use crate::writeback::owner::Writeback;
use nyala_wire::storage::WriteVerifier;
use nyala_wire::{InodeId, SessionId};
use std::sync::Arc;

pub(crate) struct StripeInFlight {
    writeback: Arc<Writeback>,
    file: Arc<File>,
    /// Of its first extent.
    id: u64,
    /// Under which the bytes were accepted.
    session: SessionId,
    bytes: usize,
    done: bool,
    _client: Option<Hold>,
}

impl StripeInFlight {
    /// A stripe has departed.
    pub(super) fn begin(
        writeback: &Arc<Writeback>,
        file: &Arc<File>,
        id: u64,
        session: SessionId,
        bytes: usize,
    ) -> StripeInFlight {
        writeback.memory.begin_send(bytes);
        let client = writeback.ctx.hold();
        StripeInFlight {
            writeback: writeback.clone(),
            file: file.clone(),
            id,
            session,
            bytes,
            done: false,
            _client: client,
        }
    }

    pub(super) fn writeback(&self) -> &Arc<Writeback> {
        &self.writeback
    }

    pub(super) fn inode(&self) -> InodeId {
        self.file.inode
    }

    pub(super) fn session(&self) -> SessionId {
        self.session
    }

    /// Those that it is one of, unless they were dropped since.
    fn stripes<'a>(&self, state: &'a mut FileState) -> Option<&'a mut Stripes> {
        state.stripes_mut().writing_mut().filter(|stripes| stripes.has(self.id))
    }

    /// A target has a part of it.
    pub(super) fn stored(&self, index: u16, verifier: WriteVerifier) {
        let mut state = self.file.state.lock();
        if let Some(stripes) = self.stripes(&mut state) {
            stripes.record_write(index, verifier);
        }
    }

    pub(super) fn finish(mut self, written: Result<()>) {
        self.done = true;
        let failed = {
            let mut state = self.file.state.lock();
            if let Err(error) = &written {
                tracing::warn!(inode = %self.file.inode, %error, "a stripe was not written; the file is mirrored instead");
                if let Some(stripes) = self.stripes(&mut state) {
                    stripes.failed();
                }
            }
            self.end(&mut state);
            state.stripes().has_failed()
        };
        match failed {
            true => self.writeback.flush_in_background(self.file.clone()),
            false => self.writeback.pump(&self.file),
        }
        self.file.changed.notify_waiters();
    }

    /// It has ended: what is there counts, or is dirty again.
    fn end(&self, state: &mut FileState) {
        self.writeback.memory.end_send(self.bytes);
        let Some(stripes) = self.stripes(state) else { return };
        if stripes.has_failed() {
            stripes.taken_back(self.id).into_iter().for_each(|id| state.written_mut().take_back(id));
            return;
        }
        let (range, extents) = stripes.landed(self.id);
        if range.is_empty() {
            return;
        }
        self.writeback.with_bytes(state, |state| {
            for id in extents {
                // why ignored: its range is a part of the stripe's.
                let _ = state.written_mut().end_flight(id);
            }
        });
        state.commit_mut().add(range.end, self.writeback.ctx.now_ms());
        // What was read ahead before it arrived has zeros.
        state.cache_mut().remove(range);
    }
}

impl Drop for StripeInFlight {
    fn drop(&mut self) {
        if !self.done {
            let mut state = self.file.state.lock();
            if let Some(stripes) = self.stripes(&mut state) {
                stripes.failed();
            }
            self.end(&mut state);
            drop(state);
            self.file.changed.notify_waiters();
        }
    }
}

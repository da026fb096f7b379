// SPDX-License-Identifier: Apache-2.0

//! Written data on its way to storage.
//!
//! **Failure model.** A write may be lost, done and not acknowledged, or refused; it is repeated until it works or
//! `retry_timeout` has passed, and meanwhile its bytes stay readable here. Two writes that overlap are never under way
//! at once, so a repeated old one cannot undo a newer one. A write that failed for good is kept as a failure of the file
//! for every handle to report; the other writes go on. A runtime that is dropped under a write gives the bytes back.

use crate::context::Hold;
use crate::error::{Error, Result};
use crate::file::state::written::Departing;
use crate::file::state::{File, FileState};
use crate::rpc::storage::ChunkRange;
use crate::writeback::owner::Writeback;
use crate::writeback::whole_stripes;
use bytes::Bytes;
use nyala_transport::trace::{carried, under};
use nyala_wire::SessionId;
use nyala_wire::storage::WriteVerifier;
use std::ops::Range;
use std::sync::Arc;

/// Storage writes under way for one file.
const WRITES_PER_FILE: usize = 128;
/// When that many are under way, the next ones go together once so many have ended: looking for what is due takes time, and what
/// goes together is received together.
const SEND_BATCH: usize = 16;

impl Writeback {
    /// Sends off what is due of a striped file. Does not wait.
    pub(crate) fn pump(self: &Arc<Writeback>, file: &Arc<File>) {
        self.pump_for(file, false);
    }

    /// The same; `flushing`: somebody waits for all of it.
    fn pump_for(self: &Arc<Writeback>, file: &Arc<File>, flushing: bool) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let max_age_ms = self.ctx.config.max_dirty_age.as_millis() as u64;
        let old = self.ctx.now_ms().checked_sub(max_age_ms);
        if whole_stripes::pump(self, file, old, flushing) {
            return;
        }
        let mut sends = Vec::new();
        {
            let mut state = file.state.lock();
            let Some(layout) = state.layout().cloned().filter(|_| !state.is_inline()) else { return };
            let room = WRITES_PER_FILE.saturating_sub(state.written().in_flight().len());
            for offset in state.written_mut().pick_due(old, room) {
                let Some(Departing { id, offset, data, in_pieces }) = state.written_mut().depart(offset) else {
                    continue;
                };
                assert!(layout.encoded().is_none(), "encoded data is written in whole stripes");
                let (len, session) = (data.len(), state.session());
                self.memory.begin_send(len);
                let (writeback, sent, client) = (self.clone(), file.clone(), self.ctx.hold());
                let sending = Sending { writeback, file: sent, id, session, flying: len, done: false, _client: client };
                // Extents lie within one unit, and so within one chunk.
                if let Some(piece) = layout.extents(offset, len as u64).next() {
                    let location = layout.location(piece.index);
                    let chunk =
                        ChunkRange { inode: file.inode, location, index: piece.index, offset: piece.chunk_offset };
                    sends.push((sending, chunk, data, in_pieces));
                }
            }
        }
        for (sending, chunk, data, in_pieces) in sends {
            let elsewhere = if in_pieces { self.send_thread.runtime() } else { None };
            elsewhere.unwrap_or(&runtime).spawn(carried(under(), send(sending, chunk, data)));
        }
    }

    /// Sends off what is due after bytes were written to `range`; cheap while nothing is.
    pub(crate) fn pump_written(self: &Arc<Writeback>, file: &Arc<File>, range: Range<u64>) {
        let due = {
            let mut state = file.state.lock();
            let full = state.written().dirty().overlapping(range).any(|extent| extent.complete);
            if full {
                state.written_mut().filled(self.ctx.now_ms());
            }
            full
        };
        if due {
            self.pump(file);
        }
    }

    /// Waits until everything written so far is on storage, or has failed.
    pub(crate) async fn drain(self: &Arc<Writeback>, file: &Arc<File>) {
        let upto = file.state.lock().written_mut().flush_all();
        loop {
            let changed = file.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            self.pump_for(file, true);
            {
                let state = file.state.lock();
                let stripes = state.stripes().writing().filter(|stripes| stripes.has_failed());
                // They have to be moved back before anything goes out.
                let stuck = stripes.is_some_and(|stripes| !stripes.is_any_under_way());
                if stuck || !state.written().holds_upto(upto) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Gives the budget back what `change` took out of the file's dirty bytes and those on their way.
    pub(crate) fn with_bytes<T>(&self, state: &mut FileState, change: impl FnOnce(&mut FileState) -> T) -> T {
        let before = state.written().bytes();
        let result = change(state);
        self.memory.give_back(before.saturating_sub(state.written().bytes()));
        result
    }
}

/// A write under way; its bytes become dirty again if it is dropped unfinished.
struct Sending {
    writeback: Arc<Writeback>,
    file: Arc<File>,
    id: u64,
    /// Under which the bytes were accepted.
    session: SessionId,
    flying: usize,
    done: bool,
    _client: Option<Hold>,
}

async fn send(mut sending: Sending, chunk: ChunkRange, data: Bytes) {
    let result = sending.writeback.cluster.write_bulk(chunk, data, sending.session).await;
    sending.finish(chunk, result);
}

impl Sending {
    fn land(&mut self) {
        self.writeback.memory.end_send(std::mem::take(&mut self.flying));
    }

    fn finish(&mut self, chunk: ChunkRange, result: Result<WriteVerifier>) {
        self.done = true;
        self.land();
        let mut failed = None;
        let more = {
            let mut state = self.file.state.lock();
            let ended = self.writeback.with_bytes(&mut state, |state| state.written_mut().end_flight(self.id));
            let Some(range) = ended else { return };
            let awaited = state.written().dirty().overlapping(range.clone()).next().is_some();
            match result {
                Ok(verifier) => {
                    let now_ms = self.writeback.ctx.now_ms();
                    state.commit_mut().add(range.end, now_ms);
                    self.writeback.stored(&mut state, chunk.inode, chunk.index, verifier);
                    // A segment that was read ahead before the write arrived there holds the old bytes.
                    state.cache_mut().remove(range);
                }
                Err(error) => {
                    if let Some(migration) = state.migration_mut() {
                        migration.note_failed(range.start);
                    }
                    if state.is_clean() {
                        // What the file's size is without these bytes, only the server can say.
                        state.settle();
                        state.attrs_mut().invalidate();
                    }
                    let source = Box::new(error);
                    failed = Some(Error::WriteBack { inode: chunk.inode, offset: range.start, end: range.end, source });
                }
            }
            state.written().is_blocked()
                && (awaited || state.written().in_flight().len() + SEND_BATCH <= WRITES_PER_FILE)
        };
        if let Some(error) = failed {
            self.file.fail(error);
        }
        if more {
            self.writeback.pump(&self.file);
        }
        self.file.changed.notify_waiters();
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.land();
        if !self.done {
            let mut state = self.file.state.lock();
            self.writeback.with_bytes(&mut state, |state| state.written_mut().take_back(self.id));
            drop(state);
            self.file.changed.notify_waiters();
        }
    }
}

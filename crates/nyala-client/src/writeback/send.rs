// SPDX-License-Identifier: Apache-2.0

//! Written data on its way to storage.
//!
//! **Failure model.** A write may be lost, done and not acknowledged, or refused; it is repeated until it works or
//! `retry_timeout` has passed, and meanwhile its bytes stay readable here. Two writes that overlap are never under way
//! at once, so a repeated old one cannot undo a newer one. A write that failed for good is kept as a failure of the file
//! for every handle to report; the other writes go on. A runtime that is dropped under a write gives the bytes back.

use crate::context::Hold;
use crate::error::{Error, Result};
use crate::file::state::{File, FileState, Uncommitted};
use crate::rpc::storage::ChunkRange;
use crate::writeback::owner::Writeback;
use bytes::Bytes;
use nyala_wire::SessionId;
use nyala_wire::storage::WriteVerifier;
use std::ops::Range;
use std::sync::Arc;

/// Storage writes under way for one file.
const WRITES_PER_FILE: usize = 128;
/// When that many are under way, the next ones go together once so many have ended: looking for what is due takes time, and what
/// goes together is received together.
const SEND_BATCH: usize = 16;

/// Which extents should go out?
#[derive(Clone, Copy)]
struct Due {
    now_ms: u64,
    max_age_ms: u64,
}

impl Due {
    /// Offsets of the extents to send now, as many as may be under way. Notes whether more would be due.
    fn pick(self, state: &mut FileState) -> Vec<u64> {
        let mut room = WRITES_PER_FILE.saturating_sub(state.in_flight.len());
        let mut picked = Vec::new();
        let mut blocked = false;
        for extent in state.dirty.iter() {
            let old = self.now_ms.saturating_sub(extent.born_ms) >= self.max_age_ms;
            let wanted = old || extent.hurried || extent.stamp <= state.flush_upto || extent.complete;
            if !wanted {
                continue;
            }
            let range = extent.range();
            if room == 0 || state.in_flight.iter().any(|f| f.offset < range.end && f.range().end > range.start) {
                blocked = true;
                if room == 0 {
                    break;
                }
                continue;
            }
            room -= 1;
            picked.push(extent.offset);
        }
        state.blocked = blocked;
        picked
    }
}

impl Writeback {
    /// Sends off what is due of a striped file. Does not wait.
    pub(crate) fn pump(self: &Arc<Writeback>, file: &Arc<File>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let due = Due { now_ms: self.ctx.now_ms(), max_age_ms: self.ctx.config.max_dirty_age.as_millis() as u64 };
        let mut sends = Vec::new();
        {
            let mut state = file.state.lock();
            let Some(layout) = state.layout.clone().filter(|_| !state.is_inline()) else { return };
            for offset in due.pick(&mut state) {
                let Some(extent) = state.dirty.take(offset) else { continue };
                let (offset, len) = (extent.offset, extent.data.len() as u64);
                let together = extent.in_pieces;
                let (id, data) = state.send_off(extent);
                self.memory.begin_send(data.len());
                let session = state.session;
                let (writeback, sent, flying) = (self.clone(), file.clone(), data.len());
                let sending =
                    Sending { writeback, file: sent, id, session, flying, done: false, _client: self.ctx.hold() };
                // Extents lie within one unit, and so within one chunk.
                if let Some(piece) = layout.extents(offset, len).next() {
                    let home = layout.home(piece.index);
                    let chunk = ChunkRange { inode: file.inode, home, index: piece.index, offset: piece.chunk_offset };
                    sends.push((sending, chunk, data, together));
                }
            }
        }
        for (sending, chunk, data, together) in sends {
            let elsewhere = if together { self.send_thread.runtime() } else { None };
            elsewhere.unwrap_or(&runtime).spawn(send(sending, chunk, data));
        }
    }

    /// Sends off what is due after bytes were written to `range`; cheap while nothing is.
    pub(crate) fn pump_written(self: &Arc<Writeback>, file: &Arc<File>, range: Range<u64>) {
        let due = {
            let mut state = file.state.lock();
            let full = state.dirty.overlapping(range).any(|extent| extent.complete);
            if full {
                state.filled_ms = self.ctx.now_ms();
            }
            full
        };
        if due {
            self.pump(file);
        }
    }

    /// Waits until everything written so far is on storage, or has failed.
    pub(crate) async fn drain(self: &Arc<Writeback>, file: &Arc<File>) {
        let upto = {
            let mut state = file.state.lock();
            state.flush_upto = state.next_stamp;
            state.next_stamp += 1;
            state.flush_upto
        };
        loop {
            let changed = file.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            self.pump(file);
            {
                let state = file.state.lock();
                let waiting = state.dirty.iter().any(|extent| extent.stamp <= upto);
                if !waiting && !state.in_flight.iter().any(|flying| flying.stamp <= upto) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Gives the budget back what `change` took out of the file's dirty bytes and those on their way.
    pub(crate) fn with_bytes<T>(&self, state: &mut FileState, change: impl FnOnce(&mut FileState) -> T) -> T {
        let held =
            |state: &FileState| state.dirty.bytes() + state.in_flight.iter().map(|f| f.data.len()).sum::<usize>();
        let before = held(state);
        let result = change(state);
        self.memory.give_back(before.saturating_sub(held(state)));
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
            let Some(at) = state.in_flight.iter().position(|flying| flying.id == self.id) else { return };
            let range = state.in_flight[at].range();
            let awaited = state.dirty.overlapping(range.clone()).next().is_some();
            self.writeback.with_bytes(&mut state, |state| drop(state.in_flight.swap_remove(at)));
            match result {
                Ok(verifier) => {
                    let now_ms = self.writeback.ctx.now_ms();
                    let uncommitted = state.uncommitted.get_or_insert(Uncommitted { end: 0, since_ms: now_ms });
                    uncommitted.end = uncommitted.end.max(range.end);
                    self.writeback.stored(&mut state, chunk.inode, chunk.index, verifier);
                    // A segment that was read ahead before the write arrived there holds the old bytes.
                    state.cache.remove(range);
                }
                Err(error) => {
                    if let Some(migration) = &mut state.migration {
                        migration.failed |= range.start < migration.base_len;
                    }
                    if state.is_clean() {
                        // What the file's size is without these bytes, only the server can say.
                        state.settle();
                        state.attr_ms = 0;
                    }
                    let source = Box::new(error);
                    failed = Some(Error::WriteBack { inode: chunk.inode, offset: range.start, end: range.end, source });
                }
            }
            state.blocked && (awaited || state.in_flight.len() + SEND_BATCH <= WRITES_PER_FILE)
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
            self.writeback.with_bytes(&mut state, |state| state.take_back(self.id));
            drop(state);
            self.file.changed.notify_waiters();
        }
    }
}

impl FileState {
    /// Bytes that were on their way are dirty again, under what was written since.
    pub(crate) fn take_back(&mut self, id: u64) {
        if let Some(at) = self.in_flight.iter().position(|flying| flying.id == id) {
            let flying = self.in_flight.swap_remove(at);
            self.dirty.insert_under(flying.offset, &flying.data, flying.born_ms, flying.stamp);
        }
    }
}

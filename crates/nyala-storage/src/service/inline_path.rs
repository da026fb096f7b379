// SPDX-License-Identifier: Apache-2.0

//! Reads and small writes that need no other thread: one wake-up costs more than the operation itself.
//!
//! Writes that came together, from whatever connection of the thread, are done together, since they then share the trips
//! to the log.
//!
//! **Failure model.** What would wait for a disk goes to the worker threads instead (see
//! [`crate::chunk_store::ChunkWorker::write_optimistically`]). Still, a file system may make a writer wait: a target
//! that did is left to the worker threads for a while, so that one slow disk does not stop the connections of all.

use super::queue::{Outcome, Task};
use super::read_reply::Found;
use super::ring_reads::RingReads;
use super::stalls::{Stalls, key};
use super::target::Target;
use crate::chunk_store::{SMALL_BYTES, WriteOp, Written};
use nyala_wire::WireError;
use nyala_wire::storage::ChunkFileId;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Writes that are done in one go.
const MAX_BATCH: usize = 64;
/// Of this many reads that the page cache did not have, one is tried there first.
const TRY_ONE_OF: u32 = 16;

/// A write by the worker's own thread. What is rare is boxed, here and elsewhere on the way of a request: its future is moved and
/// allocated whole for every request, the short ones too.
pub(super) async fn by_worker(target: &Arc<Target>, op: WriteOp) -> Result<(), WireError> {
    Box::pin(target.call(Task::Write(op))).await.map(drop)
}

/// What one connection thread does by itself.
#[derive(Default)]
pub(super) struct InlinePath {
    writes: RefCell<HashMap<(usize, usize), Vec<Waiting>>>,
    pub(super) stalls: Stalls,
    /// Reads in a row that were not in the page cache.
    misses: Cell<u32>,
    ring: OnceCell<Option<Rc<RingReads>>>,
}

type Waiting = (WriteOp, oneshot::Sender<Written>);

impl InlinePath {
    /// A write: here, if it is short, else by a worker.
    pub async fn write(&self, target: &Arc<Target>, op: WriteOp) -> Result<(), WireError> {
        if !target.is_short(&op) || self.stalls.has(target) {
            return by_worker(target, op).await;
        }
        if op.data.len() >= SMALL_BYTES {
            return match self.write_now(target, op.file, vec![op]).pop() {
                Some(Written::NotYet(op)) => by_worker(target, op).await,
                Some(Written::Done(result)) => Ok(result?),
                None => Err(super::queue::mistake()),
            };
        }
        let batch = (key(target), target.shard_number(op.file));
        let file = op.file;
        let (report, done) = oneshot::channel();
        let leads = {
            let mut writes = self.writes.borrow_mut();
            let waiting = writes.entry(batch).or_default();
            waiting.push((op, report));
            waiting.len() == 1
        };
        if leads {
            // Those that arrived with it join first.
            tokio::task::yield_now().await;
            self.write_waiting(target, file, batch);
        }
        match done.await {
            Ok(Written::Done(result)) => Ok(result?),
            Ok(Written::NotYet(op)) => by_worker(target, op).await,
            // Only when the thread ends.
            Err(_) => Err(super::queue::stopping()),
        }
    }

    fn write_waiting(&self, target: &Arc<Target>, file: ChunkFileId, batch: (usize, usize)) {
        let mut waiting = self.writes.borrow_mut().get_mut(&batch).map(std::mem::take).unwrap_or_default();
        while !waiting.is_empty() {
            let rest = waiting.split_off(waiting.len().min(MAX_BATCH));
            let (ops, reports): (Vec<_>, Vec<_>) = std::mem::replace(&mut waiting, rest).into_iter().unzip();
            let written = self.write_now(target, file, ops);
            for (report, written) in reports.into_iter().zip(written) {
                // An error means that nobody waits any more.
                let _ = report.send(written);
            }
        }
    }

    pub(super) fn write_now(&self, target: &Arc<Target>, file: ChunkFileId, ops: Vec<WriteOp>) -> Vec<Written> {
        let started = Instant::now();
        let written = match target.try_worker(file) {
            Some(mut worker) => worker.write_optimistically(ops),
            None => ops.into_iter().map(Written::NotYet).collect(),
        };
        self.stalls.took(target, started.elapsed());
        written
    }

    /// A read without its checksums being compared here.
    pub async fn read(
        &self,
        target: &Arc<Target>,
        file: ChunkFileId,
        offset: u64,
        len: u32,
    ) -> Result<Found, WireError> {
        if let Some(found) = self.read_here(target, file, offset, len).await {
            return Ok(found);
        }
        match Box::pin(target.call(Task::Read { file, offset, len, verify: false })).await? {
            Outcome::Read(out) => Ok(Found::Copied(out)),
            _ => Err(super::queue::mistake()),
        }
    }

    async fn read_here(&self, target: &Arc<Target>, file: ChunkFileId, offset: u64, len: u32) -> Option<Found> {
        let read = target.try_worker(file)?.optimistic_read(file, offset, len)?;
        if let Some(here) = read.zero_copy() {
            return Some(Found::ZeroCopyRead(here));
        }
        let mut buffer = read.buffer();
        let Some(handle) = read.handle().cloned() else { return read.finish(buffer).map(Found::Copied) };
        if !buffer.is_large() {
            let looks = self.misses.get().is_multiple_of(TRY_ONE_OF);
            let cached = if looks { handle.read_cached(&mut buffer, read.start()).ok()? } else { None };
            if let Some(n) = cached {
                self.misses.set(0);
                buffer.truncate(n);
                return read.finish(buffer).map(Found::Copied);
            }
            self.misses.set(self.misses.get().wrapping_add(1));
        }
        let ring = self.ring.get_or_init(RingReads::start).as_ref()?;
        let running = target.store.recent().reads.begin(Instant::now());
        let buffer = Box::pin(ring.read(&handle, buffer, read.start())).await?;
        running.end(Instant::now(), 1);
        read.finish(buffer).map(Found::Copied)
    }
}

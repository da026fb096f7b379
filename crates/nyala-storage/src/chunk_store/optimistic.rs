// SPDX-License-Identifier: Apache-2.0

//! Operations on the thread of a connection, which must not wait for a disk: what can be done at once, and reads whose
//! data comes by itself.
//!
//! **Failure model.** See the parent module; here a worker only says no to whatever could block: files that are not open,
//! flags that are not on disk yet, old bytes that are not in memory, a log that is too far ahead, a fence that waits. The
//! caller then goes the long way, which gives the same result. Reads go on after the worker was let go: changes that
//! came in between are noticed, and the long way taken.

use super::changes::Changes;
use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::read::ReadOut;
use super::read_plan::ReadPlan;
use super::shared::{ChunkStore, Shared};
use super::worker::ChunkWorker;
use super::write::WriteOp;
use nyala_transport::buffers::{Buffer, LARGE};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use std::sync::Arc;

/// Writes from this length on are left to the workers, bytes; not those into memory.
pub const SMALL_BYTES: usize = LARGE;

/// A read whose data may come from anywhere.
pub struct OptimisticRead {
    pub(super) plan: ReadPlan,
    pub(super) shared: Arc<Shared>,
    changes: Arc<Changes>,
    seen: u64,
}

/// What became of a write that should not wait.
pub enum Written {
    /// Done, or failed.
    Done(Result<(), ChunkError>),
    /// It would have to wait.
    NotYet(WriteOp),
}

impl OptimisticRead {
    /// A buffer for the data.
    pub fn buffer(&self) -> Buffer {
        self.shared.buffers.take(self.plan.there)
    }

    /// Where the data starts in the chunk file, bytes.
    pub fn start(&self) -> u64 {
        self.plan.start()
    }

    /// The chunk file; `None` if there is nothing to read.
    pub fn handle(&self) -> Option<&Arc<dyn ChunkFile>> {
        self.plan.handle.as_ref().filter(|_| self.plan.there > 0)
    }

    /// Takes the data in; `None` if the file has changed, or the data is not what it should be, so that the worker has to
    /// look at it.
    pub fn finish(mut self, data: Buffer) -> Option<ReadOut> {
        let whole = self.plan.ends_with(&self.shared, data.len());
        if !whole || self.changes.seen(self.plan.file) != self.seen {
            return None;
        }
        let out = self.plan.finish(&self.shared, data, false).ok()?;
        self.shared.counters.add(Count::WithoutWorker, 1);
        Some(out)
    }
}

impl ChunkWorker {
    /// Works a read out without waiting; `None` if that is not possible.
    pub fn optimistic_read(&mut self, file: ChunkFileId, offset: u64, len: u32) -> Option<OptimisticRead> {
        if self.check_read(file, offset, len).is_err() || self.unresolved.contains(&file) {
            return None;
        }
        let handle = self.already_open(file)?;
        let seen = self.changes.seen(file);
        let plan = self.plan_read(file, Some(handle), offset, len, false).ok().filter(|plan| plan.lost.is_none())?;
        Some(OptimisticRead { plan, shared: self.shared.clone(), changes: self.changes.clone(), seen })
    }

    /// Does those of the writes that need not wait for a disk, and says how each of them went.
    pub fn write_optimistically(&mut self, ops: Vec<WriteOp>) -> Vec<Written> {
        let shared = self.shared.clone();
        let fences = shared.fences.try_read().filter(|_| shared.kv.has_room());
        let Some(fences) = fences else { return ops.into_iter().map(Written::NotYet).collect() };
        let (mut ready, mut how) = (Vec::with_capacity(ops.len()), Vec::with_capacity(ops.len()));
        for op in ops {
            match self.is_ready(&op) {
                true => {
                    ready.push(op);
                    how.push(None);
                }
                false => how.push(Some(Written::NotYet(op))),
            }
        }
        let results = self.write_all_of(&ready, &fences);
        shared.counters.add(Count::WithoutWorker, results.len() as u64);
        let mut results = results.into_iter();
        let done = || Written::Done(results.next().unwrap_or(Ok(())));
        fill(how, done)
    }

    fn is_ready(&mut self, op: &WriteOp) -> bool {
        if !self.shared.is_short(op) || self.unresolved.contains(&op.file) {
            return false;
        }
        let flagged = self.dirty.get(&op.file).is_some_and(|d| d.fresh || d.flag <= self.shared.kv.durable());
        let Some(handle) = self.already_open(op.file).filter(|_| flagged) else { return false };
        let end = op.offset.saturating_add(op.data.len() as u64);
        // Blocks that are written in part are read first, if the file has them.
        [op.offset, end].into_iter().filter(|at| !at.is_multiple_of(BLOCK_BYTES)).all(|at| {
            let block = at / BLOCK_BYTES * BLOCK_BYTES;
            handle.is_cached(block, 1) || handle.stat().is_ok_and(|(len, _)| len <= block)
        })
    }
}

impl Shared {
    /// Would the bytes of the write be where they belong without waiting for a disk?
    pub(super) fn is_short(&self, op: &WriteOp) -> bool {
        (op.data.len() < SMALL_BYTES && !self.disk.writes_wait()) || self.disk.is_memory()
    }
}

impl ChunkStore {
    /// May the write be tried at once, on any thread?
    pub fn is_short(&self, op: &WriteOp) -> bool {
        self.shared.is_short(op)
    }
}

fn fill(how: Vec<Option<Written>>, mut done: impl FnMut() -> Written) -> Vec<Written> {
    how.into_iter().map(|how| how.unwrap_or_else(&mut done)).collect()
}

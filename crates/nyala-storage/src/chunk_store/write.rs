// SPDX-License-Identifier: Apache-2.0

//! Writes: several at once, so that they share one trip to the log. Failure model: see the parent module.

use super::MAX_CHUNK_FILE_BYTES;
use super::counters::Count;
use super::disk::write_all;
use super::error::ChunkError;
use super::fence_set::FenceSet;
use super::plan::{Plan, check, plan};
use super::rows::{group_key, tag};
use super::shared::put_row;
use super::worker::{ChunkWorker, Start};
use bytes::Bytes;
use nyala_store::Batch;
use nyala_wire::SessionId;
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES, Stamp, block_pieces, blocks_touched};

/// A write as it came from a client.
#[derive(Debug, Clone)]
pub struct WriteOp {
    /// Whose it is; refused if that was fenced.
    pub session: SessionId,
    /// The chunk file; made if it is missing.
    pub file: ChunkFileId,
    /// Where, bytes.
    pub offset: u64,
    /// What.
    pub data: Bytes,
    /// CRC-32C of each block piece of the data.
    pub crcs: Vec<u32>,
    /// They were compared with the data since that is here, or made from it.
    pub compared: bool,
    /// Which of its client's changes it is.
    pub stamp: Stamp,
}

impl WriteOp {
    /// Refuses what contradicts itself, or is more than a chunk file takes.
    pub fn check(&self) -> Result<(), ChunkError> {
        let len = self.data.len() as u64;
        if len > u64::from(MAX_IO_BYTES) {
            return Err(ChunkError::Invalid("a write has at most 4 MiB"));
        }
        if self.offset.checked_add(len).is_none_or(|end| end > MAX_CHUNK_FILE_BYTES) {
            return Err(ChunkError::TooBig);
        }
        if self.crcs.len() as u64 != blocks_touched(self.offset, len) {
            return Err(ChunkError::Invalid("a write has one checksum for each block that it touches"));
        }
        Ok(())
    }

    /// Compares the checksums with the data, if that is still to be done. Cheapest on the thread that received it. What does not
    /// match is found again, and refused, when it is to be written.
    pub fn compare(&mut self) {
        self.compared |= self.first_damaged().is_none();
    }

    /// The first block piece that does not match its checksum.
    pub fn first_damaged(&self) -> Option<usize> {
        let mut at = 0;
        let pieces = block_pieces(self.offset, self.data.len() as u64);
        pieces.zip(&self.crcs).position(|(len, crc)| {
            at += len;
            crc32c(&self.data[at - len..at]) != *crc
        })
    }

    fn groups(&self) -> (u64, u64) {
        let group_bytes = BLOCK_BYTES * super::rows::GROUP_BLOCKS;
        (self.offset / group_bytes, self.offset.saturating_add(self.data.len() as u64) / group_bytes)
    }

    /// May both be worked out before either is done?
    fn is_independent_of(&self, other: &WriteOp) -> bool {
        let ((a, b), (c, d)) = (self.groups(), other.groups());
        self.file != other.file || b < c || d < a
    }
}

impl ChunkWorker {
    /// Does the writes in order and says how each went. When it returns, what went well survives the death of the process.
    pub fn write_many(&mut self, ops: &[WriteOp]) -> Vec<Result<(), ChunkError>> {
        let shared = self.shared.clone();
        // Held to the end: a session that is fenced meanwhile is answered only then.
        let fences = shared.fences.read();
        self.write_all_of(ops, &fences)
    }

    pub(super) fn write_all_of(&mut self, ops: &[WriteOp], fences: &FenceSet) -> Vec<Result<(), ChunkError>> {
        let mut results = Vec::with_capacity(ops.len());
        let mut rest = ops;
        while !rest.is_empty() {
            let together = (1..rest.len()).find(|&i| !rest[..i].iter().all(|op| op.is_independent_of(&rest[i])));
            let (now, later) = rest.split_at(together.unwrap_or(rest.len()));
            self.write_independent(now, fences, &mut results);
            rest = later;
        }
        results
    }

    /// One write.
    pub fn write(&mut self, op: WriteOp) -> Result<(), ChunkError> {
        self.write_many(std::slice::from_ref(&op)).pop().unwrap_or(Ok(()))
    }

    /// A part of another change, whose session was looked at already.
    pub(super) fn write_own(&mut self, op: WriteOp) -> Result<(), ChunkError> {
        let nobody = FenceSet::default();
        self.write_all_of(std::slice::from_ref(&op), &nobody).pop().unwrap_or(Ok(()))
    }

    fn write_independent(&mut self, ops: &[WriteOp], fences: &FenceSet, results: &mut Vec<Result<(), ChunkError>>) {
        let base = results.len();
        let mut plans = Vec::with_capacity(ops.len());
        for (at, op) in ops.iter().enumerate() {
            match self.plan_write(op, fences) {
                Ok(None) => results.push(Ok(())),
                Ok(Some(plan)) => {
                    results.push(Ok(()));
                    plans.push((base + at, plan));
                }
                Err(e) => results.push(Err(e)),
            }
        }
        if plans.is_empty() {
            return;
        }
        let starts: Vec<Start> = plans.iter().map(|(_, plan)| plan.start()).collect();
        if let Err(error) = self.begin(&starts) {
            for (at, plan) in plans {
                self.shared.release(plan.added);
                results[at] = Err(error.clone().into());
            }
            return;
        }
        let mut batch = Batch::with_capacity(512 * plans.len());
        for (at, plan) in &plans {
            results[*at] = self.write_data(plan, &mut batch);
        }
        let files: Vec<ChunkFileId> = plans.iter().map(|(_, plan)| plan.file).collect();
        if let Err(error) = self.commit(&batch, &files) {
            for (at, plan) in &plans {
                if results[*at].is_ok() {
                    self.shared.release(plan.added);
                    results[*at] = Err(error.clone().into());
                }
            }
        }
        for (op, _) in ops.iter().zip(&results[base..]).filter(|(_, result)| result.is_ok()) {
            self.shared.counters.add(Count::Writes, 1);
            self.shared.counters.add(Count::WriteBytes, op.data.len() as u64);
            self.repeats.done(op.stamp);
        }
    }

    fn plan_write(&mut self, op: &WriteOp, fences: &FenceSet) -> Result<Option<Plan>, ChunkError> {
        if fences.contains(op.session) {
            return Err(ChunkError::Fenced);
        }
        check(&self.shared, op)?;
        if self.is_dead(op.file) {
            return Err(ChunkError::Stale(op.file));
        }
        if op.data.is_empty() {
            return Ok(None);
        }
        if self.repeats.is_done(op.stamp)? {
            return Ok(None);
        }
        self.settle(op.file)?;
        let opened = self.open(op.file, true)?;
        let Some((handle, created)) = opened else { return Err(ChunkError::Stale(op.file)) };
        let plan = plan(&self.shared, op, handle, created)?;
        self.shared.reserve(plan.added)?;
        Ok(Some(plan))
    }

    /// Step (B), and what step (C) has to say about it.
    fn write_data(&mut self, plan: &Plan, batch: &mut Batch) -> Result<(), ChunkError> {
        let written = plan.segments.iter().try_for_each(|(offset, data)| write_all(&*plan.handle, data, *offset));
        let intent_key = group_key(tag::INTENT, plan.file, plan.rows[0].0);
        let Err(error) = written else {
            for (group, row) in &plan.rows {
                put_row(batch, plan.file, *group, row, &mut self.scratch);
            }
            batch.delete(intent_key);
            return Ok(());
        };
        let error = self.shared.io_error("write", plan.file, error);
        self.shared.release(plan.added);
        match self.shared.resolve(plan.file, &plan.intent, batch) {
            Ok(()) => {
                batch.delete(intent_key);
            }
            Err(_) => {
                self.unresolved.insert(plan.file);
            }
        }
        Err(error)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Reads: whole blocks and their stored checksums.
//!
//! **Failure model.** See the parent module. The client compares; here the checksums are compared only on demand. A
//! file that is too short for its blocks never passes for zeros.

use super::MAX_CHUNK_FILE_BYTES;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::read_plan::ReadPlan;
use super::shared::group_of;
use super::worker::ChunkWorker;
use nyala_transport::buffers::{Buffer, LARGE};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES};
use std::sync::Arc;

/// Reads of so many bytes need not know the file's length beforehand.
const SHORT: usize = LARGE - BLOCK_BYTES as usize;

/// What a read gives.
#[derive(Debug, Default)]
pub struct ReadOut {
    /// Offset of the data in the chunk file, bytes.
    pub start: u64,
    /// Whole blocks; cut where the chunk file ends.
    pub data: Buffer,
    /// CRC-32C of each block, padded with zeros.
    pub crcs: Vec<u32>,
}

impl ChunkWorker {
    /// Reads the blocks that `len` bytes at `offset` touch, up to the end of the chunk file.
    pub fn read(&mut self, file: ChunkFileId, offset: u64, len: u32, verify: bool) -> Result<ReadOut, ChunkError> {
        self.check_read(file, offset, len)?;
        self.settle(file)?;
        let handle = self.open(file, false)?.map(|(handle, _)| handle);
        let plan = self.plan_read(file, handle, offset, len, true)?;
        if let Some(lost) = plan.lost {
            return Err(self.shared.checksum_error(file, lost));
        }
        let mut data = self.shared.buffers.take(plan.there);
        let handle = plan.handle.as_ref().filter(|_| plan.there > 0);
        let read = handle.map_or(Ok(0), |handle| handle.read_at(&mut data, plan.start()));
        data.truncate(read.map_err(|e| self.shared.io_error("read", file, e))?);
        plan.finish(&self.shared, data, verify)
    }

    pub(super) fn check_read(&self, file: ChunkFileId, offset: u64, len: u32) -> Result<(), ChunkError> {
        if len > MAX_IO_BYTES {
            return Err(ChunkError::Invalid("a read has at most 4 MiB"));
        }
        if offset.checked_add(u64::from(len)).is_none_or(|end| end > i64::MAX as u64) {
            return Err(ChunkError::TooBig);
        }
        if self.is_dead(file) { Err(ChunkError::Stale(file)) } else { Ok(()) }
    }

    /// Works a checked read out. If not `exact`, short ones do without the file's length: what has checksums is in the file,
    /// its last block perhaps in part ([`ReadPlan::ends_with`]).
    pub(super) fn plan_read(
        &self,
        file: ChunkFileId,
        handle: Option<Arc<dyn ChunkFile>>,
        offset: u64,
        len: u32,
        exact: bool,
    ) -> Result<ReadPlan, ChunkError> {
        let first = offset / BLOCK_BYTES;
        let last = (offset + u64::from(len)).div_ceil(BLOCK_BYTES).max(first);
        // Behind the largest chunk file there is nothing, as behind the end of any other: files can be longer.
        let stored = self.stored(file, first, last.min(MAX_CHUNK_FILE_BYTES / BLOCK_BYTES))?;
        let mut plan = ReadPlan { file, handle, first, last, there: 0, stored, lost: None };
        let blocks = (last - first) as usize;
        let known = plan.stored.len() == blocks && plan.stored.iter().all(Option::is_some);
        if !exact && known && plan.handle.is_some() && blocks * BLOCK_BYTES as usize <= SHORT {
            plan.there = blocks * BLOCK_BYTES as usize;
        } else {
            plan.measure(&self.shared)?;
        }
        Ok(plan)
    }

    /// Stored checksums of the blocks from `first` to before `last`.
    pub(super) fn stored(&self, file: ChunkFileId, first: u64, last: u64) -> Result<Vec<Option<u32>>, ChunkError> {
        let mut stored = Vec::with_capacity(last.saturating_sub(first) as usize);
        let mut block = first;
        while block < last {
            let (group, slot) = group_of(block);
            let row = self.shared.row(file, group)?;
            let count = (super::rows::GROUP_BLOCKS - slot as u64).min(last - block);
            stored.extend((slot..slot + count as usize).map(|slot| row.get(slot)));
            block += count;
        }
        Ok(stored)
    }
}

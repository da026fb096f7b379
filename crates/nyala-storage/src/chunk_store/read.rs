// SPDX-License-Identifier: Apache-2.0

//! Reads: whole blocks and their stored checksums.
//!
//! **Failure model.** See the parent module. The client compares; here the checksums are compared only on demand. A
//! file that is too short for its blocks never passes for zeros.

use super::MAX_CHUNK_FILE_BYTES;
use super::buffers::Buffer;
use super::counters::add;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::shared::{Shared, group_of};
use super::worker::ChunkWorker;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES};
use std::sync::{Arc, OnceLock};

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

fn zero_crc() -> u32 {
    static CRC: OnceLock<u32> = OnceLock::new();
    *CRC.get_or_init(|| crc32c_zero_padded(&[]))
}

/// A read worked out: what the worker knows about it.
pub(super) struct ReadPlan {
    pub file: ChunkFileId,
    pub handle: Option<Arc<dyn ChunkFile>>,
    first: u64,
    /// Bytes up to the end of the last block or of the file.
    pub there: usize,
    stored: Vec<Option<u32>>,
    /// A block that should be there and is behind the end of the file.
    pub lost: Option<u64>,
}

impl ReadPlan {
    /// Where the data starts in the chunk file, bytes.
    pub fn start(&self) -> u64 {
        self.first * BLOCK_BYTES
    }

    /// The checksums, where the file alone has all the data: no holes, whose bytes are zeros whatever it has there.
    pub fn whole_crcs(&self) -> Option<Vec<u32>> {
        let blocks = self.there.div_ceil(BLOCK_BYTES as usize);
        self.stored.iter().take(blocks).copied().collect::<Option<Vec<u32>>>().filter(|crcs| crcs.len() == blocks)
    }

    /// Data and checksums together: holes are zeros, and a file that is too short is damage.
    pub fn finish(self, shared: &Shared, mut data: Buffer, verify: bool) -> Result<ReadOut, ChunkError> {
        if data.len() < self.there {
            return Err(shared.checksum_error(self.file, self.first + data.len() as u64 / BLOCK_BYTES));
        }
        let mut crcs = Vec::with_capacity(self.stored.len());
        for (number, (block, crc)) in data.chunks_mut(BLOCK_BYTES as usize).zip(&self.stored).enumerate() {
            match crc {
                None => block.fill(0),
                Some(crc) if verify && crc32c_zero_padded(block) != *crc => {
                    return Err(shared.checksum_error(self.file, self.first + number as u64));
                }
                Some(_) => {}
            }
            crcs.push(crc.unwrap_or_else(zero_crc));
        }
        add(&shared.counters.reads, 1);
        add(&shared.counters.read_bytes, data.len() as u64);
        Ok(ReadOut { start: self.start(), data, crcs })
    }
}

impl ChunkWorker {
    /// Reads the blocks that `len` bytes at `offset` touch, up to the end of the chunk file.
    pub fn read(&mut self, file: ChunkFileId, offset: u64, len: u32, verify: bool) -> Result<ReadOut, ChunkError> {
        self.check_read(file, offset, len)?;
        self.settle(file)?;
        let handle = self.open(file, false)?.map(|(handle, _)| handle);
        let plan = self.plan_read(file, handle, offset, len)?;
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

    /// Works a checked read out.
    pub(super) fn plan_read(
        &self,
        file: ChunkFileId,
        handle: Option<Arc<dyn ChunkFile>>,
        offset: u64,
        len: u32,
    ) -> Result<ReadPlan, ChunkError> {
        let first = offset / BLOCK_BYTES;
        let last = (offset + u64::from(len)).div_ceil(BLOCK_BYTES).max(first);
        let file_len = handle.as_ref().map_or(Ok(0), |handle| self.shared.len_of(file, &**handle))?;
        let there = (last * BLOCK_BYTES).min(file_len).saturating_sub(first * BLOCK_BYTES) as usize;
        // Behind the largest chunk file there is nothing, as behind the end of any other: files can be longer.
        let stored = self.stored(file, first, last.min(MAX_CHUNK_FILE_BYTES / BLOCK_BYTES))?;
        let blocks = there.div_ceil(BLOCK_BYTES as usize);
        let lost = stored.iter().skip(blocks).position(Option::is_some);
        let lost = lost.map(|lost| first + (blocks + lost) as u64);
        Ok(ReadPlan { file, handle, first, there, stored, lost })
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

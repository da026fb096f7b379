// SPDX-License-Identifier: Apache-2.0

//! Reads: whole blocks and their stored checksums.
//!
//! **Failure model.** See the parent module. The client compares; here the checksums are compared only on demand. A
//! file that is too short for its blocks never passes for zeros.

use super::MAX_CHUNK_FILE_BYTES;
use super::buffers::Buffer;
use super::counters::add;
use super::error::ChunkError;
use super::shared::group_of;
use super::worker::ChunkWorker;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES};
use std::sync::OnceLock;

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

impl ChunkWorker {
    /// Reads the blocks that `len` bytes at `offset` touch, up to the end of the chunk file.
    pub fn read(&mut self, file: ChunkFileId, offset: u64, len: u32, verify: bool) -> Result<ReadOut, ChunkError> {
        if len > MAX_IO_BYTES {
            return Err(ChunkError::Invalid("a read has at most 4 MiB"));
        }
        let end = offset.checked_add(u64::from(len)).filter(|end| *end <= MAX_CHUNK_FILE_BYTES);
        let end = end.ok_or(ChunkError::TooBig)?;
        if self.is_dead(file) {
            return Err(ChunkError::Stale(file));
        }
        self.settle(file)?;
        let first = offset / BLOCK_BYTES;
        let start = first * BLOCK_BYTES;
        let last = end.div_ceil(BLOCK_BYTES).max(first);
        let (handle, file_len) = match self.open(file, false)? {
            None => (None, 0),
            Some((handle, _)) => {
                let file_len = self.shared.len_of(file, &*handle)?;
                (Some(handle), file_len)
            }
        };
        let there = (last * BLOCK_BYTES).min(file_len).saturating_sub(start) as usize;
        let stored = self.stored(file, first, last)?;
        if let Some(lost) = stored.iter().skip(there.div_ceil(BLOCK_BYTES as usize)).position(Option::is_some) {
            let block = first + there.div_ceil(BLOCK_BYTES as usize) as u64 + lost as u64;
            return Err(self.shared.checksum_error(file, block));
        }
        let mut data = self.shared.buffers.take(there);
        let read = handle.filter(|_| there > 0).map_or(Ok(0), |handle| handle.read_at(&mut data, start));
        data.truncate(read.map_err(|e| self.shared.io_error("read", file, e))?);
        if data.len() < there {
            return Err(self.shared.checksum_error(file, first + data.len() as u64 / BLOCK_BYTES));
        }
        let mut crcs = Vec::with_capacity(stored.len());
        for (number, (block, crc)) in data.chunks_mut(BLOCK_BYTES as usize).zip(stored).enumerate() {
            match crc {
                None => block.fill(0),
                Some(crc) if verify && crc32c_zero_padded(block) != crc => {
                    return Err(self.shared.checksum_error(file, first + number as u64));
                }
                Some(_) => {}
            }
            crcs.push(crc.unwrap_or_else(zero_crc));
        }
        add(&self.shared.counters.reads, 1);
        add(&self.shared.counters.read_bytes, data.len() as u64);
        Ok(ReadOut { start, data, crcs })
    }

    /// Stored checksums of the blocks from `first` to before `last`.
    fn stored(&self, file: ChunkFileId, first: u64, last: u64) -> Result<Vec<Option<u32>>, ChunkError> {
        let mut stored = Vec::with_capacity((last - first) as usize);
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

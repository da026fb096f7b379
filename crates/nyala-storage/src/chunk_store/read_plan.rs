// SPDX-License-Identifier: Apache-2.0

//! A read between the worker's look and the data.
//!
//! **Failure model.** See [`super::read`]. The worker is let go in between: what is said here of the file's length may be of
//! another moment than the checksums, which whoever finishes the read finds out ([`super::changes`]).

use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::read::ReadOut;
use super::shared::Shared;
use nyala_transport::buffers::Buffer;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use std::sync::{Arc, OnceLock};

fn zero_crc() -> u32 {
    static CRC: OnceLock<u32> = OnceLock::new();
    *CRC.get_or_init(|| crc32c_zero_padded(&[]))
}

/// A read worked out: what the worker knows about it.
pub(super) struct ReadPlan {
    pub file: ChunkFileId,
    pub handle: Option<Arc<dyn ChunkFile>>,
    pub first: u64,
    pub last: u64,
    /// Bytes up to the end of the last block or of the file.
    pub there: usize,
    pub stored: Vec<Option<u32>>,
    /// A block that should be there and is behind the end of the file.
    pub lost: Option<u64>,
}

impl ReadPlan {
    /// Where the data starts in the chunk file, bytes.
    pub fn start(&self) -> u64 {
        self.first * BLOCK_BYTES
    }

    /// What the file's length makes of it.
    pub fn measure(&mut self, shared: &Shared) -> Result<(), ChunkError> {
        let file_len = self.handle.as_ref().map_or(Ok(0), |handle| shared.len_of(self.file, &**handle))?;
        self.there = (self.last * BLOCK_BYTES).min(file_len).saturating_sub(self.start()) as usize;
        let blocks = self.there.div_ceil(BLOCK_BYTES as usize);
        let lost = self.stored.iter().skip(blocks).position(Option::is_some);
        self.lost = lost.map(|lost| self.first + (blocks + lost) as u64);
        Ok(())
    }

    /// Is so much all that there is of it? Where less came than was thought to be there, the file's length says.
    pub fn ends_with(&mut self, shared: &Shared, bytes: usize) -> bool {
        if self.there != bytes && self.measure(shared).is_err() {
            return false;
        }
        self.there == bytes && self.lost.is_none()
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
        shared.counters.add(Count::Reads, 1);
        shared.counters.add(Count::ReadBytes, data.len() as u64);
        Ok(ReadOut { start: self.start(), data, crcs })
    }
}

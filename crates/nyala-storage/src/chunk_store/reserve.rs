// SPDX-License-Identifier: Apache-2.0

//! Space reserved ahead of writes (`fallocate`).
//!
//! **Failure model.** See the parent module. Reserved space holds no data: its blocks have no checksum, read as zeros, and
//! are holes for seeks, as unwritten extents are on XFS and ext4. So nothing here needs an intent; the file is marked as
//! unsynced, since a sync promises the reservation and the names that lead to the file too.

use super::MAX_CHUNK_FILE_BYTES;
use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::recover::ROWS_PER_BATCH;
use super::rows::GROUP_BLOCKS;
use super::shared::{ChunkStore, Shared, group_of};
use super::worker::{ChunkWorker, Start};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, blocks_touched};

impl ChunkWorker {
    /// Reserves space; the length stays. Makes the chunk file if it is missing.
    pub fn allocate(&mut self, file: ChunkFileId, offset: u64, len: u64) -> Result<(), ChunkError> {
        if self.is_dead(file) {
            return Err(ChunkError::Stale(file));
        }
        if offset.checked_add(len).is_none_or(|end| end > MAX_CHUNK_FILE_BYTES) {
            return Err(ChunkError::TooBig);
        }
        if len == 0 {
            return Ok(());
        }
        self.settle(file)?;
        self.shared.check_tables()?;
        if let Some(limit) = self.shared.limit_bytes {
            let more = self.shared.absent_blocks(file, offset, len)?.saturating_mul(BLOCK_BYTES);
            if more > 0 && self.shared.used_bytes().saturating_add(more) > limit {
                return Err(ChunkError::NoSpace);
            }
        }
        let Some((handle, created)) = self.open(file, true)? else { return Err(ChunkError::Stale(file)) };
        self.begin(&[Start { file, group: 0, intent: Vec::new(), created, overwrites: false }])?;
        handle.allocate(offset, len).map_err(|e| self.shared.io_error("allocate in", file, e))?;
        self.shared.counters.add(Count::Others, 1);
        Ok(())
    }

    /// Gives back what is reserved behind the end of the file, which a file system does when it sets the same length again.
    pub(super) fn release_reserved(
        &self,
        file: ChunkFileId,
        handle: &dyn ChunkFile,
        file_len: u64,
    ) -> Result<(), ChunkError> {
        handle.set_len(file_len).map_err(|e| self.shared.io_error("truncate", file, e))
    }
}

impl ChunkStore {
    /// Bytes of the blocks of a range that hold no data, which a write of it would add.
    pub fn absent_bytes(&self, file: ChunkFileId, offset: u64, len: u64) -> Result<u64, ChunkError> {
        match len {
            0 => Ok(0),
            _ => Ok(self.shared.absent_blocks(file, offset, len)?.saturating_mul(BLOCK_BYTES)),
        }
    }
}

impl Shared {
    /// Blocks of a range that hold no data.
    fn absent_blocks(&self, file: ChunkFileId, offset: u64, len: u64) -> Result<u64, ChunkError> {
        let (first, count) = (offset / BLOCK_BYTES, blocks_touched(offset, len));
        let (end, last) = (first + count, group_of(first + count - 1).0);
        let (mut from, mut present) = (group_of(first).0, 0);
        loop {
            let rows = self.rows_from(file, from, last)?;
            for (group, row) in &rows {
                let base = u64::from(*group) * GROUP_BLOCKS;
                let inside = (0..GROUP_BLOCKS).filter(|slot| (first..end).contains(&(base + slot)));
                present += inside.filter(|slot| row.get(*slot as usize).is_some()).count() as u64;
            }
            match rows.last() {
                Some((group, _)) if rows.len() == ROWS_PER_BATCH && *group < last => from = group + 1,
                _ => return Ok(count - present),
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Stat and seek. Failure model: see the parent module; a hole is what has no checksum, whatever the file system says.

use super::error::ChunkError;
use super::rows::{GROUP_BLOCKS, Row};
use super::shared::group_of;
use super::worker::ChunkWorker;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};

impl ChunkWorker {
    /// Length in bytes and use in units of 512 bytes; zeros if there is no such chunk file.
    pub fn stat(&mut self, file: ChunkFileId) -> Result<(u64, u64), ChunkError> {
        if self.is_dead(file) {
            return Ok((0, 0));
        }
        self.settle(file)?;
        let Some((handle, _)) = self.open(file, false)? else { return Ok((0, 0)) };
        handle.stat().map_err(|e| self.shared.io_error("stat", file, e))
    }

    /// The next data or hole at or after `offset`. The end of the file is a hole.
    pub fn seek(&mut self, file: ChunkFileId, offset: u64, hole: bool) -> Result<Option<u64>, ChunkError> {
        let len = self.stat(file)?.0.min(super::MAX_CHUNK_FILE_BYTES);
        if offset >= len {
            return Ok(hole.then_some(offset));
        }
        let last = group_of((len - 1) / BLOCK_BYTES).0;
        let mut block = offset / BLOCK_BYTES;
        loop {
            let (group, slot) = group_of(block);
            let rows = self.shared.rows_from(file, group, last)?;
            let mut expected = group;
            for (group, row) in &rows {
                if hole && *group > expected {
                    return Ok(Some(offset.max(u64::from(expected) * GROUP_BLOCKS * BLOCK_BYTES)));
                }
                let from = if u64::from(*group) * GROUP_BLOCKS > block { 0 } else { slot };
                if let Some(slot) = find(row, from, hole) {
                    let at = (u64::from(*group) * GROUP_BLOCKS + u64::from(slot)) * BLOCK_BYTES;
                    return Ok(Some(at.max(offset)).filter(|at| *at < len).or(hole.then_some(len)));
                }
                expected = group + 1;
            }
            if rows.len() < super::recover::ROWS_PER_BATCH || expected > last {
                let at = offset.max(u64::from(expected) * GROUP_BLOCKS * BLOCK_BYTES).min(len);
                return Ok(hole.then_some(at));
            }
            block = u64::from(expected) * GROUP_BLOCKS;
        }
    }
}

/// First slot from `from` on that is absent (`hole`) or present.
fn find(row: &Row, from: usize, hole: bool) -> Option<u32> {
    let wanted = if hole { !row.present() } else { row.present() };
    let wanted = wanted & (u64::MAX << from);
    (wanted != 0).then(|| wanted.trailing_zeros())
}

// SPDX-License-Identifier: Apache-2.0

//! Truncate and punch.
//!
//! **Failure model.** See the parent module: an intent comes first, and a change that was interrupted is done again from
//! the start when the target is opened, which leaves the same result. The last block's old bytes are compared with their
//! checksum before it is cut.
//!
//! A truncate is acknowledged only when the cut is on disk: metadata forgets the truncate then, and nobody would cut again
//! what a power cut brings back. A hole is a change like a write: its program was promised nothing before it syncs, and until
//! then the old bytes or zeros are there, whole blocks with their checksums.

use super::MAX_CHUNK_FILE_BYTES;
use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::recover::ROWS_PER_BATCH;
use super::rows::{GROUP_BLOCKS, Intent, group_key, tag};
use super::shared::{Shared, group_of, put_row};
use super::sync::SyncJob;
use super::worker::{ChunkWorker, Start};
use super::write::WriteOp;
use bytes::Bytes;
use nyala_store::Batch;
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, Stamp};

impl ChunkWorker {
    /// Cuts the chunk file to at most `len` bytes, and gives back what is reserved behind its end; a missing or removed one is fine.
    /// The cut is on disk after [`Self::begin_cut_sync`].
    pub fn truncate(&mut self, file: ChunkFileId, len: u64) -> Result<(), ChunkError> {
        if self.is_dead(file) {
            return Ok(());
        }
        self.settle(file)?;
        let Some((handle, _)) = self.open(file, false)? else { return Ok(()) };
        let file_len = self.shared.len_of(file, &*handle)?;
        if file_len <= len {
            return self.release_reserved(file, &*handle, file_len);
        }
        let tail = self.tail_after_cut(file, &*handle, file_len, len)?;
        let intent = Intent::Truncate { len, tail };
        let changed = self.change(file, group_of(len / BLOCK_BYTES).0, intent);
        if let Some(dirty) = self.dirty.get_mut(&file) {
            // Also when it failed: it is brought to an end later.
            dirty.cut = dirty.generation;
            // Nothing is left that a failed sync could have lost.
            dirty.failed &= len > 0 || changed.is_err();
        }
        changed
    }

    /// What has to be done so that all cuts of the file so far are on disk; `None` if they are. A sync that failed before
    /// says nothing about a cut, only about written data: it is not reported here.
    pub fn begin_cut_sync(&mut self, file: ChunkFileId) -> Result<Option<SyncJob>, ChunkError> {
        let pending = self.dirty.get(&file).is_some_and(|dirty| dirty.cut > dirty.synced);
        if !pending || self.is_dead(file) {
            return Ok(None);
        }
        self.settle(file)?;
        let files = self.item(file)?.into_iter().collect();
        Ok(Some(SyncJob { files, whole: false, unflag: false, shared: self.shared.clone() }))
    }

    /// Checksum of the last block after the cut, if it is cut in the middle and present.
    fn tail_after_cut(
        &self,
        file: ChunkFileId,
        handle: &dyn ChunkFile,
        file_len: u64,
        len: u64,
    ) -> Result<Option<u32>, ChunkError> {
        let (block, keep) = (len / BLOCK_BYTES, (len % BLOCK_BYTES) as usize);
        let (group, slot) = group_of(block);
        let old = if keep > 0 { self.shared.row(file, group)?.get(slot) } else { None };
        let Some(old) = old else { return Ok(None) };
        let bytes = self.shared.content(file, Some(handle), block, 1)?;
        let expected = (file_len - block * BLOCK_BYTES).min(BLOCK_BYTES) as usize;
        if bytes.len() != expected || crc32c_zero_padded(&bytes) != old {
            return Err(self.shared.cannot_change(file, block, old));
        }
        Ok(Some(crc32c_zero_padded(&bytes[..keep])))
    }

    /// Makes a hole; a missing or removed chunk file is fine, and its length stays.
    pub fn punch(&mut self, file: ChunkFileId, offset: u64, len: u64) -> Result<(), ChunkError> {
        if self.is_dead(file) {
            return Ok(());
        }
        self.settle(file)?;
        let Some((handle, _)) = self.open(file, false)? else { return Ok(()) };
        let file_len = self.shared.len_of(file, &*handle)?;
        let end = offset.saturating_add(len).min(file_len);
        if offset >= end {
            return Ok(());
        }
        let first = offset.div_ceil(BLOCK_BYTES);
        // A block whose bytes up to the end of the file all go is a whole one.
        let last = if end == file_len { end.div_ceil(BLOCK_BYTES) } else { end / BLOCK_BYTES };
        let head_end = end.min(first * BLOCK_BYTES);
        self.zero_edge(file, offset, head_end)?;
        if end > last * BLOCK_BYTES && last >= first {
            self.zero_edge(file, last * BLOCK_BYTES, end)?;
        }
        if last > first {
            self.change(file, group_of(first).0, Intent::Drop { first, count: last - first })?;
        }
        Ok(())
    }

    /// Makes a block a hole, whatever it has.
    pub(super) fn drop_block(&mut self, file: ChunkFileId, block: u64) -> Result<(), ChunkError> {
        self.settle(file)?;
        self.change(file, group_of(block).0, Intent::Drop { first: block, count: 1 })
    }

    /// Zeros a part of one block, unless it is a hole.
    fn zero_edge(&mut self, file: ChunkFileId, from: u64, to: u64) -> Result<(), ChunkError> {
        const ZEROS: [u8; BLOCK_BYTES as usize] = [0; BLOCK_BYTES as usize];
        if from >= to {
            return Ok(());
        }
        let (group, slot) = group_of(from / BLOCK_BYTES);
        if self.shared.row(file, group)?.get(slot).is_none() {
            return Ok(());
        }
        let data = Bytes::from_static(&ZEROS).slice(..(to - from) as usize);
        let crcs = vec![crc32c(&data)];
        self.write_own(WriteOp {
            session: ChunkWorker::OWN,
            file,
            offset: from,
            data,
            crcs,
            compared: true,
            stamp: Stamp::default(),
        })
    }

    /// Logs an intent, does it, and logs that it is done.
    fn change(&mut self, file: ChunkFileId, group: u32, intent: Intent) -> Result<(), ChunkError> {
        let start = Start { file, group, intent: intent.encode(), created: false, overwrites: true };
        self.begin(&[start])?;
        let mut batch = Batch::new();
        if let Err(error) = self.shared.resolve(file, &intent, &mut batch) {
            self.unresolved.insert(file);
            return Err(error);
        }
        batch.delete(group_key(tag::INTENT, file, group));
        self.commit(&batch, &[file])?;
        self.shared.counters.add(Count::Others, 1);
        Ok(())
    }
}

impl Shared {
    /// Cuts the file and its checksums; the same again if it was done before in part.
    pub fn redo_truncate(
        &self,
        file: ChunkFileId,
        handle: Option<&dyn ChunkFile>,
        len: u64,
        tail: Option<u32>,
        batch: &mut Batch,
    ) -> Result<(), ChunkError> {
        if let Some(handle) = handle {
            let file_len = self.len_of(file, handle)?;
            if file_len > len {
                handle.set_len(len).map_err(|e| self.io_error("truncate", file, e))?;
            }
        }
        let keep = len.div_ceil(BLOCK_BYTES);
        let tail = tail.map(|crc| (keep - 1, crc));
        self.drop_blocks(file, keep, MAX_CHUNK_FILE_BYTES / BLOCK_BYTES, tail, batch)
    }

    /// Makes a run of blocks absent, on disk too; the same again if it was done before in part.
    pub fn redo_drop(
        &self,
        file: ChunkFileId,
        handle: Option<&dyn ChunkFile>,
        first: u64,
        count: u64,
        batch: &mut Batch,
    ) -> Result<(), ChunkError> {
        if let Some(handle) = handle {
            let punched = handle.punch(first * BLOCK_BYTES, count * BLOCK_BYTES);
            punched.map_err(|e| self.io_error("punch a hole into", file, e))?;
        }
        self.drop_blocks(file, first, first + count, None, batch)
    }

    /// Removes the checksums of the blocks from `first` to before `end`, and sets that of `tail`, which is in front of
    /// them. What does not fit into one batch is applied here, the rest is left in `batch`.
    fn drop_blocks(
        &self,
        file: ChunkFileId,
        first: u64,
        end: u64,
        tail: Option<(u64, u32)>,
        batch: &mut Batch,
    ) -> Result<(), ChunkError> {
        let mut scratch = Vec::new();
        let mut from = group_of(tail.map_or(first, |(block, _)| block)).0;
        let last = group_of(end.saturating_sub(1)).0;
        loop {
            let rows = self.rows_from(file, from, last)?;
            let more = rows.last().filter(|_| rows.len() == ROWS_PER_BATCH).map(|(group, _)| *group);
            for (group, mut row) in rows {
                let before = row.count();
                let base = u64::from(group) * GROUP_BLOCKS;
                (0..GROUP_BLOCKS).filter(|slot| (first..end).contains(&(base + slot))).for_each(|slot| {
                    row.set(slot as usize, None);
                });
                if let Some((block, crc)) = tail.filter(|(block, _)| group_of(*block).0 == group) {
                    row.set(group_of(block).1, Some(crc));
                }
                put_row(batch, file, group, &row, &mut scratch);
                self.account(before, row.count());
            }
            match more {
                Some(group) if group < last => {
                    self.kv.wait_room();
                    self.kv.apply(&*batch)?;
                    batch.clear();
                    from = group + 1;
                }
                _ => return Ok(()),
            }
        }
    }
}

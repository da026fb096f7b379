// SPDX-License-Identifier: Apache-2.0

//! Opening a target after whatever happened, and bringing a failed change to an end.
//!
//! **Failure model.** See the parent module. Recovery itself can be interrupted anywhere: every step says the same again
//! when it is repeated, and what made it necessary (intent, flag, old boot id) goes last.

use super::ChunkDisk;
use super::counters::Count;
use super::damage;
use super::disk::{ChunkFile, write_all};
use super::error::ChunkError;
use super::rows::{Dead, GROUP_BLOCKS, Intent, Row, file_key, group_key, parse_key, tag};
use super::shared::{ChunkStore, ChunkStoreOptions, RecoveryReport, Shared, file_name, group_of, put_row};
use super::table::{Table, scan_prefix};
use nyala_store::Batch;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use parking_lot::Mutex;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Rows that are changed in one batch.
pub(super) const ROWS_PER_BATCH: usize = 1024;

impl ChunkStore {
    /// Opens a target: resolves what a crash left, and checks unsynced files if the machine started anew.
    pub fn open(
        kv: Arc<dyn Table>,
        disk: Arc<dyn ChunkDisk>,
        options: &ChunkStoreOptions,
    ) -> Result<ChunkStore, ChunkError> {
        let shared = Arc::new(Shared::new(kv, disk, options));
        shared.errors.begin(&*shared.kv)?;
        let mut report = RecoveryReport::default();
        for (file, _) in shared.list(tag::INTENT)? {
            shared.resolve_file(file)?;
            report.intents += 1;
        }
        let flagged = shared.list(tag::UNSYNCED)?.into_iter();
        let mut unsynced: Vec<(ChunkFileId, bool)> = flagged.map(|(file, flag)| (file, !flag.is_empty())).collect();
        report.unsynced_files = unsynced.len() as u64;
        let boot = shared.kv.get(&[tag::BOOT])?;
        if boot.as_deref() != Some(options.boot_id.as_bytes()) {
            report.machine_crash = boot.is_some();
            for (file, _) in &unsynced {
                shared.recheck(*file)?;
            }
        }
        shared.begin_losses(options, report.machine_crash)?;
        for (file, failed) in unsynced.iter_mut().filter(|(_, failed)| *failed) {
            *failed = !shared.write_again(*file)?;
        }
        // The workers take the flags of what they find for durable.
        shared.kv.sync()?;
        shared.load_fences()?;
        let mut dead = Vec::new();
        for (file, value) in shared.list(tag::DEAD)? {
            dead.push((file, Dead::decode(&value).ok_or_else(|| shared.bad_record(file))?));
        }
        shared.data.begin(&*shared.kv, options.limit_bytes.is_some())?;
        report.queued_removals = dead.iter().filter(|(_, dead)| !dead.gone).count() as u64;
        report.torn_blocks = shared.counters.get(Count::TornBlocks);
        report.rechecked_blocks = shared.counters.get(Count::RecheckedBlocks);
        Ok(ChunkStore { shared, dead, unsynced: Mutex::new(unsynced), report })
    }
}

impl Shared {
    pub(super) fn list(&self, tag: u8) -> Result<Vec<(ChunkFileId, Vec<u8>)>, ChunkError> {
        let mut found = Vec::new();
        scan_prefix(&*self.kv, &[tag], &mut |key, value| {
            found.extend(parse_key(key).map(|(file, _)| (file, value.to_vec())));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Rows of a file from `group` on, at most [`ROWS_PER_BATCH`] and only up to `last`.
    pub fn rows_from(&self, file: ChunkFileId, group: u32, last: u32) -> Result<Vec<(u32, Row)>, ChunkError> {
        let (from, to) = (group_key(tag::CHECKSUMS, file, group), group_key(tag::CHECKSUMS, file, last));
        let mut raw = Vec::new();
        self.kv.scan(Bound::Included(&from), Bound::Included(&to), &mut |key, value| {
            if let Some((_, Some(group))) = parse_key(key) {
                raw.push((group, Row::decode(value)));
            }
            if raw.len() < ROWS_PER_BATCH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        raw.into_iter().map(|(group, row)| Ok((group, row.ok_or_else(|| self.bad_record(file))?))).collect()
    }

    /// Brings all unfinished changes of a file to an end.
    pub fn resolve_file(&self, file: ChunkFileId) -> Result<(), ChunkError> {
        let mut intents = Vec::new();
        scan_prefix(&*self.kv, &file_key(tag::INTENT, file), &mut |key, value| {
            intents.push((key.to_vec(), Intent::decode(value)));
            ControlFlow::Continue(())
        })?;
        for (key, intent) in intents {
            let mut batch = Batch::new();
            self.resolve(file, &intent.ok_or_else(|| self.bad_record(file))?, &mut batch)?;
            self.kv.apply(batch.delete(&key))?;
        }
        Ok(())
    }

    /// Makes checksums and file agree after a change that may or may not have happened; says how in `batch`.
    pub fn resolve(&self, file: ChunkFileId, intent: &Intent, batch: &mut Batch) -> Result<(), ChunkError> {
        let opened = self.disk.open(file, false).map_err(|e| self.io_error("open", file, e))?;
        let handle = opened.map(|opened| opened.file);
        match intent {
            Intent::Write { first, crcs } => self.resolve_write(file, handle.as_deref(), *first, crcs, batch),
            Intent::Truncate { len, tail } => self.redo_truncate(file, handle.as_deref(), *len, *tail, batch),
            Intent::Drop { first, count } => self.redo_drop(file, handle.as_deref(), *first, *count, batch),
        }
    }

    fn resolve_write(
        &self,
        file: ChunkFileId,
        handle: Option<&dyn ChunkFile>,
        first: u64,
        new: &[u32],
        batch: &mut Batch,
    ) -> Result<(), ChunkError> {
        let Some(last) = (new.len() as u64).checked_sub(1).map(|n| first + n) else { return Ok(()) };
        let content = self.content(file, handle, first, new.len() as u64)?;
        let mut scratch = Vec::new();
        for group in group_of(first).0..=group_of(last).0 {
            let mut row = self.row(file, group)?;
            let before = row.count();
            let start = u64::from(group) * GROUP_BLOCKS;
            for block in first.max(start)..=last.min(start + GROUP_BLOCKS - 1) {
                let number = (block - first) as usize;
                let there = content.chunks(BLOCK_BYTES as usize).nth(number);
                let slot = group_of(block).1;
                let crc = self.resolved(file, block, there, row.get(slot), new[number]);
                row.set(slot, crc);
            }
            put_row(batch, file, group, &row, &mut scratch);
            self.account(before, row.count());
        }
        Ok(())
    }

    /// The checksum of a block that is the old one, the new one, or torn.
    fn resolved(&self, file: ChunkFileId, block: u64, there: Option<&[u8]>, old: Option<u32>, new: u32) -> Option<u32> {
        let Some(there) = there else { return old };
        let crc = crc32c_zero_padded(there);
        if crc == new || old == Some(crc) {
            return Some(crc);
        }
        if old.is_none() && there.iter().all(|byte| *byte == 0) {
            return None;
        }
        self.counters.add(Count::TornBlocks, 1);
        tracing::warn!(target_id = %self.label, file = %file_name(file), offset = block * BLOCK_BYTES,
            "a write that was never acknowledged is there in part; its block gets a new checksum");
        Some(crc)
    }

    /// The file's bytes in a run of blocks; shorter at the end of the file.
    pub fn content(
        &self,
        file: ChunkFileId,
        handle: Option<&dyn ChunkFile>,
        first: u64,
        count: u64,
    ) -> Result<Vec<u8>, ChunkError> {
        let Some(handle) = handle else { return Ok(Vec::new()) };
        let mut bytes = vec![0; (count * BLOCK_BYTES) as usize];
        let read = handle.read_at(&mut bytes, first * BLOCK_BYTES);
        bytes.truncate(read.map_err(|e| self.io_error("read", file, e))?);
        Ok(bytes)
    }

    /// After a crash of the machine: the checksums of an unsynced file become those of what is there.
    fn recheck(&self, file: ChunkFileId) -> Result<(), ChunkError> {
        let opened = self.disk.open(file, false).map_err(|e| self.io_error("open", file, e))?;
        let handle = opened.map(|opened| opened.file);
        let cleared = handle.as_ref().map_or(Ok(()), |handle| handle.clear_behind());
        cleared.map_err(|e| self.io_error("clear the end of", file, e))?;
        let (mut next, mut scratch) = (Some(0), Vec::new());
        while let Some(from) = next {
            let rows = self.rows_from(file, from, u32::MAX)?;
            next = rows.last().filter(|_| rows.len() == ROWS_PER_BATCH).and_then(|(group, _)| group.checked_add(1));
            let mut batch = Batch::new();
            for (group, mut row) in rows {
                if self.recheck_row(file, handle.as_deref(), group, &mut row)? {
                    put_row(&mut batch, file, group, &row, &mut scratch);
                }
            }
            self.kv.wait_room();
            self.kv.apply(&batch)?;
        }
        if let Some(handle) = handle {
            handle.sync_data().map_err(|e| self.io_error("sync", file, e))?;
            self.disk.sync_dirs(file).map_err(|e| self.io_error("sync the directory of", file, e))?;
        }
        Ok(())
    }

    /// After a failed sync: writes what the file has, as far as it matches its checksums, to disk again, since the kernel takes for
    /// clean what it could not write. Whether all of it is there now. Data that is lost keeps its checksum, so that reads tell.
    fn write_again(&self, file: ChunkFileId) -> Result<bool, ChunkError> {
        let opened = self.disk.open(file, false).map_err(|e| self.io_error("open", file, e))?;
        let Some(handle) = opened.map(|opened| opened.file) else { return Ok(false) };
        let (mut next, mut whole) = (Some(0), true);
        while let Some(from) = next {
            let rows = self.rows_from(file, from, u32::MAX)?;
            next = rows.last().filter(|_| rows.len() == ROWS_PER_BATCH).and_then(|(group, _)| group.checked_add(1));
            for (group, row) in rows {
                let first = u64::from(group) * GROUP_BLOCKS;
                let content = self.content(file, Some(&*handle), first, GROUP_BLOCKS);
                let content = content.unwrap_or_default();
                let mut blocks = content.chunks(BLOCK_BYTES as usize);
                for slot in 0..GROUP_BLOCKS as usize {
                    let there = blocks.next();
                    let Some(crc) = row.get(slot) else { continue };
                    let there = there.filter(|there| crc32c_zero_padded(there) == crc);
                    let offset = (first + slot as u64) * BLOCK_BYTES;
                    whole &= there.is_some_and(|there| write_all(&*handle, there, offset).is_ok());
                }
            }
        }
        whole &= handle.sync_data().is_ok() && self.disk.sync_dirs(file).is_ok();
        let name = file_name(file);
        if whole {
            self.kv.apply(Batch::new().put(file_key(tag::UNSYNCED, file), []))?;
            tracing::warn!(target_id = %self.label, file = %name, "a sync failed before this start; its data is on disk now");
        } else {
            tracing::error!(target_id = %self.label, file = %name, "a sync failed before this start, and data of the chunk file is lost");
        }
        Ok(whole)
    }

    fn recheck_row(
        &self,
        file: ChunkFileId,
        handle: Option<&dyn ChunkFile>,
        group: u32,
        row: &mut Row,
    ) -> Result<bool, ChunkError> {
        let first = u64::from(group) * GROUP_BLOCKS;
        let content = self.content(file, handle, first, GROUP_BLOCKS)?;
        let mut blocks = content.chunks(BLOCK_BYTES as usize);
        let (mut changed, is_damaged) = (0, damage::known(&*self.kv, file, group)?);
        for slot in 0..GROUP_BLOCKS as usize {
            let there = blocks.next().map(crc32c_zero_padded);
            let Some(old) = row.get(slot) else { continue };
            if there != Some(old) && !is_damaged(slot, old) {
                row.set(slot, there);
                changed += 1;
            }
        }
        if changed > 0 {
            self.counters.add(Count::RecheckedBlocks, changed);
            tracing::warn!(target_id = %self.label, file = %file_name(file), offset = first * BLOCK_BYTES, blocks = changed,
                "unsynced data was lost or torn when the machine stopped; its blocks get new checksums");
        }
        Ok(changed > 0)
    }
}

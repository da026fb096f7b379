// SPDX-License-Identifier: Apache-2.0

//! A part of a chunk file as it goes from one member of a mirror group to another: what is there, holes and end too.
//!
//! **Failure model.** See the parent module. What goes out was compared with its checksums, so that damage does not spread. Taking
//! a region in is made of changes that are each safe; a crash between them leaves a part of it, and whoever asked for it asks
//! again. A header may be made up: lengths are compared before anything is allocated.

use super::MAX_CHUNK_FILE_BYTES;
use super::damage::{List, note};
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::rows::{file_key, tag};
use super::shared::{ChunkStore, group_of, put_row};
use super::worker::{ChunkWorker, Start};
use super::write::WriteOp;
use bytes::Bytes;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use nyala_store::{Batch, Lsn};
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES, Stamp, block_pieces};
use nyala_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// What a chunk file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum There {
    /// There is none.
    #[n(0)]
    Nothing,
    /// It is there.
    #[n(1)]
    File,
    /// It was removed.
    #[n(2)]
    Removed,
}

/// What a region holds, beside its data.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RegionHeader {
    /// What the chunk file is.
    #[n(0)]
    pub there: There,
    /// Its length, bytes.
    #[n(1)]
    pub len: u64,
    /// Where the region starts, bytes; a multiple of the block size.
    #[n(2)]
    pub start: u64,
    /// Where it ends, bytes: there, or where the file ends.
    #[n(4)]
    pub end: u64,
    /// A bit for each block up to the end: it has data. The first is the lowest of the first byte.
    #[n(3)]
    pub present: ByteVec,
    /// Blocks whose data is not what was written there; only in a copy for a member that has nothing better.
    #[n(5)]
    pub bad: Option<Vec<BadBlock>>,
}

/// A block of a region whose data is not what was written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BadBlock {
    /// Which one: the region's first is 0.
    #[n(0)]
    pub block: u32,
    /// CRC-32C of what was written there.
    #[n(1)]
    pub crc: u32,
}

/// A region: its blocks that have data, one after the other.
#[derive(Clone, Debug)]
pub struct Region {
    /// All but the data.
    pub header: RegionHeader,
    /// Data of the blocks that are present; the last one may be cut where the file ends.
    pub data: Bytes,
}

impl Region {
    fn empty(there: There, len: u64, start: u64) -> Region {
        Region {
            header: RegionHeader { there, len, start, end: start, present: ByteVec::from(Vec::new()), bad: None },
            data: Bytes::new(),
        }
    }

    /// Refuses one that contradicts itself.
    pub fn check(&self) -> Result<(), WireError> {
        let RegionHeader { len, start, present, .. } = &self.header;
        let short = start.is_multiple_of(BLOCK_BYTES) && *start <= MAX_CHUNK_FILE_BYTES && *len <= MAX_CHUNK_FILE_BYTES;
        let blocks = present.len() as u64 * 8 * BLOCK_BYTES <= 2 * u64::from(MAX_IO_BYTES);
        let expected: u64 = if short && blocks { self.runs().filter(|run| run.2).map(|run| run.1).sum() } else { 0 };
        let bad = self.header.bad.as_deref().unwrap_or_default();
        let known = bad.len() <= present.len() * 8 && bad.iter().all(|bad| self.has(bad.block.into()));
        let fits = short && blocks && known && expected == self.data.len() as u64;
        if fits { Ok(()) } else { Err(ErrorCode::BAD_MESSAGE.with("a region that contradicts itself")) }
    }

    /// The checksum that a block should have, if it is bad.
    fn bad_at(&self, offset: u64) -> Option<u32> {
        let block = offset.checked_sub(self.header.start)? / BLOCK_BYTES;
        self.header.bad.iter().flatten().find(|bad| u64::from(bad.block) == block).map(|bad| bad.crc)
    }

    fn has(&self, block: u64) -> bool {
        let byte = self.header.present.get((block / 8) as usize).copied().unwrap_or(0);
        byte >> (block % 8) & 1 == 1
    }

    /// Runs of blocks that are all there or all not: offset, length, there.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        let RegionHeader { len, start, end, present, .. } = &self.header;
        // The last byte of bits may have some for blocks that are no part of the region.
        let (most, end) = (present.len() as u64 * 8, *end.min(len));
        let blocks = end.saturating_sub(*start).div_ceil(BLOCK_BYTES).min(most);
        let mut at = 0;
        std::iter::from_fn(move || {
            let first = at;
            let there = (first < blocks).then(|| self.has(first))?;
            // A bad block is a run of its own.
            let bad = |at: u64| self.bad_at(start + at * BLOCK_BYTES).is_some();
            at += 1;
            while at < blocks && self.has(at) == there && !bad(at) && !bad(at - 1) {
                at += 1;
            }
            let offset = start + first * BLOCK_BYTES;
            Some((offset, (start + at * BLOCK_BYTES).min(end) - offset, there))
        })
    }
}

impl ChunkWorker {
    /// What is between two offsets, at most 4 MiB; the first is a multiple of the block size.
    pub fn export(&mut self, file: ChunkFileId, start: u64, end: u64) -> Result<Region, ChunkError> {
        let len = end.checked_sub(start).filter(|len| *len <= u64::from(MAX_IO_BYTES));
        if len.is_none() || !start.is_multiple_of(BLOCK_BYTES) {
            return Err(ChunkError::Invalid("a region has at most 4 MiB and begins with a block"));
        }
        if self.is_dead(file) {
            return Ok(Region::empty(There::Removed, 0, start));
        }
        self.settle(file)?;
        let Some((handle, _)) = self.open(file, false)? else { return Ok(Region::empty(There::Nothing, 0, start)) };
        let len = self.shared.len_of(file, &*handle)?;
        let behind =
            self.stored(file, start.max(len.next_multiple_of(BLOCK_BYTES)) / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES))?;
        if behind.iter().any(Option::is_some) {
            return Err(self.shared.checksum_error(file, len / BLOCK_BYTES));
        }
        let end = end.min(len);
        let mut region = Region::empty(There::File, len, start);
        if start >= end {
            return Ok(region);
        }
        let out = self.read(file, start, (end - start) as u32, true)?;
        let first = start / BLOCK_BYTES;
        let stored = self.stored(file, first, first + out.crcs.len() as u64)?;
        let mut present = vec![0_u8; stored.len().div_ceil(8)];
        let mut data = Vec::with_capacity(out.data.len());
        for (at, (block, crc)) in out.data.chunks(BLOCK_BYTES as usize).zip(&stored).enumerate() {
            if crc.is_some() {
                present[at / 8] |= 1 << (at % 8);
                data.extend_from_slice(&block[..block.len().min((end - start) as usize - at * BLOCK_BYTES as usize)]);
            }
        }
        region.header.end = end;
        region.header.present = present.into();
        region.data = data.into();
        Ok(region)
    }

    /// Makes everything from a region's start up to `end` (`u64::MAX`: to the end of the file) what the region says. A position:
    /// the chunk file is to be removed once the log is durable up to there.
    pub fn import(
        &mut self,
        file: ChunkFileId,
        region: &Region,
        end: u64,
        now_s: u64,
    ) -> Result<Option<Lsn>, ChunkError> {
        let RegionHeader { there, len, start, .. } = region.header;
        match there {
            There::Removed => return self.unlink(file, now_s).map(Some),
            There::Nothing if self.is_dead(file) => return Ok(None),
            There::Nothing => {}
            There::File => self.revive(file)?,
        }
        let (have, _) = self.stat(file)?;
        let keep = len.max(start);
        if have > keep && have <= end {
            self.or_without_block(file, keep, |worker| worker.truncate(file, keep))?;
            if len < start && self.is_nothing_behind(file, len)? {
                self.truncate(file, len)?;
            }
        } else if have > keep && keep < end {
            self.or_without_block(file, keep, |worker| worker.punch(file, keep, end - keep))?;
        }
        self.import_runs(file, region)?;
        if there == There::File && len <= end {
            let (have, _) = self.stat(file)?;
            if have < len {
                self.extend(file, len)?;
            } else if have > len && len >= start && self.is_nothing_behind(file, len)? {
                // What is behind the region went before.
                self.truncate(file, len)?;
            }
        }
        Ok(None)
    }

    /// Does what ends within a block of the region; if that is damaged here, without it, since the region brings it.
    fn or_without_block(
        &mut self,
        file: ChunkFileId,
        at: u64,
        change: impl Fn(&mut ChunkWorker) -> Result<(), ChunkError>,
    ) -> Result<(), ChunkError> {
        match change(self) {
            Err(ChunkError::Checksum { .. } | ChunkError::BadBlock { .. }) => {
                self.drop_block(file, at / BLOCK_BYTES)?;
                change(self)
            }
            other => other,
        }
    }

    /// Writes the blocks that a region has, and makes holes where it has none.
    fn import_runs(&mut self, file: ChunkFileId, region: &Region) -> Result<(), ChunkError> {
        let mut at = 0;
        for (offset, bytes, there) in region.runs() {
            if !there {
                // Where the other one ends within a block, here the whole block goes.
                self.punch(file, offset, bytes.next_multiple_of(BLOCK_BYTES))?;
                continue;
            }
            let data = region.data.slice(at..at + bytes as usize);
            at += bytes as usize;
            if let Some(crc) = region.bad_at(offset) {
                self.import_bad(file, offset, data, crc)?;
                continue;
            }
            let mut done = 0;
            let crc = |piece: usize| {
                done += piece;
                crc32c(&data[done - piece..done])
            };
            let crcs = block_pieces(offset, bytes).map(crc).collect();
            self.write(WriteOp {
                session: ChunkWorker::OWN,
                file,
                offset,
                data: data.clone(),
                crcs,
                compared: true,
                stamp: Stamp::default(),
            })?;
        }
        Ok(())
    }

    /// Takes a bad block in, unless what it lacks is here.
    fn import_bad(&mut self, file: ChunkFileId, offset: u64, data: Bytes, crc: u32) -> Result<(), ChunkError> {
        let block = offset / BLOCK_BYTES;
        let (group, slot) = group_of(block);
        if self.shared.row(file, group)?.get(slot) == Some(crc)
            && let Some((handle, _)) = self.open(file, false)?
            && crc32c_zero_padded(&read_block(&*handle, offset)) == crc
        {
            return Ok(());
        }
        let (session, stamp, crcs) = (ChunkWorker::OWN, Stamp::default(), vec![crc32c(&data)]);
        self.write(WriteOp { session, file, offset, data, crcs, compared: true, stamp })?;
        note(&*self.shared.kv, List::Bad, file, block, crc)?;
        let (mut batch, mut row) = (Batch::new(), self.shared.row(file, group)?);
        row.set(slot, Some(crc));
        put_row(&mut batch, file, group, &row, &mut self.scratch);
        self.commit(&batch, &[file])?;
        Ok(())
    }

    /// Whether a chunk file shows only zeros from `len` on: what is before a region is not the region's business, but then the
    /// file can end where the other one does.
    fn is_nothing_behind(&mut self, file: ChunkFileId, len: u64) -> Result<bool, ChunkError> {
        let (cut, next) = (len / BLOCK_BYTES * BLOCK_BYTES, len.next_multiple_of(BLOCK_BYTES));
        if next > len {
            let block = match self.read(file, cut, BLOCK_BYTES as u32, true) {
                // The region with the block puts it right, and ends the file then.
                Err(ChunkError::Checksum { .. }) => return Ok(false),
                block => block?,
            };
            if block.data.iter().skip((len - cut) as usize).any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(self.seek(file, next, false)?.is_none())
    }

    fn extend(&mut self, file: ChunkFileId, len: u64) -> Result<(), ChunkError> {
        let Some((handle, created)) = self.open(file, true)? else { return Err(ChunkError::Stale(file)) };
        self.begin(&[Start { file, group: 0, intent: Vec::new(), created, overwrites: false }])?;
        handle.set_len(len).map_err(|e| self.shared.io_error("extend", file, e))
    }

    /// A chunk file that was removed here is there after all: what is left of it goes before the new content comes.
    fn revive(&mut self, file: ChunkFileId) -> Result<(), ChunkError> {
        if !self.is_dead(file) {
            return Ok(());
        }
        ChunkStore::remover_of(&self.shared).remove(file)?;
        self.shared.kv.apply(Batch::new().delete(file_key(tag::DEAD, file)))?;
        self.dead.remove(&file);
        self.dead_order.retain(|(dead, _)| *dead != file);
        self.forget(file);
        Ok(())
    }
}

/// What there is of a block; nothing if it cannot be read.
pub(super) fn read_block(handle: &dyn ChunkFile, offset: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    let read = handle.read_at(&mut block, offset).unwrap_or(0);
    block.truncate(read);
    block
}

impl ChunkStore {
    /// Whether writes of a session are refused.
    pub fn is_fenced(&self, session: nyala_wire::SessionId) -> bool {
        self.shared.fences.read().contains(session)
    }

    fn remover_of(shared: &Arc<super::shared::Shared>) -> super::unlink::Remover {
        super::unlink::Remover::new(shared.clone())
    }
}

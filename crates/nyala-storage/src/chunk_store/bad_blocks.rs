// SPDX-License-Identifier: Apache-2.0

//! Blocks of a mirrored chunk file that its last good member could not read, as they are copied to the others: as bad ones.
//!
//! A resync that stopped at the first block that it cannot read would leave all the rest of a group in one copy, for one block that is
//! lost. So the block goes over as what it is: with the checksum that it should have, which no data here matches, until it is
//! overwritten whole. Where the receiver has data that does match, that is what was lost elsewhere, and stays.
//!
//! **Failure model.** The machine dies: unsynced blocks that do not match their checksum get a new one ([`super::recover`]), which
//! would make data of what a bad block has. So each is listed before, with its checksum (tag `A`); the list is believed as long as the
//! block still has that checksum. The process dies on the way: the region was not acknowledged,
//! and comes again. A member that does not know bad blocks refuses the message, by its kind.

use super::disk::ChunkFile;
use super::error::ChunkError;
use super::region::{Region, RegionHeader, There};
use super::rows::{Row, group_key, tag};
use super::shared::{Shared, group_of, put_row};
use super::worker::ChunkWorker;
use super::write::WriteOp;
use bytes::Bytes;
use minicbor::{Decode, Encode};
use nyala_store::Batch;
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, Stamp};

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

impl RegionHeader {
    /// The checksum that a block of the region should have, if it is bad.
    pub(super) fn bad_at(&self, offset: u64) -> Option<u32> {
        let block = offset.checked_sub(self.start)? / BLOCK_BYTES;
        self.bad.iter().flatten().find(|bad| u64::from(bad.block) == block).map(|bad| bad.crc)
    }
}

impl ChunkWorker {
    /// What is between two offsets, as [`Self::export`] gives it; blocks that cannot be read, or are damaged, are bad ones of it.
    pub fn export_as_is(&mut self, file: ChunkFileId, start: u64, end: u64) -> Result<Region, ChunkError> {
        match self.export(file, start, end) {
            Err(ChunkError::Checksum { .. } | ChunkError::Io { .. }) => {}
            other => return other,
        }
        let Some((handle, _)) = self.open(file, false)? else { return Err(ChunkError::Stale(file)) };
        let len = self.shared.len_of(file, &*handle)?;
        let (first, last) = (start / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES));
        let stored = self.stored(file, first, last)?;
        let mut present = vec![0_u8; stored.len().div_ceil(8)];
        let (mut bad, mut data) = (Vec::new(), Vec::new());
        // A file that is too short for its blocks is damaged too; where it ended within the last one is not known any more.
        let behind = stored.iter().rposition(Option::is_some).map_or(0, |at| (first + at as u64) * BLOCK_BYTES);
        let len = if behind >= len { behind + BLOCK_BYTES } else { len };
        let end = end.min(len);
        let there = end.saturating_sub(start).div_ceil(BLOCK_BYTES) as usize;
        for (at, crc) in stored.iter().enumerate().take(there) {
            let Some(crc) = *crc else { continue };
            let offset = start + at as u64 * BLOCK_BYTES;
            let mut block = read_block(&*handle, offset);
            block.resize(BLOCK_BYTES.min(end - offset) as usize, 0);
            present[at / 8] |= 1 << (at % 8);
            if crc32c_zero_padded(&block) != crc {
                bad.push(BadBlock { block: at as u32, crc });
                self.shared.list_bad(file, first + at as u64, crc)?;
                tracing::error!(target_id = %self.shared.label, inode = %file.inode, index = file.index, offset,
                    "a block that nobody can read is copied to another member as a bad one");
            }
            data.extend_from_slice(&block);
        }
        let header = RegionHeader { there: There::File, len, start, end, present: present.into(), bad: Some(bad) };
        Ok(Region { header, data: data.into() })
    }

    /// Whether a block here is what a region lacks.
    fn has_what_is_bad(&mut self, file: ChunkFileId, offset: u64, crc: u32) -> Result<bool, ChunkError> {
        let Some((handle, _)) = self.open(file, false)? else { return Ok(false) };
        let (group, slot) = group_of(offset / BLOCK_BYTES);
        let same = self.shared.row(file, group)?.get(slot) == Some(crc);
        Ok(same && crc32c_zero_padded(&read_block(&*handle, offset)) == crc)
    }

    /// Takes a bad block in, unless what it lacks is here.
    pub(super) fn import_bad(
        &mut self,
        file: ChunkFileId,
        offset: u64,
        data: Bytes,
        crc: u32,
    ) -> Result<(), ChunkError> {
        if self.has_what_is_bad(file, offset, crc)? {
            return Ok(());
        }
        let crcs = vec![crc32c(&data)];
        let (session, stamp) = (ChunkWorker::OWN, Stamp::default());
        self.write(WriteOp { session, file, offset, data, crcs, compared: true, stamp })?;
        self.make_bad(file, offset, crc)
    }

    /// A block becomes a bad one.
    fn make_bad(&mut self, file: ChunkFileId, offset: u64, crc: u32) -> Result<(), ChunkError> {
        let block = offset / BLOCK_BYTES;
        let (group, slot) = group_of(block);
        let mut row = self.shared.row(file, group)?;
        row.set(slot, Some(crc));
        self.shared.list_bad(file, block, crc)?;
        let mut batch = Batch::new();
        put_row(&mut batch, file, group, &row, &mut self.scratch);
        self.commit(&batch, &[file])?;
        Ok(())
    }
}

impl Shared {
    fn list_bad(&self, file: ChunkFileId, block: u64, crc: u32) -> Result<(), ChunkError> {
        let (group, slot) = group_of(block);
        let (mut bad, mut value) = (self.bad_blocks(file, group)?, Vec::new());
        bad.set(slot, Some(crc));
        bad.encode(&mut value);
        self.kv.apply(Batch::new().put(group_key(tag::BAD_BLOCKS, file, group), value))?;
        Ok(())
    }

    /// The blocks of a group that are known to be bad, with the checksums that say so.
    pub(super) fn bad_blocks(&self, file: ChunkFileId, group: u32) -> Result<Row, ChunkError> {
        match self.kv.get(&group_key(tag::BAD_BLOCKS, file, group))? {
            None => Ok(Row::EMPTY),
            Some(value) => Row::decode(&value).ok_or_else(|| self.bad_record(file)),
        }
    }

    /// A change needs what a block had, and that is not there: refused by all members alike where the block is known to be bad.
    pub(super) fn cannot_change(&self, file: ChunkFileId, block: u64, crc: u32) -> ChunkError {
        let (group, slot) = group_of(block);
        let known = self.bad_blocks(file, group).is_ok_and(|bad| bad.get(slot) == Some(crc));
        if known { ChunkError::BadBlock { file, offset: block * BLOCK_BYTES } } else { self.checksum_error(file, block) }
    }
}

/// What there is of a block; nothing if it cannot be read.
fn read_block(handle: &dyn ChunkFile, offset: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    let read = handle.read_at(&mut block, offset).unwrap_or(0);
    block.truncate(read);
    block
}

// SPDX-License-Identifier: Apache-2.0

//! Regions with blocks that the last good member of a mirror group cannot read, for the others: as bad ones.
//!
//! A resync that stopped at the first block that it cannot read would leave all the rest of a group in one copy, for one block that is
//! lost. So the block goes over as what it is: with the checksum that it should have, which no data here matches, until it is
//! overwritten whole. Where the receiver has data that does match, that is what was lost elsewhere, and stays.
//!
//! **Failure model.** The machine dies: [`super::damage`]. The process dies on the way: the region was not acknowledged, and comes
//! again. A member that does not know bad blocks refuses the message, by its kind.

use super::damage::{List, note};
use super::error::ChunkError;
use super::region::{BadBlock, Region, RegionHeader, There, read_block};
use super::worker::ChunkWorker;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};

/// What is between two offsets, as [`ChunkWorker::export`] gives it; blocks that cannot be read, or are damaged, are bad ones of it.
pub fn export_as_is(worker: &mut ChunkWorker, file: ChunkFileId, start: u64, end: u64) -> Result<Region, ChunkError> {
    match worker.export(file, start, end) {
        Err(ChunkError::Checksum { .. } | ChunkError::Io { .. }) => {}
        other => return other,
    }
    let Some((handle, _)) = worker.open(file, false)? else { return Err(ChunkError::Stale(file)) };
    let len = worker.shared.len_of(file, &*handle)?;
    let (first, last) = (start / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES));
    let stored = worker.stored(file, first, last)?;
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
            note(&*worker.shared.kv, List::Bad, file, first + at as u64, crc)?;
            tracing::error!(target_id = %worker.shared.label, inode = %file.inode, index = file.index, offset,
                "a block that nobody can read is copied to another member as a bad one");
        }
        data.extend_from_slice(&block);
    }
    let header = RegionHeader { there: There::File, len, start, end, present: present.into(), bad: Some(bad) };
    Ok(Region { header, data: data.into() })
}

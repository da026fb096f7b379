// SPDX-License-Identifier: Apache-2.0

//! Which chunk files a target has, by their checksums, for a check of the whole file system.
//!
//! **Failure model.** See the parent module. Files come and go meanwhile: what a list says of a file was so at one moment. Nothing is
//! changed, and no chunk file is opened: a file that is missing on disk is listed, since its checksums are there.

use super::error::ChunkError;
use super::rows::{GROUP_BLOCKS, Row, file_key, group_key, parse_key, tag};
use super::worker::ChunkWorker;
use nyala_store::prefix_end;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use std::ops::{Bound, ControlFlow};

/// Rows behind each other that are read before the last one is searched for.
const STEPS: u32 = 4;

/// The chunk files with data from `from` on, whichever worker has them, at most `most`; of each the fewest bytes that it has to have
/// on disk.
pub fn files_from(worker: &ChunkWorker, from: ChunkFileId, most: usize) -> Result<Vec<(ChunkFileId, u64)>, ChunkError> {
    let (mut found, mut next) = (Vec::new(), Some(from));
    while let Some(from) = next.filter(|_| found.len() < most) {
        let Some((file, group)) = first_row(worker, &group_key(tag::CHECKSUMS, from, 0))? else { break };
        if worker.shared.kv.get(&file_key(tag::DEAD, file))?.is_none() {
            found.push((file, least_len(worker, file, group)?));
        }
        next = behind(file);
    }
    Ok(found)
}

/// The first row of checksums from a key on.
fn first_row(worker: &ChunkWorker, from: &[u8]) -> Result<Option<(ChunkFileId, u32)>, ChunkError> {
    let (end, mut first) = (prefix_end(&[tag::CHECKSUMS]), None);
    worker.shared.kv.scan(Bound::Included(from), Bound::Excluded(&end), &mut |key, _| {
        first = parse_key(key).and_then(|(file, group)| Some((file, group?)));
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(first)
}

/// Up to where the last block with a checksum begins, and one byte more.
fn least_len(worker: &ChunkWorker, file: ChunkFileId, group: u32) -> Result<u64, ChunkError> {
    let last = last_group(worker, file, group)?;
    let row: Row = worker.shared.row(file, last)?;
    let slot = 63_u64.saturating_sub(u64::from(row.present().leading_zeros()));
    Ok((u64::from(last) * GROUP_BLOCKS + slot) * BLOCK_BYTES + 1)
}

/// The last group that has a row: some are read in order, and of many the last one is searched for.
fn last_group(worker: &ChunkWorker, file: ChunkFileId, group: u32) -> Result<u32, ChunkError> {
    let next = |from: u32| {
        let row = first_row(worker, &group_key(tag::CHECKSUMS, file, from))?;
        Ok::<_, ChunkError>(row.filter(|(of, _)| *of == file).map(|(_, group)| group))
    };
    let mut last = group;
    for _ in 0..STEPS {
        match last.checked_add(1).map(next).transpose()?.flatten() {
            Some(later) => last = later,
            None => return Ok(last),
        }
    }
    // There is a row at `last`, and none from `end` on.
    let mut end = u32::MAX;
    while end > last + 1 {
        let middle = last + (end - last) / 2;
        match next(middle)? {
            Some(later) => last = later,
            None => end = middle,
        }
    }
    Ok(last)
}

/// The chunk file behind one, in the order of their keys.
fn behind(file: ChunkFileId) -> Option<ChunkFileId> {
    match file.index.checked_add(1) {
        Some(index) => Some(ChunkFileId { index, ..file }),
        None => file.inode.0.checked_add(1).map(|inode| ChunkFileId { inode: nyala_wire::InodeId(inode), index: 0 }),
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A write worked out before anything is changed: which bytes go where, and the checksums of the blocks afterwards.
//!
//! **Failure model.** Old bytes that are merged with new ones are compared with their checksum first: damage must not be
//! hidden under a fresh checksum. A block without checksum counts as zeros; leftovers that the file may have there are
//! overwritten together with the block's first write.

use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::rows::{Intent, Row};
use super::shared::{Shared, group_of};
use super::worker::Start;
use super::write::WriteOp;
use bytes::Bytes;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, block_pieces};
use std::ops::Range;
use std::sync::Arc;

/// A write, ready to go.
pub(super) struct Plan {
    pub file: ChunkFileId,
    pub handle: Arc<dyn ChunkFile>,
    /// Bytes to write, by offset.
    pub segments: Vec<(u64, Bytes)>,
    pub rows: Vec<(u32, Row)>,
    pub intent: Intent,
    /// Blocks that become present.
    pub added: u64,
    created: bool,
    overwrites: bool,
}

impl Plan {
    /// What the log has to know before it begins.
    pub fn start(&self) -> Start {
        let (group, intent) = (self.rows[0].0, self.intent.encode());
        Start { file: self.file, group, intent, created: self.created, overwrites: self.overwrites }
    }
}

/// Refuses what contradicts itself or arrived damaged.
pub(super) fn check(shared: &Shared, op: &WriteOp) -> Result<(), ChunkError> {
    op.check()?;
    if op.compared {
        return Ok(());
    }
    let damaged = op.first_damaged().map(|piece| ChunkError::Damaged { piece });
    damaged.map_or(Ok(()), |error| {
        shared.counters.add(Count::Damaged, 1);
        Err(error)
    })
}

/// Works a checked write of at least one byte out.
pub(super) fn plan(
    shared: &Shared,
    op: &WriteOp,
    handle: Arc<dyn ChunkFile>,
    created: bool,
) -> Result<Plan, ChunkError> {
    let end = op.offset + op.data.len() as u64;
    // Only blocks that are written in part have to do with what the file has.
    let whole = op.offset.is_multiple_of(BLOCK_BYTES) && end.is_multiple_of(BLOCK_BYTES);
    let file_len = if whole { 0 } else { shared.len_of(op.file, &*handle)? };
    let first = op.offset / BLOCK_BYTES;
    let last = first + op.crcs.len() as u64 - 1;
    let mut rows = Vec::with_capacity(2);
    for group in group_of(first).0..=group_of(last).0 {
        rows.push((group, shared.row(op.file, group)?));
    }
    let merger = Merger { shared, file: op.file, handle: &*handle, file_len };
    let (mut segments, mut crcs) = (Vec::with_capacity(1), op.crcs.clone());
    let (mut added, mut overwrites) = (0, false);
    // The run of the data that is written as it came: from here on, not yet in `segments`.
    let (mut at, mut run) = (0, 0);
    for (number, len) in block_pieces(op.offset, op.data.len() as u64).enumerate() {
        let block = first + number as u64;
        let (group, slot) = group_of(block);
        let row = &mut rows[(group - group_of(first).0) as usize].1;
        let old = row.get(slot);
        let inside = ((op.offset + at as u64) % BLOCK_BYTES) as usize;
        let piece = &op.data[at..at + len];
        let (crc, rewritten) = merger.merge(block, inside..inside + len, piece, op.crcs[number], old)?;
        if let Some(rewritten) = rewritten {
            push_run(&mut segments, op, run..at);
            segments.push((block * BLOCK_BYTES, rewritten));
            run = at + len;
        }
        at += len;
        crcs[number] = crc;
        overwrites |= old.is_some();
        added += u64::from(old.is_none());
        row.set(slot, Some(crc));
    }
    push_run(&mut segments, op, run..at);
    let intent = Intent::Write { first, crcs };
    Ok(Plan { file: op.file, handle, segments, rows, intent, added, created, overwrites })
}

fn push_run(segments: &mut Vec<(u64, Bytes)>, op: &WriteOp, run: Range<usize>) {
    if !run.is_empty() {
        segments.push((op.offset + run.start as u64, op.data.slice(run)));
    }
}

struct Merger<'a> {
    shared: &'a Shared,
    file: ChunkFileId,
    handle: &'a dyn ChunkFile,
    /// Looked up only where a block is written in part.
    file_len: u64,
}

impl Merger<'_> {
    /// The block's checksum with `piece` at `inside`; and the block's new bytes if they must be written as a whole.
    fn merge(
        &self,
        block: u64,
        inside: Range<usize>,
        piece: &[u8],
        piece_crc: u32,
        old: Option<u32>,
    ) -> Result<(u32, Option<Bytes>), ChunkError> {
        if inside.len() as u64 == BLOCK_BYTES {
            return Ok((piece_crc, None));
        }
        let in_file = self.file_len.saturating_sub(block * BLOCK_BYTES).min(BLOCK_BYTES) as usize;
        if inside.start == 0 && inside.end >= in_file {
            return Ok((crc32c_zero_padded(piece), None));
        }
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        if let Some(old) = old {
            let read = self.handle.read_at(&mut bytes[..in_file], block * BLOCK_BYTES);
            bytes.truncate(read.map_err(|e| self.shared.io_error("read", self.file, e))?);
            if in_file == 0 || crc32c_zero_padded(&bytes) != old {
                return Err(self.shared.cannot_change(self.file, block, old));
            }
        } else {
            bytes.clear();
        }
        bytes.resize(in_file.max(inside.end), 0);
        bytes[inside].copy_from_slice(piece);
        let crc = crc32c_zero_padded(&bytes);
        let leftovers = old.is_none() && in_file > 0;
        Ok((crc, leftovers.then(|| Bytes::from(bytes))))
    }
}

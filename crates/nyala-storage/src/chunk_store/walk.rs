// SPDX-License-Identifier: Apache-2.0

//! What is in a target, piece by piece, read from the disk and compared with its checksums.
//!
//! **Failure model.** See the parent module. Files change and vanish meanwhile: a piece is looked at in one go by the worker that all
//! changes of its file go through, so content and checksums belong together; what is gone by then is no piece. A disk that
//! cannot read has bad blocks, which is an answer. Nothing is changed.

use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::rows::{group_key, parse_key, tag};
use super::shared::group_of;
use super::worker::ChunkWorker;
use nyala_store::prefix_end;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::{PIECE_BYTES, WalkAt, WalkPiece};
use std::ops::{Bound, ControlFlow};

const BLOCK: usize = BLOCK_BYTES as usize;

impl ChunkWorker {
    /// Where there are pieces, from `from` on, whichever worker has them; at most `most`.
    pub fn pieces_from(&self, from: WalkAt, most: usize) -> Result<Vec<WalkAt>, ChunkError> {
        let start = match u32::try_from(from.offset / PIECE_BYTES) {
            Ok(group) => Bound::Included(group_key(tag::CHECKSUMS, from.file, group)),
            Err(_) => Bound::Excluded(group_key(tag::CHECKSUMS, from.file, u32::MAX)),
        };
        let end = prefix_end(&[tag::CHECKSUMS]);
        let mut found = Vec::new();
        let from = start.as_ref().map(|key| key.as_slice());
        self.shared.kv.scan(from, Bound::Excluded(&end), &mut |key, _| {
            if let Some((file, Some(group))) = parse_key(key) {
                found.push(WalkAt { file, offset: u64::from(group) * PIECE_BYTES });
            }
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }

    /// What is in a piece, if there is anything; with `verify` its blocks are read and compared with their checksums.
    pub fn piece(&mut self, at: WalkAt, verify: bool) -> Result<Option<WalkPiece>, ChunkError> {
        if self.is_dead(at.file) {
            return Ok(None);
        }
        match self.look(at, verify) {
            // Logged already. Nobody can say what is there: all of it is bad, and the walk goes on.
            Err(ChunkError::BadRecord(_) | ChunkError::Io { .. }) => {
                Ok(Some(WalkPiece { bad: u64::MAX, ..WalkPiece::empty(at) }))
            }
            other => other,
        }
    }

    fn look(&mut self, at: WalkAt, verify: bool) -> Result<Option<WalkPiece>, ChunkError> {
        self.settle(at.file)?;
        let (group, _) = group_of(at.offset / BLOCK_BYTES);
        let row = self.shared.row(at.file, group)?;
        if row.count() == 0 {
            return Ok(None);
        }
        let stored: Vec<(usize, u32)> = (0..64).filter_map(|slot| Some((slot, row.get(slot)?))).collect();
        let bad = if verify { self.bad_blocks(at, &stored)? } else { 0 };
        let checksums = stored.into_iter().map(|(_, crc)| crc).collect();
        Ok(Some(WalkPiece { at, present: row.present(), checksums, bad }))
    }

    fn bad_blocks(&mut self, at: WalkAt, stored: &[(usize, u32)]) -> Result<u64, ChunkError> {
        let handle = self.open(at.file, false)?.map(|(handle, _)| handle);
        let mut data = self.shared.buffers.take(PIECE_BYTES as usize);
        let whole = handle.as_ref().map_or(Ok(0), |handle| handle.read_from_disk(&mut data, at.offset));
        self.shared.counters.add(Count::CheckedBytes, stored.len() as u64 * BLOCK_BYTES);
        let mut bad = 0;
        for (slot, crc) in stored {
            let good = match (&whole, &handle) {
                (Ok(n), _) => {
                    let (from, to) = ((slot * BLOCK).min(*n), ((slot + 1) * BLOCK).min(*n));
                    from < to && crc32c_zero_padded(&data[from..to]) == *crc
                }
                // The disk cannot read some of it: which blocks?
                (Err(_), Some(handle)) => is_good(&**handle, at.offset + (slot * BLOCK) as u64, *crc),
                (Err(_), None) => false,
            };
            if !good {
                bad |= 1 << slot;
                // Logged and counted; the walk goes on.
                let _ = self.shared.checksum_error(at.file, at.offset / BLOCK_BYTES + *slot as u64);
            }
        }
        if let Err(error) = whole {
            let _ = self.shared.io_error("read", at.file, error);
        }
        Ok(bad)
    }
}

fn is_good(handle: &dyn ChunkFile, offset: u64, crc: u32) -> bool {
    let mut block = [0; BLOCK];
    handle.read_at(&mut block, offset).is_ok_and(|n| n > 0 && crc32c_zero_padded(&block[..n]) == crc)
}

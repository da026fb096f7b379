// SPDX-License-Identifier: Apache-2.0

//! Copies within one target: a verified read of one chunk file, then an ordinary write of another.
//!
//! **Failure model.** What was read is compared with its checksums first, so damage is not copied under fresh ones. The two
//! halves belong to different workers and hold nothing of each other, so copies that cross cannot wait for each other;
//! what others write to the source in between is in the copy, block by block, or not. The write has the intents of any.

use super::MAX_CHUNK_FILE_BYTES;
use super::error::ChunkError;
use super::read::ReadOut;
use super::repeats::Author;
use super::write::WriteOp;
use bytes::Bytes;
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{ChunkFileId, MAX_IO_BYTES, block_pieces};

/// Fills a read up with zeros, so that it has `len` bytes from `offset` on; where they start in the data.
pub fn pad_copy(read: &mut ReadOut, offset: u64, len: u32) -> usize {
    let skip = offset.saturating_sub(read.start) as usize;
    read.data.resize(skip + len as usize);
    skip
}

/// Refuses offsets that no chunk file has, before anything is done.
pub fn check_copy(from_offset: u64, offset: u64, len: u32) -> Result<(), ChunkError> {
    if len > MAX_IO_BYTES {
        return Err(ChunkError::Invalid("a copy has at most 4 MiB"));
    }
    let too_big = |at: u64| at.checked_add(u64::from(len)).is_none_or(|end| end > MAX_CHUNK_FILE_BYTES);
    if too_big(from_offset) || too_big(offset) { Err(ChunkError::TooBig) } else { Ok(()) }
}

/// The write of copied bytes, with their checksums at the new place. The offset was checked by [`check_copy`].
pub fn copy_write(by: Author, file: ChunkFileId, offset: u64, data: Bytes) -> WriteOp {
    let mut at = 0;
    let piece = |len: usize| {
        at += len;
        crc32c(&data[at - len..at])
    };
    let crcs = block_pieces(offset, data.len() as u64).map(piece).collect();
    WriteOp { session: by.session, stamp: by.stamp, file, offset, data, crcs, compared: true }
}

// SPDX-License-Identifier: Apache-2.0

//! Fuzz target of replies to reads: `crates/nyala-fuzz` runs it.

use crate::rpc::storage::{ChunkRange, check_read};
use nyala_transport::Frame;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::{BLOCK_BYTES, MAX_IO_BYTES, ReadReplyHeader, encode_bulk};
use nyala_wire::{DataLocation, InodeId, TargetId};

/// A reply to a read of a part of a chunk file: offset (u64) and length (u32) of what was asked for, length of the reply's body
/// (u8), body, payload. As it is, and with the payload's own length and checksums. What is accepted has the length that
/// was asked for. Whether it was accepted.
pub fn read_reply(bytes: &[u8]) -> bool {
    let Some((&[a, b, c, d, e, f, g, h, i, j, k, l, body], rest)) = bytes.split_first_chunk::<13>() else {
        return false;
    };
    let offset = u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 1;
    let len = u64::from(u32::from_le_bytes([i, j, k, l]) % (MAX_IO_BYTES + 1));
    let (body, payload) = rest.split_at(usize::from(body).min(rest.len()));
    let chunk = ChunkRange { inode: InodeId(2), location: DataLocation::Target(TargetId(1)), index: 0, offset };
    let accepted = |body: Vec<u8>| {
        let frame = Frame { body: body.into(), payload: payload.to_vec().into(), ..Frame::default() };
        let Ok(Some(segments)) = check_read(chunk, len, offset, &frame) else { return false };
        assert_eq!((segments.len(), segments.end()), (len, offset + len));
        let pieces = segments.into_pieces();
        let data: Vec<u8> = pieces.iter().flatten().copied().take(payload.len()).collect();
        let skip = (offset % BLOCK_BYTES) as usize;
        let have = payload.get(skip..).unwrap_or_default();
        assert!(data.iter().zip(have).all(|(got, sent)| got == sent), "the bytes are those that were sent");
        true
    };
    let checksums: Vec<u32> = payload.chunks(BLOCK_BYTES as usize).map(crc32c_zero_padded).collect();
    let header = ReadReplyHeader {
        start: (offset / BLOCK_BYTES * BLOCK_BYTES).into(),
        len: (payload.len() as u32).into(),
        checksums: (checksums.len() as u32).into(),
    };
    let mended = accepted(encode_bulk(&header, &checksums));
    assert!(mended, "a reply that is right is accepted");
    accepted(body.to_vec())
}

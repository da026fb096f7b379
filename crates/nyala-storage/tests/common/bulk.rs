// SPDX-License-Identifier: Apache-2.0

//! Bulk requests to a target without a mirror group.

use nyala_wire::TargetId;
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{ChunkFileId, ReadHeader, WriteHeader, block_pieces};

/// The head of a write of session 1, and the checksums of its blocks.
pub fn write_header(target: TargetId, file: ChunkFileId, offset: u64, data: &[u8]) -> (WriteHeader, Vec<u32>) {
    let mut at = 0;
    let piece = |len: usize| {
        at += len;
        crc32c(&data[at - len..at])
    };
    let crcs: Vec<u32> = block_pieces(offset, data.len() as u64).map(piece).collect();
    let header = WriteHeader {
        target: target.0.into(),
        index: file.index.into(),
        flags: 0.into(),
        inode: file.inode.0.into(),
        offset: offset.into(),
        session: 1.into(),
        len: (data.len() as u32).into(),
        checksums: (crcs.len() as u32).into(),
        client: 0.into(),
        number: 0.into(),
        slot: 0.into(),
        reserved: 0.into(),
    };
    (header, crcs)
}

/// The head of a read.
pub fn read_header(target: TargetId, file: ChunkFileId, offset: u64, len: u32, flags: u32) -> ReadHeader {
    ReadHeader {
        target: target.0.into(),
        index: file.index.into(),
        flags: flags.into(),
        inode: file.inode.0.into(),
        offset: offset.into(),
        len: len.into(),
        reserved: 0.into(),
    }
}

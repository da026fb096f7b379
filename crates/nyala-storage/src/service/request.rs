// SPDX-License-Identifier: Apache-2.0

//! Writes and reads as they come, on either road (to a target, or to a mirror group), taken apart and checked.
//!
//! **Failure model.** Senders may be wrong or hostile: whatever a request says of its own size is compared with what came, and
//! bounded, before anything is allocated, queued or ordered. Whether the data arrived damaged is found by [`WriteOp::compare`],
//! which costs a look at every byte and is the caller's to place.

use crate::chunk_store::WriteOp;
use bytes::Bytes;
use nyala_wire::storage::{ChunkFileId, MAX_IO_BYTES, ReadHeader, WriteHeader, decode_bulk};
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, WireError};

/// A read: at most 4 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadOp {
    /// The chunk file.
    pub file: ChunkFileId,
    /// Where, bytes.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
    /// Compare with the checksums here too, not only at the client.
    pub verify: bool,
}

/// A write that does not contradict itself, and the target that it is for.
pub(super) fn write(body: &[u8], data: Bytes) -> Result<(TargetId, WriteOp), WireError> {
    let (header, checksums) = decode_bulk::<WriteHeader>(body)?;
    let bad = |what: &str| Err(ErrorCode::BAD_MESSAGE.with(what));
    if header.len.get() as usize != data.len() {
        return bad("the length of the write is not that of its payload");
    }
    if header.checksums.get() as usize != checksums.len() {
        return bad("the number of checksums is not the one in the header");
    }
    if header.flags.get() != 0 {
        return bad("the write has flags that this build does not know");
    }
    let file = ChunkFileId { inode: InodeId(header.inode.get()), index: header.index.get() };
    let crcs = checksums.iter().map(|crc| crc.get()).collect();
    let (session, offset, stamp) = (SessionId(header.session.get()), header.offset.get(), header.stamp());
    let op = WriteOp { session, file, offset, data, crcs, compared: false, stamp };
    op.check()?;
    Ok((TargetId(header.target.get()), op))
}

/// A read, and the target that it is for.
pub(super) fn read(body: &[u8]) -> Result<(TargetId, ReadOp), WireError> {
    let (header, rest) = decode_bulk::<ReadHeader>(body)?;
    let (offset, len, flags) = (header.offset.get(), header.len.get(), header.flags.get());
    if len > MAX_IO_BYTES || !rest.is_empty() || flags & !ReadHeader::VERIFY != 0 {
        return Err(ErrorCode::BAD_MESSAGE.with("a read has at most 4 MiB, no checksums and no unknown flags"));
    }
    let file = ChunkFileId { inode: InodeId(header.inode.get()), index: header.index.get() };
    let op = ReadOp { file, offset, len, verify: flags & ReadHeader::VERIFY != 0 };
    Ok((TargetId(header.target.get()), op))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk_store::MAX_CHUNK_FILE_BYTES;
    use nyala_wire::storage::encode_bulk;
    use zerocopy::FromZeros;

    fn write_header(len: u32, checksums: u32) -> WriteHeader {
        let (target, inode, session) = (7.into(), 9.into(), 5.into());
        let (len, checksums) = (len.into(), checksums.into());
        WriteHeader { target, inode, session, len, checksums, ..WriteHeader::new_zeroed() }
    }

    fn refusal(header: &WriteHeader, checksums: &[u32], data: usize) -> ErrorCode {
        write(&encode_bulk(header, checksums), vec![0; data].into()).unwrap_err().code
    }

    #[test]
    fn a_write_says_of_itself_what_is_true() {
        let (target, op) = write(&encode_bulk(&write_header(100, 1), &[1]), vec![3; 100].into()).unwrap();
        assert_eq!((target, op.file.inode, op.session), (TargetId(7), InodeId(9), SessionId(5)));
        assert_eq!((op.data.len(), &op.crcs[..], op.compared), (100, &[1][..], false));
        assert_eq!(refusal(&write_header(100, 1), &[1], 99), ErrorCode::BAD_MESSAGE);
        assert_eq!(refusal(&write_header(100, 2), &[1], 100), ErrorCode::BAD_MESSAGE);
        assert_eq!(refusal(&write_header(100, 2), &[1, 2], 100), ErrorCode::BAD_MESSAGE, "one block, one checksum");
        let flags = WriteHeader { flags: 1.into(), ..write_header(100, 1) };
        assert_eq!(refusal(&flags, &[1], 100), ErrorCode::BAD_MESSAGE);
        let far = WriteHeader { offset: (MAX_CHUNK_FILE_BYTES - 99).into(), ..write_header(100, 1) };
        assert_eq!(refusal(&far, &[1], 100), ErrorCode::FILE_TOO_BIG);
        let last = WriteHeader { offset: (MAX_CHUNK_FILE_BYTES - 100).into(), ..write_header(100, 1) };
        assert!(write(&encode_bulk(&last, &[1]), vec![0; 100].into()).is_ok());
        let most = MAX_IO_BYTES as usize + 1;
        assert_eq!(refusal(&write_header(most as u32, 1025), &[0; 1025], most), ErrorCode::BAD_MESSAGE);
    }

    #[test]
    fn a_read_is_bounded_and_has_no_flags_of_tomorrow() {
        let header = |len: u32, flags: u32| {
            let (target, len, flags) = (7.into(), len.into(), flags.into());
            encode_bulk(&ReadHeader { target, len, flags, ..ReadHeader::new_zeroed() }, &[])
        };
        let (target, op) = read(&header(MAX_IO_BYTES, ReadHeader::VERIFY)).unwrap();
        assert_eq!((target, op.len, op.verify), (TargetId(7), MAX_IO_BYTES, true));
        assert!(!read(&header(1, 0)).unwrap().1.verify);
        assert!(read(&header(MAX_IO_BYTES + 1, 0)).is_err() && read(&header(1, 1 << 31)).is_err());
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Requests to storage services. Bulk data has fixed layouts (`zerocopy`), everything else is CBOR.
//!
//! Offsets are in the chunk file of one target. A block is 4 KiB of a chunk file, aligned; its checksum is the CRC-32C
//! of its 4,096 bytes, with zeros after the end of the chunk file and in holes.

use crate::error::{ErrorCode, WireError};
pub use crate::ids::ChunkFileId;
use crate::ids::{InodeId, SessionId, TargetId};
use crate::storage_grants::StorageRights;
use crate::walk::{WalkAt, WalkPiece};
use minicbor::{Decode, Encode};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Most bytes of data in one read or write.
pub const MAX_IO_BYTES: u32 = 4 << 20;
/// Bytes of a block.
pub const BLOCK_BYTES: u64 = crate::checksum::BLOCK_BYTES as u64;

/// Body of a bulk write: this header, then one CRC-32C (u32) for each block that the data touches, over the bytes of
/// the data that lie in that block (not padded). The payload is the data. The reply's body is a [`WriteReplyHeader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct WriteHeader {
    /// Target.
    pub target: U16,
    /// Stripe index.
    pub index: U16,
    /// Flags: none defined, 0.
    pub flags: U32,
    /// Inode.
    pub inode: U64,
    /// Offset in the chunk file, bytes.
    pub offset: U64,
    /// Session of the writer.
    pub session: U64,
    /// Length of the data; equals the payload's.
    pub len: U32,
    /// Number of checksums that follow.
    pub checksums: U32,
    /// As in [`Stamp::client`].
    pub client: U64,
    /// As in [`Stamp::number`].
    pub number: U64,
    /// As in [`Stamp::slot`].
    pub slot: U32,
    /// Zero.
    pub reserved: U32,
}

impl WriteHeader {
    /// Which of its client's changes it is.
    pub fn stamp(&self) -> Stamp {
        Stamp { client: self.client.get(), number: self.number.get(), slot: self.slot.get() }
    }
}

/// Body of the reply to a bulk write: the write verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct WriteReplyHeader {
    /// As in [`WriteVerifier::target`].
    pub target: U16,
    /// Zero.
    pub reserved: U16,
    /// As in [`WriteVerifier::losses`].
    pub losses: U32,
}

impl WriteReplyHeader {
    /// The verifier that it carries.
    pub fn verifier(&self) -> WriteVerifier {
        WriteVerifier { target: TargetId(self.target.get()), losses: self.losses.get() }
    }
}

/// Tells whether a target may have lost, between a change and a later sync, what it had acknowledged: the two answers differ then. After
/// the write verifier of NFS version 3 (RFC 1813, 3.3.7 and 3.3.21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct WriteVerifier {
    /// The target that answered; of a mirror group, its primary.
    #[n(0)]
    pub target: TargetId,
    /// How often it has lost power, or its file system, with changes that may not have been on its disk.
    #[n(1)]
    pub losses: u32,
}

impl WriteVerifier {
    /// As a bulk write's reply carries it.
    pub fn header(&self) -> WriteReplyHeader {
        WriteReplyHeader { target: self.target.0.into(), reserved: 0.into(), losses: self.losses.into() }
    }
}

/// Which of a client's changes of a target without mirrors this is: the same when it is sent again, so that a copy that comes late does
/// nothing. A client numbers the changes of each of its slots upwards, and begins the next one of a slot only when it
/// waits for no answer to the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Stamp {
    /// The client: random, for the life of its process. 0: not stamped, and done whenever it comes.
    #[n(0)]
    pub client: u64,
    /// The number of the change among those of its slot, from 1.
    #[n(1)]
    pub number: u64,
    /// The slot, below [`MAX_STAMP_SLOTS`].
    #[n(2)]
    pub slot: u32,
}

/// Slots of one client at one target: changes that can be under way at once.
pub const MAX_STAMP_SLOTS: u32 = 1024;

/// Body of a bulk read. The reply's body is a [`ReadReplyHeader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ReadHeader {
    /// Target.
    pub target: U16,
    /// Stripe index.
    pub index: U16,
    /// Flags: [`ReadHeader::VERIFY`].
    pub flags: U32,
    /// Inode.
    pub inode: U64,
    /// Offset in the chunk file, bytes.
    pub offset: U64,
    /// Length, bytes; at most [`MAX_IO_BYTES`].
    pub len: U32,
    /// Zero.
    pub reserved: U32,
}

/// A flag of the reply to a bulk read: the data came from where the file system has it, so that a write beside the read may
/// have changed it on the way. Data that does not match is then no news until a read with `VERIFY` says so.
pub const READ_IN_PLACE: u32 = 1 << 16;

impl ReadHeader {
    /// The server checks the blocks itself and answers `CHECKSUM` for a bad one: asked for after a client saw one, to
    /// tell a bad disk from a bad network.
    pub const VERIFY: u32 = 1;
}

/// Body of the reply to a bulk read: this header, then one CRC-32C (u32) for each block. The payload is the data of
/// whole blocks from `start` on; it ends earlier than asked for where the chunk file ends, and what is behind that
/// end reads as zeros. The last block may be shorter than 4 KiB: its checksum is over the block padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ReadReplyHeader {
    /// Offset of the payload in the chunk file: the asked offset rounded down to a block.
    pub start: U64,
    /// Length of the payload.
    pub len: U32,
    /// Number of checksums that follow.
    pub checksums: U32,
}

/// Number of blocks that `len` bytes at `offset` touch; those beyond the largest offset do not count.
pub fn blocks_touched(offset: u64, len: u64) -> u64 {
    if len == 0 { 0 } else { offset.saturating_add(len - 1) / BLOCK_BYTES - offset / BLOCK_BYTES + 1 }
}

/// Lengths of the pieces that `len` bytes at `offset` have in each block, in order; what lies beyond the largest offset is left out.
pub fn block_pieces(offset: u64, len: u64) -> impl Iterator<Item = usize> {
    let mut at = offset;
    let end = offset.saturating_add(len);
    std::iter::from_fn(move || {
        let piece = (BLOCK_BYTES - at % BLOCK_BYTES).min(end.checked_sub(at)?);
        at += piece;
        (piece > 0).then_some(piece as usize)
    })
}

/// Builds the body of a bulk message: a header and checksums.
pub fn encode_bulk<H: IntoBytes + Immutable>(header: &H, checksums: &[u32]) -> Vec<u8> {
    let mut body = Vec::with_capacity(size_of::<H>() + 4 * checksums.len());
    body.extend_from_slice(header.as_bytes());
    checksums.iter().for_each(|crc| body.extend_from_slice(&crc.to_le_bytes()));
    body
}

/// Takes the body of a bulk message apart: header, and the little-endian checksums behind it.
pub fn decode_bulk<H>(body: &[u8]) -> Result<(H, &[U32]), WireError>
where
    H: FromBytes + KnownLayout + Immutable + Unaligned + Copy,
{
    let short = || ErrorCode::BAD_MESSAGE.with("bulk header is cut off");
    let (header, rest) = H::read_from_prefix(body).map_err(|_| short())?;
    let checksums = <[U32]>::ref_from_bytes(rest).map_err(|_| short())?;
    Ok((header, checksums))
}

/// A request to a storage target, bulk data apart.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StorageRequest {
    /// Target.
    #[n(0)]
    pub target: TargetId,
    /// Chunk file.
    #[n(1)]
    pub file: ChunkFileId,
    /// What to do. All operations are idempotent.
    #[n(2)]
    pub op: StorageOp,
    /// For whom something is changed: the session of the client that accepted it from a program. Absent or 0: a server's own
    /// change, which is taken from servers only.
    #[n(3)]
    #[cbor(default)]
    pub session: SessionId,
    /// Which change of its client's it is; absent for what changes nothing, and in mirror groups, whose requests have numbers. With `List` it
    /// only says which client asks.
    #[n(4)]
    pub stamp: Option<Stamp>,
}

impl StorageRequest {
    /// A request of nobody's session: it changes nothing, or a server sends it.
    pub fn new(target: TargetId, file: ChunkFileId, op: StorageOp) -> StorageRequest {
        StorageRequest { target, file, op, session: SessionId(0), stamp: None }
    }

    /// For a client's session.
    pub fn of_session(self, session: SessionId) -> StorageRequest {
        StorageRequest { session, ..self }
    }
}

impl StorageOp {
    /// The inodes whose chunks it uses, and how, if it is asked about `inode`: a sync, and what is about a whole target, none.
    pub fn uses(&self, inode: InodeId) -> Vec<(InodeId, StorageRights)> {
        use StorageOp::{Allocate, Copy, Fence, List, Punch, Repair, Seek, Stat, Sync, Truncate, Unlink, Walk};
        match self {
            Truncate { .. } | Punch { .. } | Unlink | Allocate { .. } => vec![(inode, StorageRights::Write)],
            // A repair makes a damaged copy what the others are; whoever reads the file may ask for it.
            Stat | Seek { .. } | Repair { .. } => vec![(inode, StorageRights::Read)],
            Copy { from, .. } => vec![(inode, StorageRights::Write), (from.inode, StorageRights::Read)],
            Sync | Fence { .. } | Walk { .. } | List { .. } => Vec::new(),
        }
    }

    /// Whether its reply is `Stored`: it changes what a later sync puts on disk, or is that sync.
    pub fn is_stored(&self) -> bool {
        use StorageOp::{Allocate, Copy, Punch, Sync};
        matches!(self, Punch { .. } | Copy { .. } | Allocate { .. } | Sync)
    }

    /// Whether it changes what a chunk file holds, so that a fence must be able to refuse it. A repair only makes one copy what
    /// the others are.
    pub fn is_change(&self) -> bool {
        use StorageOp::{Allocate, Copy, Punch, Truncate, Unlink};
        matches!(self, Truncate { .. } | Punch { .. } | Unlink | Copy { .. } | Allocate { .. })
    }
}

/// What to do with a chunk file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StorageOp {
    /// Cut the chunk file to at most this length. A missing one is fine. On disk when answered. Reply: `Done`.
    #[n(0)]
    Truncate {
        /// Length, bytes.
        #[n(0)]
        len: u64,
    },
    /// Make a hole: the range reads as zeros. Reply: `Stored`.
    #[n(1)]
    Punch {
        /// Offset, bytes.
        #[n(0)]
        offset: u64,
        /// Length, bytes.
        #[n(1)]
        len: u64,
    },
    /// Answer when everything written before is on disk. Reply: `Stored`.
    #[n(2)]
    Sync,
    /// Remove the chunk file; later writes to it are refused with ESTALE. Reply: `Done`.
    #[n(3)]
    Unlink,
    /// Length and blocks of the chunk file; zeros if there is none. Reply: `Stat`.
    #[n(4)]
    Stat,
    /// Next data or hole at or after an offset (`SEEK_DATA`, `SEEK_HOLE`). Reply: `Offset`.
    #[n(5)]
    Seek {
        /// Where to start, bytes.
        #[n(0)]
        offset: u64,
        /// A hole instead of data.
        #[n(1)]
        hole: bool,
    },
    /// Refuse all further changes of a session with FENCED, for good: its client lost its delegations without knowing. For the
    /// whole target, whatever file is named. On disk when answered. Reply: `Done`.
    #[n(7)]
    Fence {
        /// The session.
        #[n(0)]
        session: SessionId,
    },
    /// Copy from another chunk file of the same target; what it does not have is zeros. Reply: `Stored`.
    #[n(8)]
    Copy {
        /// From there.
        #[n(0)]
        from: ChunkFileId,
        /// Offset there, bytes.
        #[n(1)]
        from_offset: u64,
        /// Offset here, bytes.
        #[n(2)]
        offset: u64,
        /// Length, bytes; at most [`MAX_IO_BYTES`].
        #[n(3)]
        len: u32,
    },
    /// To a mirror group: the copy of the member `bad` does not match its checksums; give it that of a good one. Reply: `Done`.
    #[n(9)]
    Repair {
        /// Offset, bytes.
        #[n(0)]
        offset: u64,
        /// Length, bytes; at most [`MAX_IO_BYTES`].
        #[n(1)]
        len: u32,
        /// The member.
        #[n(2)]
        bad: TargetId,
    },
    /// Say what is in all chunk files from this one on, in their order. Reply: `Walked`.
    #[n(10)]
    Walk {
        /// Where in this one, bytes.
        #[n(0)]
        offset: u64,
        /// How much about, bytes; at most [`MAX_IO_BYTES`], and one piece at least.
        #[n(1)]
        bytes: u32,
        /// Read it all from the disk, and compare it with its checksums.
        #[n(2)]
        verify: bool,
    },
    /// Say which chunk files there are from this one on, in their order. Reply: `Listed`.
    #[n(11)]
    List {
        /// At most so many, and at most [`MAX_LISTED`].
        #[n(0)]
        most: u32,
    },
    /// Reserve space. Reply: `Stored`.
    #[n(6)]
    Allocate {
        /// Offset, bytes.
        #[n(0)]
        offset: u64,
        /// Length, bytes.
        #[n(1)]
        len: u64,
    },
}

/// Replies of storage, bulk data apart.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StorageReply {
    /// Done.
    #[n(0)]
    Done,
    /// A chunk file's length and use.
    #[n(1)]
    Stat {
        /// Length, bytes.
        #[n(0)]
        len: u64,
        /// Units of 512 bytes in use.
        #[n(1)]
        blocks: u64,
    },
    /// An offset; absent if there is no data behind the start.
    #[n(2)]
    Offset(#[n(0)] Option<u64>),
    /// A part of what a target holds.
    #[n(3)]
    Walked {
        /// In order.
        #[n(0)]
        pieces: Vec<WalkPiece>,
        /// Where it goes on; absent at the end.
        #[n(1)]
        next: Option<WalkAt>,
    },
    /// Done; a change is on disk once a sync has been answered with the same verifier.
    #[n(4)]
    Stored(#[n(0)] WriteVerifier),
    /// Chunk files of a target.
    #[n(5)]
    Listed {
        /// In order.
        #[n(0)]
        files: Vec<ListedFile>,
        /// Where it goes on; absent at the end.
        #[n(1)]
        next: Option<ChunkFileId>,
    },
}

/// Most chunk files in one reply to [`StorageOp::List`].
pub const MAX_LISTED: u32 = 1024;

/// A chunk file of a target, as a list has it. Those without any data are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ListedFile {
    /// Which.
    #[n(0)]
    pub file: ChunkFileId,
    /// Its length on disk, bytes; 0 if there is none.
    #[n(1)]
    pub len: u64,
    /// With fewer bytes it has lost data: its checksums go so far.
    #[n(2)]
    pub least: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_counts_agree() {
        for (offset, len) in [(0, 0), (0, 1), (4095, 1), (4095, 2), (0, 4096), (100, 10_000), (8192, 4097)] {
            let pieces: Vec<usize> = block_pieces(offset, len).collect();
            assert_eq!(pieces.len() as u64, blocks_touched(offset, len));
            assert_eq!(pieces.iter().sum::<usize>() as u64, len);
            assert!(pieces.iter().all(|&piece| piece <= 4096));
        }
        // Senders may say anything, and are answered rather than believed.
        assert_eq!(block_pieces(u64::MAX - 10, 4096).sum::<usize>(), 10);
        assert_eq!(blocks_touched(u64::MAX - 10, 4096), 1);
    }

    #[test]
    fn bulk_bodies() {
        let header = ReadReplyHeader { start: 8192.into(), len: 4100.into(), checksums: 2.into() };
        let body = encode_bulk(&header, &[7, 9]);
        let (back, checksums) = decode_bulk::<ReadReplyHeader>(&body).unwrap();
        assert_eq!(back, header);
        assert_eq!(checksums.iter().map(|crc| crc.get()).collect::<Vec<_>>(), [7, 9]);
        assert!(decode_bulk::<ReadReplyHeader>(&body[..10]).is_err());
        assert!(decode_bulk::<ReadReplyHeader>(&body[..18]).is_err());
        assert_eq!(size_of::<WriteHeader>(), 64);
        assert_eq!(size_of::<ReadHeader>(), 32);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What can go wrong with an operation on a chunk file, and how it goes over the wire.

use nyala_store::StoreError;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{ErrorCode, WireError};
use std::io;

/// Why an operation on a chunk file failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The data does not match the checksums that came with it; nothing was written.
    #[error("block {piece} of the data arrived damaged; send it again")]
    Damaged {
        /// Number of the block piece within the data.
        piece: usize,
    },
    /// Stored data does not match its stored checksum, or is not there at all.
    #[error("chunk file {}.{} is damaged at byte {offset}", .file.inode, .file.index)]
    Checksum {
        /// The chunk file.
        file: ChunkFileId,
        /// Offset of the block in the chunk file.
        offset: u64,
    },
    /// A change needs the old content of a block of which every copy of a mirror group is damaged.
    #[error(
        "every copy of chunk file {}.{} is damaged at byte {offset}: write the whole block of 4 KiB, or put the file back from a backup",
        .file.inode, .file.index
    )]
    BadBlock {
        /// The chunk file.
        file: ChunkFileId,
        /// Offset of the block in the chunk file.
        offset: u64,
    },
    /// The target is full.
    #[error("the storage target is full")]
    NoSpace,
    /// The chunk file was removed.
    #[error("chunk file {}.{} was removed", .0.inode, .0.index)]
    Stale(ChunkFileId),
    /// The session is fenced.
    #[error("the session of this change was ended, since its client was silent for too long; nothing was changed")]
    Fenced,
    /// An old copy of a change for which nobody waits any more.
    #[error("the client has gone on since it sent this change; nothing was changed")]
    Late,
    /// The offset is beyond what a chunk file can have.
    #[error("a chunk file has at most {} bytes", super::MAX_CHUNK_FILE_BYTES)]
    TooBig,
    /// The request contradicts itself.
    #[error("{0}")]
    Invalid(&'static str),
    /// The file system failed.
    #[error("{operation} chunk file {}.{}: {cause}", .file.inode, .file.index)]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which chunk file.
        file: ChunkFileId,
        /// The system's words.
        cause: io::Error,
    },
    /// The key-value store failed.
    #[error(transparent)]
    Store(StoreError),
    /// A value in the key-value store is not what this version writes.
    #[error("the record of checksums of chunk file {}.{} cannot be read; run a full check of this target", .0.inode, .0.index)]
    BadRecord(ChunkFileId),
    /// The record of a fenced session is not what this version writes.
    #[error("the record of a fenced session cannot be read; run a full check of this target")]
    BadFence,
}

impl ChunkError {
    /// Whether the process, or the system, has no descriptor left: worth another try.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        matches!(self, ChunkError::Io { cause, .. } if matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)))
    }

    pub(crate) fn io(operation: &'static str, file: ChunkFileId, cause: io::Error) -> ChunkError {
        match cause.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => ChunkError::NoSpace,
            Some(libc::EFBIG) => ChunkError::TooBig,
            _ => ChunkError::Io { operation, file, cause },
        }
    }
}

impl From<StoreError> for ChunkError {
    fn from(error: StoreError) -> ChunkError {
        match error {
            StoreError::Full { .. } | StoreError::Reserved { .. } => ChunkError::NoSpace,
            other => ChunkError::Store(other),
        }
    }
}

impl From<ChunkError> for WireError {
    fn from(error: ChunkError) -> WireError {
        let code = match &error {
            ChunkError::Damaged { .. } => ErrorCode::DAMAGED,
            ChunkError::Checksum { .. } | ChunkError::BadRecord(_) | ChunkError::BadFence => ErrorCode::CHECKSUM,
            ChunkError::BadBlock { .. } => ErrorCode::BAD_BLOCK,
            ChunkError::NoSpace => ErrorCode::NO_SPACE,
            ChunkError::Stale(_) => ErrorCode::STALE,
            ChunkError::Fenced => ErrorCode::FENCED,
            ChunkError::TooBig => ErrorCode::FILE_TOO_BIG,
            ChunkError::Invalid(_) | ChunkError::Late => ErrorCode::BAD_MESSAGE,
            ChunkError::Store(StoreError::Busy { .. }) => ErrorCode::BUSY,
            ChunkError::Store(StoreError::Closed) => ErrorCode::NOT_READY,
            ChunkError::Store(StoreError::Corrupt { .. } | StoreError::TableDamaged { .. }) => ErrorCode::CHECKSUM,
            ChunkError::Io { cause, .. } if cause.raw_os_error() == Some(libc::EOPNOTSUPP) => ErrorCode::NOT_SUPPORTED,
            error if error.is_out_of_descriptors() => ErrorCode::NOT_READY,
            ChunkError::Io { .. } | ChunkError::Store(_) => ErrorCode::IO,
        };
        code.with(error.to_string())
    }
}

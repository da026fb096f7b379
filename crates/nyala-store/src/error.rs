// SPDX-License-Identifier: Apache-2.0

//! The one error type of the store.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Shortage;

/// What can go wrong, and what to do about it. Cheap to clone: a poisoned store hands its cause to every caller.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process, or another `Store` of this one, has the directory open.
    #[error("{path}: the store is in use by another process; stop it first")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// There is no room for another log segment; nothing of the batch was done.
    #[error("no space for a log segment of {bytes} bytes in {location}; free space and try again")]
    Full {
        /// Bytes that could not be allocated.
        bytes: u64,
        /// The log directory.
        location: String,
    },
    /// What is left is kept for what does not make the store larger; nothing of the change was done.
    #[error("{location}: {shortage}; remove files, or give the disk more room")]
    Reserved {
        /// The log directory.
        location: String,
        /// What there is too little of.
        shortage: Shortage,
    },
    /// The tables in memory are at twice their limit because checkpoints do not keep up; nothing of the batch was done.
    #[error("{bytes} bytes of changes wait for a checkpoint; wait for room before applying more")]
    Busy {
        /// Bytes in memory.
        bytes: usize,
    },
    /// An earlier write or sync failed. What is on disk is unknown until the store is opened again.
    #[error("the store stopped after a failed {operation}: {cause}; check the disk, then open the store again")]
    Poisoned {
        /// What failed.
        operation: &'static str,
        /// The operating system's error.
        cause: Arc<io::Error>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A batch that the format cannot hold; nothing of it was done.
    #[error("batch refused: {reason}")]
    InvalidBatch {
        /// Which limit.
        reason: &'static str,
    },
    /// A file operation failed while opening or reading.
    #[error("{operation} {path}: {cause}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: String,
        /// The operating system's error.
        cause: Arc<io::Error>,
    },
    /// The log is damaged in a place that was once safely on disk, or is not complete.
    #[error("log {file} at byte {offset}: {reason}; restore this store from its mirror or a backup")]
    LogDamaged {
        /// Segment file.
        file: String,
        /// Byte offset in it.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A part of the checkpoint store is not what was written.
    #[error("table {file} at byte {offset}: {reason}; restore this store from its mirror or a backup")]
    TableDamaged {
        /// The file.
        file: String,
        /// Byte offset in it.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A value in an older build's table does not match its checksum.
    #[error("{store}: the value of key {key} is damaged; restore this store from its mirror or a backup")]
    Corrupt {
        /// Path of the checkpoint store.
        store: String,
        /// The key, in hexadecimal.
        key: String,
    },
    /// The checkpoint store failed or is not one of ours.
    #[error("checkpoint store {store}: {reason}")]
    Ordered {
        /// Path of the checkpoint store.
        store: String,
        /// What is wrong.
        reason: String,
    },
    /// The checkpoint store has no room (disk or map); checkpoints are tried again.
    #[error("checkpoint store {store} is full: {reason}")]
    OrderedFull {
        /// Path of the checkpoint store.
        store: String,
        /// What is wrong.
        reason: String,
    },
}

impl StoreError {
    pub(crate) fn io(operation: &'static str, path: impl Into<String>, cause: io::Error) -> Self {
        StoreError::Io { operation, path: path.into(), cause: Arc::new(cause) }
    }

    /// Whether the disk does not give back what was written: that of this store is lost, and only another copy has it.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::LogDamaged { .. } | StoreError::TableDamaged { .. } | StoreError::Corrupt { .. } => true,
            StoreError::Io { cause, .. } => cause.raw_os_error() == Some(libc::EIO),
            _ => false,
        }
    }

    pub(crate) fn poisoned(operation: &'static str, cause: io::Error) -> Self {
        StoreError::Poisoned { operation, cause: Arc::new(cause) }
    }
}

/// Whether an I/O error says that there is no room.
pub(crate) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) || error.kind() == io::ErrorKind::StorageFull
}

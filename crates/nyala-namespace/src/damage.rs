// SPDX-License-Identifier: Apache-2.0

//! What the tables show about themselves: a row that is not there though another one says that it is.
//!
//! Checksums find what a disk changed. Rows that were lost otherwise, by a mistake of ours or by a hand in the files, leave
//! pages that are whole. An answer that would be wrong without its rows is an error instead, wherever another row that is
//! read anyway tells.

use nyala_wire::{ErrorCode, InodeId, WireError};

/// EIO with what is missing, for the log of the client that asked.
pub fn lost(inode: InodeId, what: &str) -> WireError {
    ErrorCode::IO.with(format!("the metadata tables of inode {inode} are damaged: {what}; restore the metadata target"))
}

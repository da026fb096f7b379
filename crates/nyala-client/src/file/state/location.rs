// SPDX-License-Identifier: Apache-2.0

//! The places where a file's content can be.

use super::migration::InlineMigration;
use bytes::Bytes;

/// Where a file's content is.
pub(crate) enum Content {
    /// The server has not been asked.
    Unknown,
    /// With the inode.
    Inline { version: u64, data: Bytes },
    /// On its way to storage.
    Migrating(InlineMigration),
    /// On storage targets, for good; on which ones may change.
    Striped,
}

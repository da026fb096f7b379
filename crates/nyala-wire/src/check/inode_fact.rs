// SPDX-License-Identifier: Apache-2.0

//! Inode records, as facts.

use crate::file_kind::FileKind;
use crate::fragments::CookieRange;
use crate::ids::InodeId;
use crate::stripe::Layout;
use crate::time::Time;
use minicbor::{Decode, Encode};

/// What an inode's record says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct InodeFact {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// What it is.
    #[n(1)]
    pub kind: FileKind,
    /// Number of links.
    #[n(2)]
    pub nlink: u32,
    /// Size in bytes.
    #[n(3)]
    pub size: u64,
    /// Last change of attributes.
    #[n(4)]
    pub ctime: Time,
    /// Of a directory: the one above.
    #[n(5)]
    pub parent: Option<InodeId>,
    /// Of a directory: number of entries.
    #[n(6)]
    pub entries: Option<u64>,
    /// Of a regular file: where its data is, or will be.
    #[n(7)]
    pub layout: Option<Layout>,
    /// Of a regular file that is not striped: version of its content.
    #[n(8)]
    pub inline_version: Option<u64>,
    /// Bytes of the names of all extended attributes, each with one more; absent if there is none.
    #[n(9)]
    pub xattr_bytes: Option<u32>,
    /// Bytes that a striped file takes on storage; absent: as many as its size.
    #[n(10)]
    pub allocated: Option<u64>,
    /// Of a fragment of `parent`: its cookies.
    #[n(11)]
    pub range: Option<CookieRange>,
}

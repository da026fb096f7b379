// SPDX-License-Identifier: Apache-2.0

//! Where an inode has a name, or a chunk file.

use minicbor::{Decode, Encode};
use nyala_wire::{FileKind, InodeId, TargetId};

/// A name of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode)]
pub struct NameAt {
    /// The directory.
    #[n(0)]
    pub dir: InodeId,
    /// Its place there.
    #[n(1)]
    pub cookie: u64,
    /// What the inode is by that name.
    #[n(2)]
    pub kind: FileKind,
    /// A lookup does not look there.
    #[n(3)]
    pub misplaced: bool,
    /// The directory, whatever fragment of it `dir` is.
    #[n(4)]
    pub of: InodeId,
}

/// A chunk file of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChunkAt {
    /// The storage target.
    #[n(0)]
    pub target: TargetId,
    /// Stripe index.
    #[n(1)]
    pub index: u16,
    /// Bytes on disk.
    #[n(2)]
    pub len: u64,
    /// Bytes that it has to have at least.
    #[n(3)]
    pub least: u64,
}

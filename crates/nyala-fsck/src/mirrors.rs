// SPDX-License-Identifier: Apache-2.0

//! What members of mirror groups hold that is not what the group's primary holds, as somebody found who compared them. It was looked at
//! as of one moment, or twice, so nothing is looked at again.

use nyala_wire::storage::ChunkFileId;
use nyala_wire::{GroupId, TargetId};
use std::ops::Range;

/// A member of a metadata server's mirror group holds other rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesDiffer {
    /// The group.
    pub group: GroupId,
    /// Its primary, when they were compared.
    pub primary: TargetId,
    /// The member.
    pub member: TargetId,
    /// Ranges of keys that differ.
    pub ranges: u64,
    /// Keys of rows that do, or of the rows before those that only the member has; the first ones.
    pub keys: Vec<Vec<u8>>,
}

/// A member of a mirror group holds something else of a chunk file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkDiffers {
    /// The group.
    pub group: GroupId,
    /// Its primary, when they were compared.
    pub primary: TargetId,
    /// The member.
    pub member: TargetId,
    /// The chunk file.
    pub file: ChunkFileId,
    /// Bytes that differ, in whole blocks.
    pub ranges: Vec<Range<u64>>,
}

/// All that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// Tables of metadata.
    pub tables: Vec<TablesDiffer>,
    /// Chunk files.
    pub chunks: Vec<ChunkDiffers>,
}

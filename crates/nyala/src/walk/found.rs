// SPDX-License-Identifier: Apache-2.0

//! What a scrub of a target reports.

use nyala_wire::storage::ChunkFileId;
use nyala_wire::{GroupId, InodeId, TargetId};
use serde::Serialize;

/// A damaged place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Where.
    pub target: TargetId,
    /// The file, as `entry info` shows it, and as `ls -i` and `find -inum` do.
    pub inode: String,
    /// The same, as a number.
    pub inode_number: u64,
    /// Stripe index.
    pub index: u16,
    /// Offset in the chunk file, bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// The mirror group that has other copies.
    pub group: Option<GroupId>,
    /// Whether it is all right now.
    pub repaired: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// What a scrub of a target came to.
#[derive(Clone, Debug, Serialize)]
pub struct ScrubReport {
    /// The target.
    pub target: TargetId,
    /// Bytes that were compared with their checksums.
    pub bytes: u64,
    /// Bytes that did not match.
    pub damaged_bytes: u64,
    /// Of those, bytes that match now.
    pub repaired_bytes: u64,
    /// Why it was not looked at to the end.
    pub error: Option<String>,
    /// Places, the first ones.
    pub damage: Vec<Damage>,
    /// Chunk files that no file needs, the first ones; empty if they were not looked for.
    pub leftovers: Vec<Leftover>,
    /// Chunk files beyond those, which only one look found no use for.
    pub more_leftovers: u64,
}

impl ScrubReport {
    /// Nothing was looked at yet.
    pub fn of(target: TargetId) -> ScrubReport {
        let (damage, leftovers) = (Vec::new(), Vec::new());
        let (bytes, damaged_bytes, repaired_bytes, more_leftovers) = (0, 0, 0, 0);
        ScrubReport { target, bytes, damaged_bytes, repaired_bytes, error: None, damage, leftovers, more_leftovers }
    }
}

/// Why no file needs a chunk file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Metadata knows no such inode.
    NoFile,
    /// The file's content is inline.
    Inline,
    /// The file's layout has no such stripe.
    NoStripe,
}

/// A chunk file that no file needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// The file, as `entry info` shows it.
    pub inode: String,
    /// The same, as `ls -i` and `find -inum` show it.
    pub inode_number: u64,
    /// Stripe index.
    pub index: u16,
    /// Bytes it had at the first look.
    pub bytes: u64,
    /// Why no file needs it.
    pub reason: Reason,
    /// Whether it was removed.
    pub removed: bool,
    /// Why it was not, where it should have been.
    pub kept: Option<String>,
}

impl Leftover {
    /// The chunk file.
    pub fn file(&self) -> ChunkFileId {
        ChunkFileId { inode: InodeId(self.inode_number), index: self.index }
    }
}

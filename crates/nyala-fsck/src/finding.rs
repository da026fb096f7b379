// SPDX-License-Identifier: Apache-2.0

//! What a check finds, and what repairs it.

use nyala_wire::meta::{Repair, ServerRepair};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{FileKind, GroupId, InodeId, TargetId};
use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// What is stored contradicts itself, or something is lost.
    Damage,
    /// It takes space, and no program can see it.
    Waste,
    /// It may be in order: nobody can tell from what is stored.
    Note,
}

/// What a finding rests upon, and so what a second look has to find unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rests {
    /// On rows of one server, which a second look reads at one moment.
    Rows,
    /// On names, too, which are on other servers: they and the inode are as before.
    Names,
    /// On chunk files: they and the inode are as before.
    Chunks,
}

/// A step of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// By the metadata server of the inode that it names.
    Meta(Repair),
    /// By this metadata server.
    MetaAt(TargetId, ServerRepair),
    /// The inode gets a name in `lost+found`.
    Adopt {
        /// The inode.
        inode: InodeId,
        /// What it is.
        kind: FileKind,
        /// Its links now; of a directory they stay.
        links: u32,
        /// Of a directory: what it says to be the one above.
        parent: Option<InodeId>,
    },
    /// Remove a chunk file; only if the operator has said that metadata was not restored from an old copy.
    RemoveChunk(TargetId, ChunkFileId),
    /// Cut what lies on storage beside inline content.
    CutBesideInline(InodeId),
    /// Cut what lies on storage behind the end of a striped file.
    CutBehindEnd(InodeId),
    /// A member of a metadata mirror group is given everything by its primary, if that is still the same.
    Refill {
        /// The group.
        group: GroupId,
        /// Its primary.
        primary: TargetId,
        /// The member.
        member: TargetId,
    },
    /// A member of a mirror group gets ranges of a chunk file from its primary, if that is still the same.
    CopyFromPrimary {
        /// The group.
        group: GroupId,
        /// Its primary.
        primary: TargetId,
        /// The member.
        member: TargetId,
        /// The chunk file.
        file: ChunkFileId,
        /// Bytes, whole blocks.
        ranges: Vec<Range<u64>>,
    },
    /// A member of a mirror group gets a range of a chunk file from another one.
    CopyFromMirror {
        /// The group.
        group: GroupId,
        /// The member that lacks it.
        target: TargetId,
        /// The chunk file.
        file: ChunkFileId,
        /// Bytes, from the beginning of a block.
        range: Range<u64>,
    },
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of its class.
    pub class: &'static str,
    /// How bad that is.
    pub weight: Weight,
    /// What it is about.
    pub subject: Subject,
    /// What is wrong with it, for people.
    pub detail: String,
    /// Steps of its repair, in order; empty: there is none.
    pub fixes: Vec<Fix>,
    /// Inodes to look at again.
    pub involves: Vec<InodeId>,
    /// What it rests upon, as a number: the same in a second look if nothing changed.
    pub basis: u32,
}

/// What a finding is about. One class finds one thing about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An inode.
    Inode(InodeId),
    /// A chunk file on a target.
    Chunk(TargetId, ChunkFileId),
    /// Something of a metadata target that has a number, or the whole target (0).
    Of(TargetId, u64),
}

impl Subject {
    /// The inode, if it is about one.
    pub fn inode(&self) -> Option<InodeId> {
        match self {
            Subject::Inode(inode) => Some(*inode),
            Subject::Chunk(_, file) => Some(file.inode),
            Subject::Of(..) => None,
        }
    }

    /// The target, if it is about one.
    pub fn target(&self) -> Option<TargetId> {
        match self {
            Subject::Inode(_) => None,
            Subject::Chunk(target, _) | Subject::Of(target, _) => Some(*target),
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Inode(inode) => write!(f, "inode {inode}"),
            Subject::Chunk(target, file) => write!(f, "chunk file {}.{} on target {target}", file.inode, file.index),
            Subject::Of(target, 0) => write!(f, "metadata target {target}"),
            Subject::Of(target, number) => write!(f, "{number:#x} on metadata target {target}"),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Values of the metadata tables: CBOR with numbered fields, so that later versions may add fields.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{Attr, FileKind, InodeId, Layout, Name, SessionId, StripePattern, TargetId, Time};

/// An inode.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct InodeRecord {
    /// What it is.
    #[n(0)]
    pub kind: FileKind,
    /// Permission bits.
    #[n(1)]
    pub perm: u16,
    /// Number of links; a directory has two and one more for each directory in it.
    #[n(2)]
    pub nlink: u32,
    /// Owner.
    #[n(3)]
    pub uid: u32,
    /// Group.
    #[n(4)]
    pub gid: u32,
    /// Size in bytes.
    #[n(5)]
    pub size: u64,
    /// Last access.
    #[n(6)]
    pub atime: Time,
    /// Last change of content.
    #[n(7)]
    pub mtime: Time,
    /// Last change of attributes.
    #[n(8)]
    pub ctime: Time,
    /// Birth.
    #[n(9)]
    pub btime: Time,
    /// Device number.
    #[n(10)]
    pub rdev: Option<u32>,
    /// What only a directory has.
    #[n(11)]
    pub dir: Option<DirPart>,
    /// What only a regular file has.
    #[n(12)]
    pub file: Option<FilePart>,
    /// Bytes of the names of all extended attributes, each with one more; absent if there is none.
    #[n(13)]
    pub xattr_bytes: Option<u32>,
}

/// What only a directory has.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct DirPart {
    /// The directory above; the root is its own.
    #[n(0)]
    pub parent: InodeId,
    /// Number of entries.
    #[n(1)]
    pub entries: u64,
    /// What it gives to new files; absent: the cluster's default.
    #[n(2)]
    pub pattern: Option<StripePattern>,
}

/// What only a regular file has.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct FilePart {
    /// Where data is, or will be once it is no longer inline.
    #[n(0)]
    pub layout: Layout,
    /// Version of the inline content; absent once the file is striped.
    #[n(1)]
    pub inline_version: Option<u64>,
    /// Largest inline content, bytes.
    #[n(2)]
    pub inline_limit: u32,
    /// Bytes that it takes on storage; absent: as many as its size.
    #[n(3)]
    pub allocated: Option<u64>,
}

impl InodeRecord {
    /// The record's attributes as they cross the wire.
    pub fn attr(&self, inode: InodeId) -> Attr {
        Attr {
            inode,
            kind: self.kind,
            perm: self.perm,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: self.rdev.unwrap_or(0),
            size: self.size,
            atime: self.atime,
            mtime: self.mtime,
            ctime: self.ctime,
            btime: self.btime,
            allocated: self.file.as_ref().and_then(|file| file.allocated).filter(|allocated| *allocated != self.size),
        }
    }
}

/// A directory entry. One with inode 0 holds a place for others whose names have the same hash, and is not listed.
///
/// Invariant: entries whose names have the same hash stand at consecutive cookies, the first place is never free while
/// a later one is taken, and its entry says that others follow. So one read tells that a name does not exist.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct EntryRecord {
    /// The name.
    #[n(0)]
    pub name: Name,
    /// The inode.
    #[n(1)]
    pub inode: InodeId,
    /// What it is.
    #[n(2)]
    pub kind: FileKind,
    /// Set in the first of several with the same hash: others may follow.
    #[n(3)]
    pub followed: Option<bool>,
}

impl EntryRecord {
    /// Whether a name stands here, not just a place kept.
    pub fn is_taken(&self) -> bool {
        self.inode.0 != 0
    }

    /// Whether others with the same hash may follow.
    pub fn is_followed(&self) -> bool {
        self.followed == Some(true)
    }
}

/// A client's session.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SessionRecord {
    /// The client's name for people.
    #[n(0)]
    pub client: String,
    /// It keeps leases, so that it has to let go of them after a restart of the server.
    #[n(1)]
    pub leases: Option<bool>,
}

/// The kept reply to a changing request.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ReplyRecord {
    /// Sequence number of the request.
    #[n(0)]
    pub sequence: u64,
    /// The encoded reply.
    #[n(1)]
    pub body: ByteVec,
}

/// Chunk files of a file that is gone.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct GarbageRecord {
    /// Where they are.
    #[n(0)]
    pub targets: Vec<TargetId>,
}

/// A truncation that storage has not yet confirmed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct TruncateRecord {
    /// Where data is.
    #[n(0)]
    pub layout: Layout,
    /// The new size.
    #[n(1)]
    pub size: u64,
}

/// What a participant promised to do if the coordinator says so.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct PreparedRecord {
    /// The parts, and what was answered about each.
    #[n(0)]
    pub parts: Vec<(TxPart, PartResult)>,
    /// Last stage received.
    #[n(1)]
    pub stage: u8,
    /// Time stamp for what changes.
    #[n(2)]
    pub now: Time,
}

/// A transaction that is decided but not confirmed by all.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct CommittedRecord {
    /// Who has not confirmed yet.
    #[n(0)]
    pub participants: Vec<TargetId>,
    /// The client's request that it is for.
    #[n(1)]
    pub session: SessionId,
    /// That request's sequence number.
    #[n(2)]
    pub sequence: u64,
}

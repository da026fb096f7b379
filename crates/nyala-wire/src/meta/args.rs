// SPDX-License-Identifier: Apache-2.0

//! What operations are given.

use super::set_time::SetTime;
use crate::ids::InodeId;
use crate::name::Name;
use crate::stripe::Layout;
use crate::time::Time;
use bytes::Bytes;
use minicbor::{Decode, Encode};

/// Attributes to change; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SetAttr {
    /// Permission bits (0o7777).
    #[n(0)]
    pub perm: Option<u16>,
    /// Owner.
    #[n(1)]
    pub uid: Option<u32>,
    /// Group.
    #[n(2)]
    pub gid: Option<u32>,
    /// Size in bytes: truncates or extends.
    #[n(3)]
    pub size: Option<u64>,
    /// Access time.
    #[n(4)]
    pub atime: Option<SetTime>,
    /// Modification time.
    #[n(5)]
    pub mtime: Option<SetTime>,
    /// Change time; normally the server's.
    #[n(6)]
    pub ctime: Option<Time>,
    /// Take setuid away, and setgid where the group may execute, as a write by an ordinary user does.
    #[n(7)]
    pub kill_suidgid: bool,
    /// With `kill_suidgid`: whoever causes it is not in the file's group and has no right to set setgid for it, so that
    /// setgid goes in any case.
    #[n(8)]
    pub outside_group: Option<bool>,
    /// With a size of 0, of an encoded file and from the holder of its exclusive delegation: where its data is from now on, a layout of
    /// [`super::MetaOp::MoveTargets`] that can be written to. The chunk files of the one before go. A server that does not know it refuses
    /// the size.
    #[n(9)]
    pub emptied: Option<Box<Layout>>,
}

/// A rename.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rename {
    /// Directory of the old name.
    #[n(0)]
    pub from_parent: InodeId,
    /// The old name.
    #[n(1)]
    pub from_name: Name,
    /// Directory of the new name.
    #[n(2)]
    pub to_parent: InodeId,
    /// The new name.
    #[n(3)]
    pub to_name: Name,
    /// Fail with EEXIST if the new name exists (`RENAME_NOREPLACE`).
    #[n(4)]
    pub no_replace: bool,
    /// Swap the two names (`RENAME_EXCHANGE`).
    #[n(5)]
    pub exchange: bool,
}

/// What became of a file's content after the client wrote to storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Commit {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// The file reaches at least to here, bytes; absent if nothing was written.
    #[n(1)]
    pub end: Option<u64>,
    /// Time of the last write; absent if nothing was written.
    #[n(2)]
    pub mtime: Option<Time>,
    /// The inline content of this version has been written to storage: forget it.
    #[n(3)]
    pub spilled: Option<u64>,
    /// Answer only when the change is on disk.
    #[n(4)]
    pub sync: bool,
    /// The session closes its handle on the file.
    #[n(5)]
    pub close: bool,
    /// Bytes that the file takes on all its targets, if the client has asked them; absent: as many as its size.
    #[n(6)]
    pub allocated: Option<u64>,
    /// From the holder of the exclusive delegation: what was written encoded from the start. A server that does not know it keeps the size as it is.
    #[n(7)]
    pub encoded: Option<Box<EncodedData>>,
}

/// Data of a file that was new, written in its erasure code, and on disk.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EncodedData {
    /// Where it is: an encoded layout of [`super::MetaOp::MoveTargets`]. The file had nothing before, or has this layout and whole stripes.
    #[n(0)]
    pub layout: Layout,
    /// The file reaches at least to here, bytes.
    #[n(1)]
    pub end: u64,
}

/// New inline content of a file.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct PutInline {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// The version that the content was made from; another one is refused with `INLINE_CONFLICT`.
    #[n(1)]
    pub base_version: u64,
    /// The whole content.
    #[n(2)]
    #[cbor(with = "super::content")]
    pub data: Bytes,
    /// Time of the last write.
    #[n(3)]
    pub mtime: Time,
    /// Answer only when the change is on disk.
    #[n(4)]
    pub sync: bool,
    /// The session closes its handle on the file.
    #[n(5)]
    pub close: bool,
    /// The file's size becomes this, at least the content's length; absent: it only grows. Said where the server has lost a truncation.
    #[n(6)]
    pub size: Option<u64>,
    /// Attributes that were set after the content was written and before it was sent; no size, and nothing of what a write does to setuid bits.
    #[n(7)]
    pub set: Option<Box<SetAttr>>,
}

// SPDX-License-Identifier: Apache-2.0

//! Which files and directories a service does the most for, and what their names are: without a session, for operators and management.

use crate::ids::InodeId;
use crate::name::Name;
use minicbor::{Decode, Encode};

/// Most inodes of one measure in a [`BusiestReply`].
pub const MAX_BUSIEST: u16 = 256;
/// Most inodes in a [`NamesRequest`].
pub const MAX_NAMED: usize = 64;

/// Asks a metadata or storage service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BusiestRequest {
    /// So many by each measure, at most [`MAX_BUSIEST`].
    #[n(0)]
    pub most: u16,
}

/// What was done lately, by inode. Counts are estimates from samples: one request in `sampled` was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct BusiestReply {
    /// The time that counts are of, up to now, milliseconds.
    #[n(0)]
    pub covered_ms: u64,
    /// One request in so many was looked at, and counts for as many.
    #[n(1)]
    pub sampled: u32,
    /// Files by requests; of metadata services also of directories and others that are named by their number. The part: those that change something.
    #[n(2)]
    pub requests: BusyInodes,
    /// Files by bytes read and written, of storage services. The part: those written.
    #[n(3)]
    pub bytes: BusyInodes,
    /// Directories by requests about names in them, of metadata services. The part: those that change names.
    #[n(4)]
    pub directories: BusyInodes,
}

/// The busiest inodes by one measure, those first of which the most is certain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct BusyInodes {
    /// Which.
    #[n(0)]
    pub inodes: Vec<BusyInode>,
    /// An inode that is not counted has at most this.
    #[n(1)]
    pub missed: u64,
}

/// An inode of which much was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BusyInode {
    /// The inode; of names in a split directory, its fragment.
    #[n(0)]
    pub inode: InodeId,
    /// How much, at most `error` too much.
    #[n(1)]
    pub count: u64,
    /// How much of it may be of others.
    #[n(2)]
    pub error: u64,
    /// Of it, how much was of one kind: see [`BusiestReply`].
    #[n(3)]
    pub part: u64,
}

/// Asks a metadata server for names that stand for inodes. It looks through directories, a part at a time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NamesRequest {
    /// The directory, or fragment of one, that may have the names; absent: all directories of the slot of the first inode, where a file's
    /// inode is as long as it was not moved to another directory.
    #[n(0)]
    pub dir: Option<InodeId>,
    /// The inodes, at most [`MAX_NAMED`].
    #[n(1)]
    pub inodes: Vec<InodeId>,
    /// Where to go on, as a reply said it; 0: from the beginning.
    #[n(2)]
    pub after: (InodeId, u64),
}

/// The answer: one name for each inode that was found in that part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct NamesReply {
    /// What was found.
    #[n(0)]
    pub names: Vec<InodeName>,
    /// Where to go on; absent: all was looked through, or all were found.
    #[n(1)]
    pub next: Option<(InodeId, u64)>,
}

/// A name.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct InodeName {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// The directory, never a fragment.
    #[n(1)]
    pub dir: InodeId,
    /// Its name in it.
    #[n(2)]
    pub name: Name,
}

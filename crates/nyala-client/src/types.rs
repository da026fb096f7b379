// SPDX-License-Identifier: Apache-2.0

//! Small public types of the client's interface.

use nyala_wire::{Attr, StripePattern, TargetId};

/// Where a file's data is to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// How it is to be spread, and over which pool; the chunk size stays what it is, whatever this says.
    pub pattern: StripePattern,
    /// Targets that it is not to be on, or mirror groups with [`nyala_wire::Pattern::Mirror`].
    pub avoid: Vec<TargetId>,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Cut to nothing first (`O_TRUNC`).
    pub truncate: bool,
    /// Every write goes to the end of the file (`O_APPEND`), whoever wrote there last.
    pub append: bool,
    /// It is going to be written: get ready for that at once.
    pub write: bool,
    /// Somebody above keeps what is read, and must be told when it changes: a delegation that allows no keeping is of no use.
    pub buffered: bool,
}

/// Permission bits of something new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Permission bits (0o7777).
    pub perm: u16,
    /// Bits to take away, unless the directory has a default ACL, which counts instead; 0 if that is done already.
    pub umask: u16,
}

impl From<u16> for Mode {
    fn from(perm: u16) -> Mode {
        Mode { perm, umask: 0 }
    }
}

/// How an extended attribute is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetXattr {
    /// Fail with EEXIST if it is there (`XATTR_CREATE`).
    pub create: bool,
    /// Fail with ENODATA if it is not (`XATTR_REPLACE`).
    pub replace: bool,
    /// An access list is set by somebody outside the inode's group: its setgid bit goes.
    pub kill_sgid: bool,
}

/// What was found under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The inode's attributes; `None`: there is no such name.
    pub attr: Option<Attr>,
    /// The name may be kept for [`crate::Client::delegation_time`].
    pub entry_delegated: bool,
    /// The attributes may be kept for [`crate::Client::delegation_time`].
    pub attr_delegated: bool,
}

/// What [`crate::FileHandle::seek`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTarget {
    /// `SEEK_DATA`
    Data,
    /// `SEEK_HOLE`
    Hole,
}

/// Size and use of the whole file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsStats {
    /// Bytes of all storage targets.
    pub total_bytes: u64,
    /// Bytes free on them.
    pub free_bytes: u64,
    /// Inodes that metadata could hold.
    pub total_inodes: u64,
    /// Inodes free.
    pub free_inodes: u64,
}

/// Counters since the client started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientStats {
    /// Requests sent to metadata, repetitions included.
    pub meta_requests: u64,
    /// Delegations that were held and wanted back by a metadata server.
    pub revocations: u64,
    /// Bulk reads sent to storage, repetitions included.
    pub storage_reads: u64,
    /// Bulk writes sent to storage, repetitions included.
    pub storage_writes: u64,
    /// Bytes given to applications.
    pub read_bytes: u64,
    /// Bytes taken from applications.
    pub written_bytes: u64,
    /// Requests sent again.
    pub retries: u64,
    /// Blocks that arrived with a wrong checksum.
    pub checksum_errors: u64,
    /// Bytes written and not yet on a server, now.
    pub dirty_bytes: u64,
    /// Bytes read ahead, now.
    pub cached_bytes: u64,
    /// Read-ahead segments that were asked for in time.
    pub cache_hits: u64,
    /// Pieces of encoded files that were computed from their other parts.
    pub rebuilt_reads: u64,
    /// Encoded files with lost parts that were encoded again by themselves.
    pub repaired_files: u64,
}

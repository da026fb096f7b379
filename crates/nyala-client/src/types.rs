// SPDX-License-Identifier: Apache-2.0

//! Small public types of the client's interface.

use nyala_wire::Time;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Cut to nothing first (`O_TRUNC`).
    pub truncate: bool,
    /// Every write goes to the end of the file as this client knows it (`O_APPEND`).
    pub append: bool,
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
}

/// The wall clock, as stamps on the wire want it.
pub(crate) fn wall_clock() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
}

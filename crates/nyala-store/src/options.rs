// SPDX-License-Identifier: Apache-2.0

//! The plain values of the public interface: options, positions, figures.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::FreeSpace;

/// A value as the store returns it: cheap to clone, derefs to `[u8]`.
pub type Value = Arc<[u8]>;

/// Position in the log: the number of the record, counted from 1 over the store's whole life. 0 is "before everything".
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before the first record.
    pub const ZERO: Lsn = Lsn(0);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a store is run. Nothing here is part of the format on disk: any value may change between two opens.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of one log segment, allocated whole. A larger record gets a larger segment of its own.
    pub segment_bytes: u64,
    /// Largest size of the table's file, bytes: a checkpoint that needs more finds no space.
    pub table_bytes: u64,
    /// Disk space that the table has allocated ahead of use, bytes: on a full disk checkpoints use it, and the log's segments
    /// that they release make room for what follows.
    pub reserve_bytes: u64,
    /// Memory for pages of the table that were read, bytes.
    pub cache_bytes: usize,
    /// Memory of the active table, in bytes, at which a checkpoint starts.
    pub memory_soft_bytes: usize,
    /// Memory of all tables, in bytes, above which [`Store::over_limit`](crate::Store::over_limit) asks callers to wait.
    /// At twice this, `apply` refuses with [`StoreError::Busy`](crate::StoreError::Busy).
    pub memory_hard_bytes: usize,
    /// Longest time that a flushed record stays unsynced.
    pub sync_interval: Duration,
    /// Longest time between checkpoints while there are changes.
    pub checkpoint_interval: Duration,
    /// Time between two passes in which all of the table is compared with its checksums; the first begins this long after the
    /// opening, or [`Options::SCRUB_DELAY`]. Zero: never.
    pub scrub_interval: Duration,
    /// No threads: the caller drives [`Store::sync_blocking`](crate::Store::sync_blocking) and
    /// [`Store::checkpoint_blocking`](crate::Store::checkpoint_blocking), and waits do the work in place. For tests that
    /// must be deterministic.
    pub manual: bool,
}

impl Options {
    /// Services that start have other things to do first.
    pub const SCRUB_DELAY: Duration = Duration::from_secs(600);
}

impl Default for Options {
    fn default() -> Self {
        Options {
            segment_bytes: 64 << 20,
            table_bytes: 1 << 50,
            reserve_bytes: 16 << 20,
            cache_bytes: 64 << 20,
            memory_soft_bytes: 64 << 20,
            memory_hard_bytes: 256 << 20,
            sync_interval: Duration::from_millis(500),
            checkpoint_interval: Duration::from_secs(30),
            scrub_interval: Duration::from_secs(24 * 3600),
            manual: false,
        }
    }
}

/// What opening found and did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Everything up to here came from the last checkpoint.
    pub checkpoint_lsn: Lsn,
    /// Last record of the log; the next one gets this plus one.
    pub last_lsn: Lsn,
    /// Records replayed from the log.
    pub replayed_records: u64,
    /// Whole records that were found after a hole in the tail that had never been synced, and were cut with it.
    pub cut_records: u64,
    /// Bytes cut from the tail of the log, from the end of the last good record to the last byte that was not zero.
    pub cut_bytes: u64,
}

/// Figures of a running store.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Last record applied.
    pub applied: Lsn,
    /// Last record handed to the operating system.
    pub written: Lsn,
    /// Last record on disk.
    pub durable: Lsn,
    /// Last record in the checkpoint.
    pub checkpoint: Lsn,
    /// Memory of the active table, bytes, estimated.
    pub active_bytes: u64,
    /// Memory of the table that is being checkpointed, bytes, estimated.
    pub frozen_bytes: u64,
    /// What the checkpoint takes on disk, bytes; 0 where the ordered store does not know.
    pub used_bytes: u64,
    /// Log segments on disk, a prepared spare not counted.
    pub segments: u64,
    /// Syncs of the log since open.
    pub syncs: u64,
    /// Checkpoints completed since open.
    pub checkpoints: u64,
    /// Checkpoints that failed for lack of space and will be tried again.
    pub checkpoint_failures: u64,
    /// Pages of the table that were compared with their checksums since open, by the passes over all of it.
    pub scrubbed_pages: u64,
    /// Places of the table that are damaged, as far as the passes know.
    pub damaged_places: u64,
}

/// Whether a store is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Condition {
    /// What its file system had left at the last look, if there was one.
    pub disk: Option<FreeSpace>,
    /// There is too little room for what adds something.
    pub must_not_grow: bool,
    /// The last checkpoint found no room.
    pub checkpoint_fails: bool,
    /// A write or sync failed: it takes no more changes.
    pub stopped: bool,
}

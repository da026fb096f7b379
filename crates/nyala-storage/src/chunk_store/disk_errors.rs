// SPDX-License-Identifier: Apache-2.0

//! How many errors a target's disk has made: blocks that do not match their checksums, and operations that failed.
//!
//! A damaged block counts once, however often it is read, and not at all if the repair of another one brings it back before it is read; a chunk file whose operations fail counts once while the process runs.
//!
//! **Failure model.** The count is in the tables (`docs/format-storage.md`, `H`), and not synced: after a crash it may be a little less. If it cannot
//! be noted it goes on in memory, as the disk that fails may be that of the tables. A value that does not decode counts as no errors. The clock may be set:
//! one that goes back keeps errors recent for longer.

use super::rows::tag;
use super::table::Table;
use nyala_store::{Batch, StoreError};
use nyala_wire::storage::ChunkFileId;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Errors stay recent for so long, and up to twice that, seconds.
const RECENT_S: u64 = 30 * 24 * 3600;
/// Chunk files whose failed operations are remembered; those beyond count each time.
const MOST_FILES: usize = 4096;
/// What systems answer when a disk, or the file system on it, fails.
const OF_DISKS: [i32; 6] = [libc::EIO, libc::EROFS, libc::EUCLEAN, libc::EBADMSG, libc::ENODATA, libc::EREMOTEIO];

/// Errors in all, and those before the present while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorCount {
    total: u64,
    /// Of these, those that are not recent.
    old: u64,
    /// When the while began, seconds since 1970.
    since_s: u64,
}

impl ErrorCount {
    /// One more.
    fn add(&mut self, now_s: u64) {
        if now_s.saturating_sub(self.since_s) >= RECENT_S {
            (self.old, self.since_s) = (self.total, now_s);
        }
        self.total += 1;
    }

    /// In all, and recently.
    fn counts(&self, now_s: u64) -> (u64, u64) {
        let recent = self.total.saturating_sub(self.old);
        (self.total, if now_s.saturating_sub(self.since_s) < 2 * RECENT_S { recent } else { 0 })
    }

    fn encode(self) -> [u8; 24] {
        let mut out = [0; 24];
        out[..8].copy_from_slice(&self.total.to_le_bytes());
        out[8..16].copy_from_slice(&self.old.to_le_bytes());
        out[16..].copy_from_slice(&self.since_s.to_le_bytes());
        out
    }

    fn decode(value: &[u8]) -> Option<ErrorCount> {
        let (numbers, []) = value.as_chunks::<8>() else { return None };
        let [total, old, since_s] = numbers else { return None };
        let [total, old, since_s] = [total, old, since_s].map(|bytes| u64::from_le_bytes(*bytes));
        Some(ErrorCount { total, old, since_s })
    }
}

/// Errors of a target's disk.
#[derive(Debug, Default)]
pub(super) struct DiskErrors(Mutex<(ErrorCount, BTreeSet<ChunkFileId>)>);

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl DiskErrors {
    /// Begins with what the tables say.
    pub fn begin(&self, kv: &dyn Table) -> Result<(), StoreError> {
        let stored = kv.get(&[tag::DISK_ERRORS])?;
        self.0.lock().0 = stored.and_then(|value| ErrorCount::decode(&value)).unwrap_or_default();
        Ok(())
    }

    /// A block was found damaged that was not known to be.
    pub fn damaged(&self, kv: &dyn Table) {
        let mut known = self.0.lock();
        known.0.add(now_s());
        note(kv, known.0);
    }

    /// An operation on a chunk file failed.
    pub fn failed(&self, kv: &dyn Table, file: ChunkFileId, cause: &io::Error) {
        if !cause.raw_os_error().is_some_and(|code| OF_DISKS.contains(&code)) {
            return;
        }
        let mut known = self.0.lock();
        let room = known.1.len() < MOST_FILES;
        if known.1.contains(&file) || (room && !known.1.insert(file)) {
            return;
        }
        known.0.add(now_s());
        note(kv, known.0);
    }

    /// In all, and recently.
    pub fn counts(&self) -> (u64, u64) {
        self.0.lock().0.counts(now_s())
    }
}

fn note(kv: &dyn Table, count: ErrorCount) {
    if let Err(error) = kv.apply(Batch::new().put([tag::DISK_ERRORS], count.encode())) {
        tracing::warn!(%error, "an error of the disk cannot be noted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_as_documented() {
        let count = ErrorCount { total: 258, old: 2, since_s: 3 };
        let mut right = [0; 24];
        (right[0], right[1], right[8], right[16]) = (2, 1, 2, 3);
        assert_eq!((count.encode(), ErrorCount::decode(&right)), (right, Some(count)));
        assert!((0..24).all(|len| ErrorCount::decode(&right[..len]).is_none()));
    }

    #[test]
    fn errors_of_long_ago_are_not_recent() {
        let (mut count, began) = (ErrorCount::default(), 50 * RECENT_S);
        (0..3).for_each(|n| count.add(began + n));
        assert_eq!(count.counts(began + RECENT_S), (3, 3));
        assert_eq!(count.counts(began + 2 * RECENT_S), (3, 0), "nothing since");
        count.add(began + RECENT_S);
        assert_eq!(count.counts(began + RECENT_S), (4, 1), "another while");
        assert_eq!(count.counts(0), (4, 1), "the clock was set back");
    }
}

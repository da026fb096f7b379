// SPDX-License-Identifier: Apache-2.0

//! The log's reserve: a file with the space of a small segment, for the time when nothing else can be allocated.
//!
//! # Failure model
//! - Others fill the disk, or make so many files that there is no inode left: the next segment is made of the reserve, by two
//!   renames, which need neither. A checkpoint then releases the segments before it, and the reserve is made anew of that space
//!   before anything else is.
//! - A crash while it is made leaves a shorter file, which is made longer at open. A crash while a segment is made of it leaves
//!   `new.tmp`, which opening removes, and so has the space for another reserve.
//! - There is no room for it: work goes on without, and it is tried again after each checkpoint and by the store's thread.
//!   Any other error stops the store, as with a segment.

use std::io;
use std::sync::atomic::Ordering;

use super::segment::{self, Segment};
use super::{Log, SEGMENT_HEADER_BYTES};
use crate::StoreError;
use crate::error::is_out_of_space;

/// Its name in the log's directory.
const NAME: &str = "reserve";
/// Its size, bytes, if segments are not smaller.
const RESERVE_BYTES: u64 = 1 << 20;

impl Log {
    /// Makes the reserve as large as it should be, or as there is room for. Errors: [`StoreError::Poisoned`].
    pub(crate) fn keep_reserve(&self) -> Result<(), StoreError> {
        let wanted = self.segment_bytes.min(RESERVE_BYTES);
        if self.reserve_bytes.load(Ordering::Relaxed) >= wanted {
            return Ok(());
        }
        let _spare = self.spare.lock();
        self.progress.check()?;
        let kept =
            [wanted, wanted.min(segment::SMALL_BYTES)].into_iter().find_map(|bytes| match self.allocate(bytes) {
                Err(error) if is_out_of_space(&error) => None,
                done => Some(done),
            });
        let kept = kept
            .transpose()
            .map_err(|error| self.progress.kill(StoreError::poisoned("making of the reserve of the log", error)))?;
        self.reserve_bytes.store(kept.unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }

    /// Whether there is one, of whatever size.
    pub(crate) fn has_reserve(&self) -> bool {
        self.reserve_bytes.load(Ordering::Relaxed) > 0
    }

    /// Makes or extends the file. Returns its size. After a lack of space there is none, or as much as there was.
    fn allocate(&self, wanted: u64) -> io::Result<u64> {
        match self.disk.open(NAME).and_then(|file| Ok((file.bytes()?, file))) {
            Ok((bytes, _)) if bytes >= wanted => return Ok(bytes),
            Ok((bytes, file)) if bytes >= SEGMENT_HEADER_BYTES => {
                file.allocate(wanted)?;
                file.sync()?;
                return Ok(wanted);
            }
            _ => {}
        }
        let file = self.disk.create(NAME, wanted).inspect_err(|_| {
            // A part of it would hold the very space that is missing. If removing fails, the next making reuses it.
            let _ = self.disk.remove(NAME);
        })?;
        file.sync()?;
        self.disk.sync_dir()?;
        Ok(wanted)
    }

    /// A segment made of the reserve, if there is one and it is large enough. The lock of `spare` is held.
    pub(super) fn use_reserve(&self, sequence: u64, needed: u64) -> Result<Option<Segment>, StoreError> {
        let bytes = self.reserve_bytes.load(Ordering::Relaxed);
        if bytes < needed.max(SEGMENT_HEADER_BYTES) {
            return Ok(None);
        }
        self.reserve_bytes.store(0, Ordering::Relaxed);
        // Not louder: while the disk is full it happens with each segment, and that it is full is said once.
        tracing::debug!(log = self.disk.location(), bytes, "no space for a log segment: the reserve is used");
        segment::make_of(&*self.disk, self.store_id, sequence, NAME).map(Some)
    }

    /// Whether callers should let a checkpoint release segments before they append more.
    pub(crate) fn is_short(&self) -> bool {
        self.short_until.load(Ordering::Relaxed) != 0
    }

    /// A checkpoint that began when segment `reached` was written has ended, well or not: nobody needs to wait longer.
    pub(crate) fn no_longer_short(&self, reached: u64) {
        let until = self.short_until.load(Ordering::Relaxed);
        if until <= reached {
            // What was set meanwhile is for a later segment, and stays.
            let _ = self.short_until.compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The log's reserve: a file with the space of a small segment, for the time when nothing else can be allocated.
//!
//! # Failure model
//! - Others fill the disk, or make so many files that there is no inode left: the next segment is made of the reserve, by two
//!   renames, which need neither. A checkpoint then releases the segments before it, and the reserve is made anew of that space
//!   before anything else is.
//! - A crash while it is made leaves a shorter file: it is made anew at open. A crash while a segment is made of it leaves
//!   `new.tmp`, which opening removes, and so has the space for another reserve.
//! - There is no room for it: work goes on without, and it is tried again after each checkpoint and by the store's thread.
//!   Any other error stops the store, as with a segment.

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
    /// Makes the reserve if it is not there and there is room for it. Errors: [`StoreError::Poisoned`].
    pub(crate) fn keep_reserve(&self) -> Result<(), StoreError> {
        if self.has_reserve.load(Ordering::Relaxed) {
            return Ok(());
        }
        let _spare = self.spare.lock();
        self.progress.check()?;
        let wanted = self.segment_bytes.min(RESERVE_BYTES);
        let found = self.disk.open(NAME).and_then(|file| file.bytes());
        let made = match found {
            Ok(bytes) if bytes >= wanted => Ok(()),
            _ => self.disk.create(NAME, wanted).and_then(|file| file.sync()).and_then(|()| self.disk.sync_dir()),
        };
        match made {
            Ok(()) => self.has_reserve.store(true, Ordering::Relaxed),
            Err(error) if is_out_of_space(&error) => {
                // A part of it would hold the very space that is missing. If removing fails, the next making reuses it.
                let _ = self.disk.remove(NAME);
            }
            Err(error) => {
                return Err(self.progress.kill(StoreError::poisoned("making of the reserve of the log", error)));
            }
        }
        Ok(())
    }

    /// A segment made of the reserve, if there is one and it is large enough. The lock of `spare` is held.
    pub(super) fn use_reserve(&self, sequence: u64, needed: u64) -> Result<Option<Segment>, StoreError> {
        let fits = self.segment_bytes.clamp(SEGMENT_HEADER_BYTES, RESERVE_BYTES) >= needed;
        if !fits || !self.has_reserve.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        tracing::warn!(log = self.disk.place(), "no space for a log segment: the reserve is used");
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

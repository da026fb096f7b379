// SPDX-License-Identifier: Apache-2.0

//! Tracks which pages of a file the kernel may have cached, so that a write can tell whether it left a stale one behind.
//!
//! And how long the kernel takes a file for, at least: a size that it hears of may come too late to count, unless it is a smaller one, which may count.
//!
//! **Failure model.** Two races leave a page with what was before a write, under a delegation that makes it look true:
//!
//! - *A direct write.* It drops the pages in its way before it is sent. A page that is read meanwhile has the old content and
//!   stays, also when its reader closes the file before the write ends. So pages are dropped again afterwards if
//!   anybody could have read some.
//! - *A buffered write.* The kernel changes a page that it has in full and sends a copy. If pages are invalidated before that copy is
//!   dealt with here, the changed page goes, and a reader may fetch the old content anew: the write reaches the servers, the
//!   new page does not learn of it. So pages are dropped after a buffered write if some were invalidated since the one before it and
//!   then read. (Linux does one buffered write of an inode at a time, under the inode's lock: what was invalidated and read before the last one was
//!   answered is what the next one changes.)

use nyala_client::FileEnd;
use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The kernel's unit; a smaller one than a machine's page size would only drop less.
pub const PAGE: u64 = 4096;

/// Files that are open through the page cache.
#[derive(Default)]
pub struct PageCacheUse {
    files: Mutex<HashMap<InodeId, FileUse>>,
    /// Those of them with invalidated pages: while there are none, reads and writes take no lock here. It is raised before
    /// the kernel hears of an invalidation, so that whoever reads behind that finds it.
    invalidated: AtomicUsize,
    /// Of some file it is known how long the kernel takes it for.
    sized: AtomicBool,
}

#[derive(Default)]
struct FileUse {
    open: u32,
    opened_ever: u64,
    /// Direct writes under way.
    direct_writes: u32,
    /// Invalidations under way.
    invalidating: u32,
    /// Pages were invalidated since the last buffered write was answered.
    invalidated: bool,
    /// What was read into pages since then.
    read: Option<Range<u64>>,
    /// The kernel takes the file for at least this long, bytes.
    at_least: Option<u64>,
    /// How the file ends, for the withdrawal that comes next.
    end: Option<FileEnd>,
}

impl FileUse {
    fn is_idle(&self) -> bool {
        self.open == 0 && self.direct_writes == 0 && self.invalidating == 0
    }
}

impl PageCacheUse {
    /// A handle may have cached pages from now on.
    pub fn note_open(&self, inode: InodeId) {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.open += 1;
        file.opened_ever += 1;
    }

    /// A handle that may have cached pages was closed.
    pub fn note_close(&self, inode: InodeId) {
        self.change(inode, |file| file.open = file.open.saturating_sub(1));
    }

    /// Begins a direct write. Returns the token that [`PageCacheUse::end_direct_write`] takes.
    pub fn begin_direct_write(&self, inode: InodeId) -> u64 {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.direct_writes += 1;
        // Whoever has it open now may read during the write.
        file.opened_ever - u64::from(file.open)
    }

    /// Ends a direct write. Returns whether the kernel may have cached pages with content from before it.
    pub fn end_direct_write(&self, inode: InodeId, began: u64) -> bool {
        let mut readers = false;
        self.change(inode, |file| {
            file.direct_writes = file.direct_writes.saturating_sub(1);
            readers = file.opened_ever != began;
        });
        readers
    }

    /// Begins an invalidation: the kernel is about to be told to drop pages.
    pub fn begin_invalidation(&self, inode: InodeId) {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.invalidating += 1;
        if !std::mem::replace(&mut file.invalidated, true) {
            self.invalidated.fetch_add(1, Ordering::Release);
        }
    }

    /// Begins an invalidation while a buffered write waits for its reply. The next buffered write need not know of it if
    /// it ends before that reply; otherwise call [`PageCacheUse::outlasts_reply`].
    pub fn begin_invalidation_in_reply(&self, inode: InodeId) {
        self.files.lock().entry(inode).or_default().invalidating += 1;
    }

    /// The invalidation is still under way when the reply is sent.
    pub fn outlasts_reply(&self, inode: InodeId) {
        self.change(inode, |file| {
            if file.invalidating > 0 && !std::mem::replace(&mut file.invalidated, true) {
                self.invalidated.fetch_add(1, Ordering::Release);
            }
        });
    }

    /// Ends an invalidation: the kernel has dropped the pages.
    pub fn end_invalidation(&self, inode: InodeId) {
        self.change(inode, |file| file.invalidating = file.invalidating.saturating_sub(1));
    }

    /// The kernel fills pages: a read through the page cache, bytes.
    pub fn note_read(&self, inode: InodeId, offset: u64, len: u64) {
        if self.is_quiet() {
            return;
        }
        let mut files = self.files.lock();
        let Some(file) = files.get_mut(&inode).filter(|file| file.invalidated) else { return };
        let end = offset.saturating_add(len);
        file.read = Some(match file.read.take() {
            Some(read) => read.start.min(offset)..read.end.max(end),
            None => offset..end,
        });
    }

    /// Ends a buffered write, just before its reply. Returns whether the kernel may hold pages in its range from before it.
    pub fn end_buffered_write(&self, inode: InodeId, offset: u64, len: u64) -> bool {
        if self.is_quiet() {
            return false;
        }
        let mut files = self.files.lock();
        let Some(file) = files.get_mut(&inode).filter(|file| file.invalidated) else { return false };
        let pages = offset / PAGE * PAGE..offset.saturating_add(len).div_ceil(PAGE).saturating_mul(PAGE);
        let stale = file.read.as_ref().is_some_and(|read| read.start < pages.end && read.end > pages.start);
        if file.invalidating == 0 {
            file.invalidated = false;
            file.read = None;
            self.invalidated.fetch_sub(1, Ordering::Release);
        }
        stale
    }

    /// Whether the kernel may take a file that somebody may be reading through pages for shorter than `size`.
    pub fn lacks_size(&self, inode: InodeId, size: u64) -> bool {
        self.files
            .lock()
            .get(&inode)
            .is_some_and(|file| file.open > 0 && file.at_least.is_none_or(|known| known < size))
    }

    /// How a file ends, for the withdrawal that comes next.
    pub fn note_end(&self, inode: InodeId, end: FileEnd) {
        self.change(inode, |file| file.end = Some(end));
    }

    /// What was noted.
    pub fn take_end(&self, inode: InodeId) -> Option<FileEnd> {
        self.files.lock().get_mut(&inode).and_then(|file| file.end.take())
    }

    /// The kernel takes the file for at least this long.
    pub fn note_at_least(&self, inode: InodeId, size: u64) {
        self.change(inode, |file| file.at_least = Some(size));
        self.sized.store(true, Ordering::Release);
    }

    /// The kernel hears of this size.
    pub fn note_size(&self, inode: InodeId, size: u64) {
        if self.sized.load(Ordering::Acquire) {
            self.change(inode, |file| file.at_least = file.at_least.filter(|known| *known <= size));
        }
    }

    fn is_quiet(&self) -> bool {
        self.invalidated.load(Ordering::Acquire) == 0
    }

    fn change(&self, inode: InodeId, change: impl FnOnce(&mut FileUse)) {
        let mut files = self.files.lock();
        if let Some(file) = files.get_mut(&inode) {
            change(file);
            if file.is_idle() && files.remove(&inode).is_some_and(|file| file.invalidated) {
                self.invalidated.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direct_write_knows_who_could_have_read_meanwhile() {
        let (files, inode) = (PageCacheUse::default(), InodeId(5));
        let began = files.begin_direct_write(inode);
        assert!(!files.end_direct_write(inode, began), "nobody");
        files.note_open(inode);
        let began = files.begin_direct_write(inode);
        files.note_close(inode);
        assert!(files.end_direct_write(inode, began), "one that was open before and is gone");
        let began = files.begin_direct_write(inode);
        files.note_open(inode);
        files.note_close(inode);
        assert!(files.end_direct_write(inode, began), "one that came and went");
        assert!(files.files.lock().is_empty());
    }

    #[test]
    fn what_the_kernel_was_made_to_take_a_file_for_holds_until_it_hears_of_less() {
        let (files, inode) = (PageCacheUse::default(), InodeId(5));
        assert!(!files.lacks_size(inode, 9), "nobody reads it through pages");
        files.note_open(inode);
        assert!(files.lacks_size(inode, 9));
        files.note_end(inode, FileEnd { size: 9, last: 1 });
        assert_eq!(files.take_end(inode), Some(FileEnd { size: 9, last: 1 }));
        assert_eq!(files.take_end(inode), None, "it is of one withdrawal");
        files.note_at_least(inode, 9);
        assert!(!files.lacks_size(inode, 9) && !files.lacks_size(inode, 8) && files.lacks_size(inode, 10));
        files.note_size(inode, 12);
        assert!(!files.lacks_size(inode, 9), "what it heard may have been too late to count");
        assert!(files.lacks_size(inode, 12));
        files.note_size(inode, 8);
        assert!(files.lacks_size(inode, 8), "and so may this");
        files.note_at_least(inode, 8);
        files.note_close(inode);
        files.note_open(inode);
        assert!(files.lacks_size(inode, 8), "another use of it");
    }

    #[test]
    fn a_buffered_write_knows_whose_page_may_have_been_read_anew() {
        let (files, inode) = (PageCacheUse::default(), InodeId(5));
        files.note_open(inode);
        files.note_read(inode, 0, 4096);
        assert!(!files.end_buffered_write(inode, 8, 8), "nothing was invalidated");
        files.begin_invalidation(inode);
        files.end_invalidation(inode);
        assert!(!files.end_buffered_write(inode, 8, 8), "nothing was read since");
        files.note_read(inode, 0, 4096);
        assert!(
            !files.end_buffered_write(inode, 8, 8),
            "what was invalidated before the last write is nothing to this one"
        );
        files.begin_invalidation(inode);
        files.note_read(inode, 4096, 4096);
        assert!(!files.end_buffered_write(inode, 4000, 96), "another page");
        assert!(files.end_buffered_write(inode, 8000, 500), "this page");
        assert!(files.end_buffered_write(inode, 8000, 500), "the invalidation goes on");
        files.end_invalidation(inode);
        assert!(files.end_buffered_write(inode, 4096, 1), "the last look at it");
        assert!(!files.end_buffered_write(inode, 4096, 1));
        files.begin_invalidation_in_reply(inode);
        files.end_invalidation(inode);
        files.outlasts_reply(inode);
        files.note_read(inode, 0, 4096);
        assert!(!files.end_buffered_write(inode, 0, 1), "dropped before the last write was answered");
        files.begin_invalidation_in_reply(inode);
        files.outlasts_reply(inode);
        files.end_invalidation(inode);
        files.note_read(inode, 0, 4096);
        assert!(files.end_buffered_write(inode, 0, 1), "dropped after that");
        files.note_close(inode);
        assert!(files.files.lock().is_empty() && files.is_quiet());
    }
}

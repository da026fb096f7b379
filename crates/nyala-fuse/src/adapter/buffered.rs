// SPDX-License-Identifier: Apache-2.0

//! Which pages can be in the kernel's cache behind the back of a write.
//!
//! **Failure model.** Two races leave a page with what was before a write, under a delegation that makes it look true:
//!
//! - *A direct write.* It drops the pages in its way before it is sent. A page that is read meanwhile has the old content and
//!   stays, also when its reader closes the file before the write ends. So pages are dropped again afterwards if
//!   anybody could have read some.
//! - *A buffered write.* The kernel changes a page that it has in full and sends a copy. If pages are withdrawn before that copy is
//!   dealt with here, the changed page goes, and a reader may fetch the old content anew: the write reaches the servers, the
//!   new page does not learn of it. So pages are dropped after a buffered write if some were withdrawn since the one before it and
//!   then read. (Linux does one buffered write of an inode at a time, under the inode's lock: what was withdrawn and read before the last one was
//!   answered is what the next one changes.)

use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The kernel's unit; a smaller one than a machine's page size would only drop less.
pub const PAGE: u64 = 4096;

/// Files that are open through the page cache.
#[derive(Default)]
pub struct Buffered {
    files: Mutex<HashMap<InodeId, Use>>,
    /// Those of them with withdrawn pages: while there are none, reads and writes take no lock here. It is raised before
    /// the kernel hears of a withdrawal, so that whoever reads behind that finds it.
    withdrawn: AtomicUsize,
}

#[derive(Default)]
struct Use {
    open: u32,
    opened_ever: u64,
    /// Direct writes under way.
    writes: u32,
    /// Withdrawals under way.
    withdrawing: u32,
    /// Pages were withdrawn since the last buffered write was answered.
    withdrawn: bool,
    /// What was read into pages since then.
    read: Option<Range<u64>>,
}

impl Use {
    fn is_idle(&self) -> bool {
        self.open == 0 && self.writes == 0 && self.withdrawing == 0
    }
}

impl Buffered {
    /// A handle may have pages from now on.
    pub fn opened(&self, inode: InodeId) {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.open += 1;
        file.opened_ever += 1;
    }

    /// One of those was closed.
    pub fn closed(&self, inode: InodeId) {
        self.change(inode, |file| file.open = file.open.saturating_sub(1));
    }

    /// A direct write begins; what is returned is for [`Buffered::written`].
    pub fn writes(&self, inode: InodeId) -> u64 {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.writes += 1;
        // Whoever has it open now may read during the write.
        file.opened_ever - u64::from(file.open)
    }

    /// It is over: whether there may be pages of before.
    pub fn written(&self, inode: InodeId, began: u64) -> bool {
        let mut readers = false;
        self.change(inode, |file| {
            file.writes = file.writes.saturating_sub(1);
            readers = file.opened_ever != began;
        });
        readers
    }

    /// The kernel is about to be made to drop pages.
    pub fn withdraws(&self, inode: InodeId) {
        let mut files = self.files.lock();
        let file = files.entry(inode).or_default();
        file.withdrawing += 1;
        if !std::mem::replace(&mut file.withdrawn, true) {
            self.withdrawn.fetch_add(1, Ordering::Release);
        }
    }

    /// The same within the answer to a buffered write: nothing to the next one, if it ends before that answer
    /// ([`Buffered::lasts`] otherwise).
    pub fn drops(&self, inode: InodeId) {
        self.files.lock().entry(inode).or_default().withdrawing += 1;
    }

    /// It goes on after the answer.
    pub fn lasts(&self, inode: InodeId) {
        self.change(inode, |file| {
            if file.withdrawing > 0 && !std::mem::replace(&mut file.withdrawn, true) {
                self.withdrawn.fetch_add(1, Ordering::Release);
            }
        });
    }

    /// It has dropped them.
    pub fn withdrew(&self, inode: InodeId) {
        self.change(inode, |file| file.withdrawing = file.withdrawing.saturating_sub(1));
    }

    /// Pages are being read.
    pub fn reads(&self, inode: InodeId, offset: u64, len: u64) {
        if self.is_quiet() {
            return;
        }
        let mut files = self.files.lock();
        let Some(file) = files.get_mut(&inode).filter(|file| file.withdrawn) else { return };
        let end = offset.saturating_add(len);
        file.read = Some(match file.read.take() {
            Some(read) => read.start.min(offset)..read.end.max(end),
            None => offset..end,
        });
    }

    /// A buffered write was done and is about to be answered: whether there may be pages of before in its place.
    pub fn wrote(&self, inode: InodeId, offset: u64, len: u64) -> bool {
        if self.is_quiet() {
            return false;
        }
        let mut files = self.files.lock();
        let Some(file) = files.get_mut(&inode).filter(|file| file.withdrawn) else { return false };
        let pages = offset / PAGE * PAGE..offset.saturating_add(len).div_ceil(PAGE).saturating_mul(PAGE);
        let stale = file.read.as_ref().is_some_and(|read| read.start < pages.end && read.end > pages.start);
        if file.withdrawing == 0 {
            file.withdrawn = false;
            file.read = None;
            self.withdrawn.fetch_sub(1, Ordering::Release);
        }
        stale
    }

    fn is_quiet(&self) -> bool {
        self.withdrawn.load(Ordering::Acquire) == 0
    }

    fn change(&self, inode: InodeId, change: impl FnOnce(&mut Use)) {
        let mut files = self.files.lock();
        if let Some(file) = files.get_mut(&inode) {
            change(file);
            if file.is_idle() && files.remove(&inode).is_some_and(|file| file.withdrawn) {
                self.withdrawn.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direct_write_knows_who_could_have_read_meanwhile() {
        let (files, inode) = (Buffered::default(), InodeId(5));
        let began = files.writes(inode);
        assert!(!files.written(inode, began), "nobody");
        files.opened(inode);
        let began = files.writes(inode);
        files.closed(inode);
        assert!(files.written(inode, began), "one that was open before and is gone");
        let began = files.writes(inode);
        files.opened(inode);
        files.closed(inode);
        assert!(files.written(inode, began), "one that came and went");
        assert!(files.files.lock().is_empty());
    }

    #[test]
    fn a_buffered_write_knows_whose_page_may_have_been_read_anew() {
        let (files, inode) = (Buffered::default(), InodeId(5));
        files.opened(inode);
        files.reads(inode, 0, 4096);
        assert!(!files.wrote(inode, 8, 8), "nothing was withdrawn");
        files.withdraws(inode);
        files.withdrew(inode);
        assert!(!files.wrote(inode, 8, 8), "nothing was read since");
        files.reads(inode, 0, 4096);
        assert!(!files.wrote(inode, 8, 8), "what was withdrawn before the last write is nothing to this one");
        files.withdraws(inode);
        files.reads(inode, 4096, 4096);
        assert!(!files.wrote(inode, 4000, 96), "another page");
        assert!(files.wrote(inode, 8000, 500), "this page");
        assert!(files.wrote(inode, 8000, 500), "the withdrawal goes on");
        files.withdrew(inode);
        assert!(files.wrote(inode, 4096, 1), "the last look at it");
        assert!(!files.wrote(inode, 4096, 1));
        files.drops(inode);
        files.withdrew(inode);
        files.lasts(inode);
        files.reads(inode, 0, 4096);
        assert!(!files.wrote(inode, 0, 1), "dropped before the last write was answered");
        files.drops(inode);
        files.lasts(inode);
        files.withdrew(inode);
        files.reads(inode, 0, 4096);
        assert!(files.wrote(inode, 0, 1), "dropped after that");
        files.closed(inode);
        assert!(files.files.lock().is_empty() && files.is_quiet());
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The pages of a commit: those that it takes and writes, and those that it leaves behind.
//!
//! # Failure model
//! Only free pages are written, so a write that is torn, lost or late hurts nothing that the last durable header leads to.
//! Writes wait in memory and go out in the order of the file; they can be read from it after [`NewPages::flush`] and are
//! durable once it is synced. After an error some are on disk and none is used; the caller takes their pages back. What a
//! disk loses although it was synced is found by its checksum when it is read.

use super::super::file::PageFile;
use super::super::page::PAGE_BYTES;
use super::super::root::FreeList;
use super::super::space::FreePages;
use super::{LeftBehind, Runs};
use crate::StoreError;
use nyala_wire::checksum::crc32c;

/// New pages are written when there are so many bytes of them.
const WRITE_BYTES: usize = 1 << 20;
/// What the list of free pages may need besides its encoding: its own pages change one number in it.
const LIST_SLACK_BYTES: usize = 16;

/// Pages that a commit takes, writes and leaves behind.
pub(super) struct NewPages<'a> {
    file: &'a PageFile,
    free: &'a mut FreePages,
    /// Pages of the file that were ever used.
    pub(super) end: u64,
    /// Pages that the commit took.
    pub(super) allocated: Runs,
    /// Pages that its state does not need any more.
    pub(super) freed: Runs,
    /// New pages that are not written yet.
    dirty: Vec<(u64, Vec<u8>)>,
    dirty_bytes: usize,
}

impl<'a> NewPages<'a> {
    /// None yet; `end` is where the file may grow from.
    pub(super) fn new(file: &'a PageFile, free: &'a mut FreePages, end: u64) -> NewPages<'a> {
        let (allocated, freed, dirty) = (Vec::new(), Vec::new(), Vec::new());
        NewPages { file, free, end, allocated, freed, dirty, dirty_bytes: 0 }
    }

    /// Takes `count` pages that follow each other; the file grows if none are free.
    pub(super) fn allocate(&mut self, count: u64) -> Result<u64, StoreError> {
        let page = match self.free.take(count) {
            Some(page) => page,
            None => {
                self.file.grow(self.end + count)?;
                self.end += count;
                self.end - count
            }
        };
        self.allocated.push((page, count));
        Ok(page)
    }

    /// Notes pages that the state after this commit does not need any more.
    pub(super) fn release(&mut self, page: u64, count: u64) {
        if count > 0 {
            self.freed.push((page, count));
        }
    }

    /// Writes from a page on, now or later.
    pub(super) fn write(&mut self, page: u64, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.dirty_bytes += bytes.len();
        self.dirty.push((page, bytes));
        if self.dirty_bytes >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is not written yet, with one call for pages that follow each other.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.dirty.sort_unstable_by_key(|(page, _)| *page);
        let mut together: Vec<u8> = Vec::new();
        let mut start = 0;
        for (page, bytes) in self.dirty.drain(..) {
            if page != start + (together.len() / PAGE_BYTES) as u64 {
                if !together.is_empty() {
                    self.file.write(start, &together)?;
                }
                together.clear();
                start = page;
            }
            together.extend_from_slice(&bytes);
        }
        self.dirty_bytes = 0;
        if together.is_empty() { Ok(()) } else { self.file.write(start, &together) }
    }

    /// Writes the list of everything that is free once this commit is durable; the list before it is then free as well.
    pub(super) fn write_list(&mut self, old: FreeList, left: &LeftBehind) -> Result<FreeList, StoreError> {
        if old.bytes > 0 {
            self.release(old.page, old.pages());
        }
        let estimate = self.all_free(left).len();
        if estimate == 0 {
            return Ok(FreeList::default());
        }
        let wanted = (estimate + LIST_SLACK_BYTES).next_multiple_of(PAGE_BYTES);
        let page = self.allocate((wanted / PAGE_BYTES) as u64)?;
        let mut bytes = self.all_free(left);
        assert!(bytes.len() <= wanted, "the list of free pages grew from {estimate} to {} bytes", bytes.len());
        bytes.resize(wanted, 0);
        let list = FreeList { page, bytes: wanted as u32, crc: crc32c(&bytes) };
        self.write(page, bytes)?;
        Ok(list)
    }

    /// The encoded list of what is free, of what earlier commits left, and of what this one leaves.
    fn all_free(&self, left: &LeftBehind) -> Vec<u8> {
        let mut free = self.free.clone();
        let also = left.iter().flat_map(|(_, pages)| pages).chain(&self.freed);
        also.for_each(|(start, count)| free.add(*start, *count));
        free.encode()
    }
}

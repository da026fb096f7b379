// SPDX-License-Identifier: Apache-2.0

//! A commit: sorted changes go down the tree together, and new pages come up.
//!
//! # Failure model
//! Writes go to pages that the last durable header does not lead to. Until the header is written, an error leaves
//! everything as it was; the caller takes the pages back.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use super::cells::Cells;
use super::page::{CELLS_BYTES, Large, PAGE_BYTES, Page, Pointer, Row, is_inline, separator};
use super::root::{FreeList, Root};
use super::space::FreePages;
use super::{Tree, checksum};
use crate::StoreError;
use crate::ordered::{Change, CheckpointMeta};

/// Pages with less than this are joined with the next one.
const MIN_FILL_BYTES: usize = CELLS_BYTES / 3;
/// New pages are written when there are so many bytes of them.
const WRITE_BYTES: usize = 1 << 20;
/// What the list of free pages may need besides its encoding: its own pages change one number in it.
const LIST_SLACK_BYTES: usize = 16;

type Changes<'a, 'b> = Peekable<&'a mut dyn Iterator<Item = Change<'b>>>;
/// First page and number of pages.
pub(super) type Runs = Vec<(u64, u64)>;

/// A commit under way.
pub(super) struct Update<'a> {
    tree: &'a Tree,
    free: &'a mut FreePages,
    before: Root,
    end: u64,
    allocated: Runs,
    freed: Runs,
    /// New pages that are not written yet.
    dirty: Vec<(u64, Vec<u8>)>,
    dirty_bytes: usize,
}

impl<'a> Update<'a> {
    pub(super) fn new(tree: &'a Tree, free: &'a mut FreePages, before: Root) -> Update<'a> {
        let (allocated, freed, dirty) = (Vec::new(), Vec::new(), Vec::new());
        Update { tree, free, before, end: before.end, allocated, freed, dirty, dirty_bytes: 0 }
    }

    /// Pages that the commit took, and those that its state does not need any more.
    pub(super) fn done(self) -> (Runs, Runs) {
        (self.allocated, self.freed)
    }

    /// Makes the new state durable.
    pub(super) fn run(
        &mut self,
        changes: &mut dyn Iterator<Item = Change<'_>>,
        meta: CheckpointMeta,
        left: &VecDeque<(Arc<Root>, Runs)>,
    ) -> Result<Root, StoreError> {
        let root = self.new_root(changes.peekable())?;
        let free = self.write_list(left)?;
        self.flush()?;
        self.tree.file.sync()?;
        let root = Root { commit: self.before.commit + 1, meta: Some(meta), root, free, end: self.end };
        self.tree.file.write_header(&root)?;
        Ok(root)
    }

    fn new_root(&mut self, mut changes: Changes<'_, '_>) -> Result<Option<(Pointer, u8)>, StoreError> {
        if changes.peek().is_none() {
            return Ok(self.before.root);
        }
        let (mut cells, mut level) = (Cells::default(), 0);
        match self.before.root {
            Some((root, height)) => {
                level = height;
                self.node(root, height, None, &mut changes, &mut cells)?;
            }
            None => {
                for (key, value) in changes.by_ref() {
                    self.put(key, value, &mut cells)?;
                }
            }
        }
        while !cells.is_empty() {
            if level > 0 && cells.len() == 1 {
                return self.lowest_root(cells.child(0), level - 1).map(Some);
            }
            let mut above = Cells::default();
            self.pages(&cells, level, &[], &mut above)?;
            if above.len() == 1 {
                return Ok(Some((above.child(0), level)));
            }
            (cells, level) = (above, level + 1);
        }
        Ok(None)
    }

    /// A root with one child only is left out.
    fn lowest_root(&mut self, mut pointer: Pointer, mut level: u8) -> Result<(Pointer, u8), StoreError> {
        // What is not written yet cannot be read.
        self.flush()?;
        while level > 0 {
            let page = self.tree.page(pointer, level, false)?;
            if page.len() > 1 {
                break;
            }
            self.release(pointer.page, 1);
            (pointer, level) = (page.child(0), level - 1);
        }
        Ok((pointer, level))
    }

    /// Adds to `out` the cells that a page at `level` has after the changes below `upper`.
    fn node(
        &mut self,
        pointer: Pointer,
        level: u8,
        upper: Option<&[u8]>,
        changes: &mut Changes<'_, '_>,
        out: &mut Cells,
    ) -> Result<(), StoreError> {
        let page = self.tree.page(pointer, level, level > 0)?;
        self.release(pointer.page, 1);
        if level == 0 {
            return self.leaf(&page, upper, changes, out);
        }
        // Children that are being made anew, and the lowest key that may be in them.
        let (mut run, mut lower) = (Cells::default(), &[][..]);
        for index in 0..page.len() {
            let beyond = if index + 1 < page.len() { Some(page.key(index + 1)) } else { upper };
            let is_changed = changes.peek().is_some_and(|(key, _)| is_below(key, beyond));
            if !is_changed && run.is_empty() {
                out.push_raw(page.raw(index));
                continue;
            }
            if run.is_empty() {
                lower = page.key(index);
            }
            self.node(page.child(index), level - 1, beyond, changes, &mut run)?;
            if run.stored_bytes() >= MIN_FILL_BYTES {
                self.pages(&run, level - 1, lower, out)?;
                run.clear();
            }
        }
        if run.is_empty() { Ok(()) } else { self.pages(&run, level - 1, lower, out) }
    }

    fn leaf(
        &mut self,
        page: &Page,
        upper: Option<&[u8]>,
        changes: &mut Changes<'_, '_>,
        out: &mut Cells,
    ) -> Result<(), StoreError> {
        let mut index = 0;
        while let Some((key, value)) = changes.next_if(|(key, _)| is_below(key, upper)) {
            while index < page.len() && page.key(index) < key {
                out.push_raw(page.raw(index));
                index += 1;
            }
            if index < page.len() && page.key(index) == key {
                if let Row::Large(large) = page.row(index) {
                    self.release(large.page, large.pages());
                }
                index += 1;
            }
            self.put(key, value, out)?;
        }
        (index..page.len()).for_each(|index| out.push_raw(page.raw(index)));
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: Option<&[u8]>, out: &mut Cells) -> Result<(), StoreError> {
        let Some(value) = value else { return Ok(()) };
        if is_inline(key, value) {
            out.push_row(key, Row::Inline(value));
            return Ok(());
        }
        let large = Large { page: 0, bytes: value.len() as u32, crc: checksum(value) };
        let large = Large { page: self.allocate(large.pages())?, ..large };
        let mut bytes = value.to_vec();
        bytes.resize(large.pages() as usize * PAGE_BYTES, 0);
        self.write(large.page, bytes)?;
        out.push_row(key, Row::Large(large));
        Ok(())
    }

    /// Makes pages of cells, and adds what points to them to `out`; the first has all keys from `lower` on.
    fn pages(&mut self, cells: &Cells, level: u8, lower: &[u8], out: &mut Cells) -> Result<(), StoreError> {
        let mut from = 0;
        for to in cells.cuts() {
            let bytes = cells.encode(from..to, level);
            let pointer = Pointer { page: self.allocate(1)?, crc: checksum(&bytes[..]) };
            self.write(pointer.page, bytes.to_vec())?;
            if level > 0 {
                let page = Page::decode(bytes, level);
                self.tree.cache.insert(pointer, Arc::new(page.ok_or_else(|| self.mistake(pointer))?));
            }
            let key = match (from, level) {
                (0, _) => lower,
                (_, 0) => separator(cells.key(from - 1), cells.key(from)),
                _ => cells.key(from),
            };
            out.push_child(key, pointer);
            from = to;
        }
        Ok(())
    }

    fn mistake(&self, pointer: Pointer) -> StoreError {
        self.tree.file.damaged(pointer.page, "it was made wrong")
    }

    /// Everything that is free once this commit is durable.
    fn write_list(&mut self, left: &VecDeque<(Arc<Root>, Runs)>) -> Result<FreeList, StoreError> {
        let old = self.before.free;
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
        let list = FreeList { page, bytes: wanted as u32, crc: checksum(&bytes) };
        self.write(page, bytes)?;
        Ok(list)
    }

    fn all_free(&self, left: &VecDeque<(Arc<Root>, Runs)>) -> Vec<u8> {
        let mut free = self.free.clone();
        let also = left.iter().flat_map(|(_, pages)| pages).chain(&self.freed);
        also.for_each(|(start, count)| free.add(*start, *count));
        free.encode()
    }

    fn allocate(&mut self, count: u64) -> Result<u64, StoreError> {
        let page = match self.free.take(count) {
            Some(page) => page,
            None => {
                self.tree.file.grow(self.end + count)?;
                self.end += count;
                self.end - count
            }
        };
        self.allocated.push((page, count));
        Ok(page)
    }

    fn release(&mut self, page: u64, count: u64) {
        if count > 0 {
            self.freed.push((page, count));
        }
    }

    fn write(&mut self, page: u64, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.dirty_bytes += bytes.len();
        self.dirty.push((page, bytes));
        if self.dirty_bytes >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is dirty, with one call for pages that follow each other.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.dirty.sort_unstable_by_key(|(page, _)| *page);
        let mut together: Vec<u8> = Vec::new();
        let mut start = 0;
        for (page, bytes) in self.dirty.drain(..) {
            if page != start + (together.len() / PAGE_BYTES) as u64 {
                if !together.is_empty() {
                    self.tree.file.write(start, &together)?;
                }
                together.clear();
                start = page;
            }
            together.extend_from_slice(&bytes);
        }
        self.dirty_bytes = 0;
        if together.is_empty() { Ok(()) } else { self.tree.file.write(start, &together) }
    }
}

fn is_below(key: &[u8], upper: Option<&[u8]>) -> bool {
    upper.is_none_or(|upper| key < upper)
}

// SPDX-License-Identifier: Apache-2.0

//! The checkpoint store: a B+tree in one file, in which every page is vouched for by a checksum in the page that points to
//! it, up to the header (docs/decisions/0012-checked-tree.md).
//!
//! # Failure model
//! - **Crash.** A commit writes changed pages, and those above them, to free places only, syncs, and then writes a header
//!   that points to the new root, and syncs again. Headers take turns between two places, so there always is a whole one;
//!   what it points to is not written over before the next commit's header is durable.
//! - **The disk lies.** A page, large value or list of free pages that is not, to the last bit, what was written does not
//!   match the checksum beside the pointer that leads to it; nor does an older version of it, or another page. Reading it
//!   is an error with file and offset: never a wrong value, and never a missing key. A header has two copies, of which
//!   one is enough; they are made equal at open.
//! - **The disk is full**: the file grows (allocated, not sparse) before anything is written to the new part; what does
//!   not fit fails the commit, which has then changed nothing and can be tried again. A reserve is allocated ahead, so that
//!   the next commits, after which segments of the log are removed, go through on a disk that others filled.
//! - **A write or sync fails**: the commit fails and the file keeps the state before it, unless the header's did: then
//!   nobody knows, and the caller stops until the file is opened again. Opening writes and syncs the header that it found.
//! - Readers use the tree of the last commit while the next is being made; pages that a reader may still need are not used
//!   again before it is done.

#[cfg(test)]
mod audit;
mod cache;
mod cells;
mod convert;
mod file;
mod page;
mod root;
mod space;
mod update;

use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use nyala_wire::checksum::crc32c;
use parking_lot::{Mutex, RwLock};

use crate::log::disk::LogDisk;
use crate::ordered::{Change, CheckpointMeta, OrderedStore, Visit};
use crate::{StoreError, Value};
use cache::PageCache;
use file::PageFile;
use page::{Page, Pointer, Row};
use root::Root;
use space::FreePages;
use update::{Runs, Update};

pub(crate) use convert::open_directory;
#[cfg(test)]
pub(crate) use page::PAGE_BYTES;

/// A value of up to so many bytes takes one page. (A whole page would fit; rows of inline content are cut here since they
/// were kept in LMDB, docs/format.md.)
pub const ONE_PAGE_VALUE_BYTES: usize = page::PAGE_BYTES - 20;
const FILE_NAME: &str = "tree";

/// An open tree.
pub(crate) struct Tree {
    file: PageFile,
    cache: PageCache,
    /// Allocated ahead of use, bytes.
    reserve_bytes: u64,
    /// What the last commit left; whoever reads holds it.
    current: RwLock<Arc<Root>>,
    writer: Mutex<Writer>,
}

/// What the next commit has to know.
struct Writer {
    free: FreePages,
    /// Pages that a commit left behind, with the state before it, of which they are part.
    left: VecDeque<(Arc<Root>, Runs)>,
}

impl Tree {
    /// Keeps so many bytes allocated ahead of use, so that commits find room when others have filled the disk.
    pub(crate) fn with_reserve(mut self, bytes: u64) -> Tree {
        self.reserve_bytes = bytes;
        self.file.reserve(self.snapshot().end, bytes);
        self
    }

    /// Opens the tree on a disk, making it if needed.
    pub(crate) fn open(disk: &dyn LogDisk, max_bytes: u64, cache_bytes: usize) -> Result<Tree, StoreError> {
        let names = disk.list().map_err(|e| StoreError::io("list", disk.place(), e))?;
        if !names.iter().any(|name| name == FILE_NAME) {
            return Tree::make(disk, max_bytes, cache_bytes)?.publish(disk);
        }
        let (file, root) = PageFile::open(disk, FILE_NAME, max_bytes)?;
        let list = file.read_list(root.free)?;
        let free = FreePages::decode(&list, root::HEADER_PAGES, root.end);
        let free = free.ok_or_else(|| file.damaged(root.free.page, "the list of free pages makes no sense"))?;
        Ok(Tree::assemble(file, root, free, cache_bytes))
    }

    fn assemble(file: PageFile, root: Root, free: FreePages, cache_bytes: usize) -> Tree {
        let cache = PageCache::new(cache_bytes);
        let writer = Mutex::new(Writer { free, left: VecDeque::new() });
        Tree { file, cache, reserve_bytes: 0, current: RwLock::new(Arc::new(root)), writer }
    }

    /// An empty tree under a temporary name.
    fn make(disk: &dyn LogDisk, max_bytes: u64, cache_bytes: usize) -> Result<Tree, StoreError> {
        let (file, root) = PageFile::make(disk, &temporary_name(), max_bytes)?;
        Ok(Tree::assemble(file, root, FreePages::default(), cache_bytes))
    }

    /// Gives a tree that was made its name.
    fn publish(self, disk: &dyn LogDisk) -> Result<Tree, StoreError> {
        let renamed = disk.rename(&temporary_name(), FILE_NAME).and_then(|()| disk.sync_dir());
        renamed.map_err(|e| StoreError::io("rename", temporary_name(), e))?;
        Ok(self)
    }

    fn snapshot(&self) -> Arc<Root> {
        self.current.read().clone()
    }

    /// A checked page, from memory or the file.
    fn page(&self, pointer: Pointer, level: u8, keep: bool) -> Result<Arc<Page>, StoreError> {
        if let Some(page) = self.cache.get(pointer) {
            return Ok(page);
        }
        let bytes = self.file.read_page(pointer)?;
        let page = Page::decode(bytes, level);
        let page = page.ok_or_else(|| self.file.damaged(pointer.page, "it is no page of this level"))?;
        let page = Arc::new(page);
        if keep {
            self.cache.insert(pointer, page.clone());
        }
        Ok(page)
    }

    fn value(&self, row: Row<'_>) -> Result<Value, StoreError> {
        match row {
            Row::Inline(value) => Ok(value.into()),
            Row::Large(large) => Ok(self.file.read_large(large)?.into()),
        }
    }

    fn scan_node(
        &self,
        (pointer, level): (Pointer, u8),
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let page = self.page(pointer, level, true)?;
        let first = match from {
            Bound::Unbounded => 0,
            Bound::Included(key) | Bound::Excluded(key) if level > 0 => page.child_index(key),
            Bound::Included(key) => page.search(key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => page.search(key).map_or_else(|at| at, |at| at + 1),
        };
        for index in first..page.len() {
            let key = page.key(index);
            let is_beyond = match to {
                Bound::Unbounded => false,
                Bound::Included(to) => key > to,
                Bound::Excluded(to) => key >= to,
            };
            // The key of a branch's first child says nothing: it has everything below the second's.
            if is_beyond && (level == 0 || index > 0) {
                return Ok(ControlFlow::Break(()));
            }
            let flow = if level > 0 {
                let from = if index == first { from } else { Bound::Unbounded };
                self.scan_node((page.child(index), level - 1), from, to, visit)?
            } else {
                match page.row(index) {
                    Row::Inline(value) => visit(key, value),
                    Row::Large(large) => visit(key, &self.file.read_large(large)?),
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn temporary_name() -> String {
    format!("{FILE_NAME}.tmp")
}

impl OrderedStore for Tree {
    fn meta(&self) -> Result<Option<CheckpointMeta>, StoreError> {
        Ok(self.snapshot().meta)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        let snapshot = self.snapshot();
        let Some((mut pointer, mut level)) = snapshot.root else { return Ok(None) };
        loop {
            let page = self.page(pointer, level, true)?;
            if level == 0 {
                return page.search(key).ok().map(|at| self.value(page.row(at))).transpose();
            }
            (pointer, level) = (page.child(page.child_index(key)), level - 1);
        }
    }

    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let Some(root) = snapshot.root else { return Ok(()) };
        self.scan_node(root, from, to, visit).map(drop)
    }

    fn commit(&self, changes: &mut dyn Iterator<Item = Change<'_>>, meta: CheckpointMeta) -> Result<(), StoreError> {
        let writer = &mut *self.writer.lock();
        while writer.left.front().is_some_and(|(state, _)| Arc::strong_count(state) == 1) {
            let pages = writer.left.pop_front().map(|(_, pages)| pages);
            pages.iter().flatten().for_each(|(start, count)| writer.free.add(*start, *count));
        }
        let before = self.snapshot();
        let mut update = Update::new(self, &mut writer.free, *before);
        let made = update.run(changes, meta, &writer.left);
        let (allocated, freed) = update.done();
        match made {
            Ok(root) => {
                self.file.reserve(root.end, self.reserve_bytes);
                *self.current.write() = Arc::new(root);
                writer.left.push_back((before, freed));
                Ok(())
            }
            Err(error) => {
                let inside = allocated.iter().filter(|(start, _)| *start < before.end);
                inside.for_each(|(start, count)| writer.free.add(*start, *count));
                Err(error)
            }
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32c(bytes)
}

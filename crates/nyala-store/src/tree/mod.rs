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
pub(crate) mod cell;
mod cells;
mod convert;
mod file;
mod open;
pub(crate) mod page;
mod read;
pub(crate) mod root;
pub(crate) mod space;
mod update;
mod verify;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::ordered::{CheckpointMeta, OrderedStore, Verified};
use crate::{StoreError, Value};
use cache::PageCache;
use file::PageFile;
use nyala_kv::{Change, Visit};
use root::Root;
use space::FreePages;
use update::{LeftBehind, Update};

pub(crate) use convert::open_directory;
#[cfg(test)]
pub(crate) use page::PAGE_BYTES;

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
    /// Pages before the end that the next commit can use.
    free_pages: AtomicU64,
}

/// What the next commit has to know.
struct Writer {
    free: FreePages,
    left: LeftBehind,
}

impl Writer {
    /// Those that are free, and those that the last commits left behind.
    fn free_pages(&self) -> u64 {
        let left = self.left.iter().flat_map(|(_, pages)| pages).map(|(_, count)| *count);
        self.free.pages() + left.sum::<u64>()
    }
}

impl Tree {
    /// The state that the last commit left. Its pages stay as they are as long as somebody holds it.
    fn snapshot(&self) -> Arc<Root> {
        self.current.read().clone()
    }
}

impl OrderedStore for Tree {
    fn meta(&self) -> Result<Option<CheckpointMeta>, StoreError> {
        Ok(self.snapshot().meta)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        self.lookup(key)
    }

    fn peek(&self, key: &[u8]) -> Option<Option<Value>> {
        self.lookup_kept(key)
    }

    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.scan_rows(from, to, visit)
    }

    fn verify(&self, from: &[u8], pages: u64) -> Verified {
        verify::verify_from(&self.file, &self.snapshot(), from, pages)
    }

    fn free_bytes(&self) -> u64 {
        let behind = self.file.bytes_behind(self.snapshot().end);
        behind.saturating_add(self.free_pages.load(Ordering::Relaxed).saturating_mul(page::PAGE_BYTES as u64))
    }

    fn used_bytes(&self) -> u64 {
        self.snapshot().end.saturating_sub(self.free_pages.load(Ordering::Relaxed)) * page::PAGE_BYTES as u64
    }

    fn cached_bytes(&self) -> u64 {
        self.cache.bytes()
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
                self.free_pages.store(writer.free_pages(), Ordering::Relaxed);
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

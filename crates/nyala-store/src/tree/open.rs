// SPDX-License-Identifier: Apache-2.0

//! Opening a tree, and making an empty one.
//!
//! # Failure model
//! - A new tree is made under a temporary name and gets its own when its header is durable, so a file under that name has a
//!   header. A crash before leaves a file that the next making writes over.
//! - The new name is durable when the directory was synced, which the making does before it returns. A process that ends in
//!   between leaves a name that a power cut could take back, with what the next process commits under it: so opening a tree
//!   syncs the directory too.
//! - A list of free pages that does not match its checksum, or makes no sense, is an error at open, before a commit could
//!   use it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};

use super::cache::PageCache;
use super::file::PageFile;
use super::root::{self, Root};
use super::space::FreePages;
use super::{FILE_NAME, Tree, Writer};
use crate::StoreError;
use crate::log::disk::LogDisk;

impl Tree {
    /// Keeps so many bytes allocated ahead of use, so that commits find room when others have filled the disk.
    pub(crate) fn with_reserve(mut self, bytes: u64) -> Tree {
        self.reserve_bytes = bytes;
        self.file.reserve(self.snapshot().end, bytes);
        self
    }

    /// Opens the tree on a disk, making it if needed.
    pub(crate) fn open(disk: &dyn LogDisk, max_bytes: u64, cache_bytes: usize) -> Result<Tree, StoreError> {
        let names = disk.list().map_err(|e| StoreError::io("list", disk.location(), e))?;
        if !names.iter().any(|name| name == FILE_NAME) {
            return Tree::make(disk, max_bytes, cache_bytes)?.publish(disk);
        }
        disk.sync_dir().map_err(|e| StoreError::io("sync", disk.location(), e))?;
        let (file, root) = PageFile::open(disk, FILE_NAME, max_bytes)?;
        let list = file.read_list(root.free)?;
        let free = FreePages::decode(&list, root::HEADER_PAGES, root.end);
        let free = free.ok_or_else(|| file.damaged(root.free.page, "the list of free pages makes no sense"))?;
        Ok(Tree::assemble(file, root, free, cache_bytes))
    }

    /// A tree of a file whose header and list of free pages were read.
    fn assemble(file: PageFile, root: Root, free: FreePages, cache_bytes: usize) -> Tree {
        let cache = PageCache::new(cache_bytes);
        let free_pages = AtomicU64::new(free.pages());
        let writer = Mutex::new(Writer { free, left: VecDeque::new() });
        Tree { file, cache, reserve_bytes: 0, current: RwLock::new(Arc::new(root)), writer, free_pages }
    }

    /// An empty tree under a temporary name, which [`Tree::publish`] replaces by its own.
    pub(super) fn make(disk: &dyn LogDisk, max_bytes: u64, cache_bytes: usize) -> Result<Tree, StoreError> {
        let (file, root) = PageFile::make(disk, &temporary_name(), max_bytes)?;
        Ok(Tree::assemble(file, root, FreePages::default(), cache_bytes))
    }

    /// Gives a tree that was made its name.
    pub(super) fn publish(self, disk: &dyn LogDisk) -> Result<Tree, StoreError> {
        let renamed = disk.rename(&temporary_name(), FILE_NAME).and_then(|()| disk.sync_dir());
        renamed.map_err(|e| StoreError::io("rename", temporary_name(), e))?;
        Ok(self)
    }
}

fn temporary_name() -> String {
    format!("{FILE_NAME}.tmp")
}

// SPDX-License-Identifier: Apache-2.0

//! A commit: sorted changes go down the tree together, and new pages come up.
//!
//! # Failure model
//! Writes go to pages that the last durable header does not lead to. Until the header is written, an error leaves
//! everything as it was; the caller takes the pages back. An error while the header is written leaves the state before or
//! the new one, and nobody knows which until the file is opened again.

mod merge;
mod pages;

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::Arc;

use super::Tree;
use super::cell::{Pointer, separator};
use super::cells::Cells;
use super::page::Page;
use super::root::Root;
use super::space::FreePages;
use crate::StoreError;
use crate::ordered::CheckpointMeta;
use nyala_kv::Change;
use nyala_wire::checksum::crc32c;
use pages::NewPages;

type Changes<'a, 'b> = Peekable<&'a mut dyn Iterator<Item = Change<'b>>>;
/// First page and number of pages.
pub(super) type Runs = Vec<(u64, u64)>;
/// Pages that a commit left behind, with the state before it, of which they are part.
pub(super) type LeftBehind = VecDeque<(Arc<Root>, Runs)>;

/// A commit under way.
pub(super) struct Update<'a> {
    tree: &'a Tree,
    before: Root,
    pages: NewPages<'a>,
}

impl<'a> Update<'a> {
    /// Begins a commit after the state `before`; pages are taken from `free`.
    pub(super) fn new(tree: &'a Tree, free: &'a mut FreePages, before: Root) -> Update<'a> {
        Update { tree, before, pages: NewPages::new(&tree.file, free, before.end) }
    }

    /// Pages that the commit took, and those that its state does not need any more.
    pub(super) fn done(self) -> (Runs, Runs) {
        (self.pages.allocated, self.pages.freed)
    }

    /// Makes the new state durable.
    pub(super) fn run(
        &mut self,
        changes: &mut dyn Iterator<Item = Change<'_>>,
        meta: CheckpointMeta,
        left: &LeftBehind,
    ) -> Result<Root, StoreError> {
        let root = self.new_root(changes.peekable())?;
        let free = self.pages.write_list(self.before.free, left)?;
        self.pages.flush()?;
        self.tree.file.sync()?;
        let root = Root { commit: self.before.commit + 1, meta: Some(meta), root, free, end: self.pages.end };
        self.tree.file.write_header(&root)?;
        Ok(root)
    }

    /// The root of the tree after the changes, and its level.
    fn new_root(&mut self, mut changes: Changes<'_, '_>) -> Result<Option<(Pointer, u8)>, StoreError> {
        if changes.peek().is_none() {
            return Ok(self.before.root);
        }
        let (mut cells, mut level) = (Cells::default(), 0);
        match self.before.root {
            Some((root, height)) => {
                level = height;
                self.node(root, height, (&[], None), &mut changes, &mut cells)?;
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
            self.build(&cells, level, &[], &mut above)?;
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
        self.pages.flush()?;
        while level > 0 {
            let page = self.tree.page(pointer, level, false)?;
            if page.len() > 1 {
                break;
            }
            self.pages.release(pointer.page, 1);
            (pointer, level) = (page.child(0), level - 1);
        }
        Ok((pointer, level))
    }

    /// Makes pages of cells, and adds what points to them to `out`; the first has all keys from `lower` on.
    fn build(&mut self, cells: &Cells, level: u8, lower: &[u8], out: &mut Cells) -> Result<(), StoreError> {
        let mut from = 0;
        for to in cells.cuts() {
            let bytes = cells.encode(from..to, level);
            let pointer = Pointer { page: self.pages.allocate(1)?, crc: crc32c(&bytes[..]) };
            self.pages.write(pointer.page, bytes.to_vec())?;
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

    /// A page that was just made and cannot be decoded.
    fn mistake(&self, pointer: Pointer) -> StoreError {
        self.tree.file.damaged(pointer.page, "it was made wrong")
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Pages compared with their checksums although nobody asks for them.
//!
//! # Failure model
//! What is damaged hides what is below it: that is one finding, and the walk goes on behind it. Commits between two slices move
//! pages; a slice sees one commit, and the next one goes on behind the same key. What the operating system still has in memory is
//! compared as it is there, so a page that is read all the time is looked at on the disk only once it is not.

use std::ops::ControlFlow;

use super::cell::{Pointer, Row};
use super::file::PageFile;
use super::page::Page;
use super::root::Root;
use crate::StoreError;
use crate::ordered::Verified;

/// Compares about `pages` pages on the way from a key on, past the pages in memory.
pub(super) fn verify_from(file: &PageFile, root: &Root, from: &[u8], pages: u64) -> Verified {
    let mut walk = Walk { file, left: pages, verified: Verified::default() };
    let flow = match root.root {
        Some((page, level)) => walk.below(page, level, from),
        None => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Break(next) => walk.verified.next = Some(next),
        // A pass ends with what says which pages are free.
        ControlFlow::Continue(()) => {
            walk.compared(root.free.pages(), file.read_list(root.free));
        }
    }
    walk.verified
}

struct Walk<'t> {
    file: &'t PageFile,
    /// Pages that may still be read.
    left: u64,
    verified: Verified,
}

impl Walk<'_> {
    fn compared<T>(&mut self, pages: u64, read: Result<T, StoreError>) -> Option<T> {
        self.verified.pages += pages;
        self.left = self.left.saturating_sub(pages);
        read.map_err(|error| self.verified.damage.push(error)).ok()
    }

    /// Compares a page and what is below it, from a key on. Breaks with the key to go on from.
    fn below(&mut self, pointer: Pointer, level: u8, from: &[u8]) -> ControlFlow<Vec<u8>> {
        let file = self.file;
        let read = file.read_page(pointer).and_then(|bytes| {
            Page::decode(bytes, level).ok_or_else(|| file.damaged(pointer.page, "it is no page of this level"))
        });
        let Some(page) = self.compared(1, read) else { return ControlFlow::Continue(()) };
        if level == 0 {
            self.large_values(&page, from);
            return ControlFlow::Continue(());
        }
        let first = page.child_index(from);
        for index in first..page.len() {
            // Not before the first, so that each slice gets on.
            if index > first && self.left == 0 {
                return ControlFlow::Break(page.key(index).to_vec());
            }
            self.below(page.child(index), level - 1, if index == first { from } else { &[] })?;
        }
        ControlFlow::Continue(())
    }

    fn large_values(&mut self, leaf: &Page, from: &[u8]) {
        for index in leaf.search(from).unwrap_or_else(|at| at)..leaf.len() {
            if let Row::Large(large) = leaf.row(index) {
                self.compared(large.pages(), self.file.read_large(large));
            }
        }
    }
}

#[cfg(test)]
mod tests;

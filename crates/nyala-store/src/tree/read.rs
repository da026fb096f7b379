// SPDX-License-Identifier: Apache-2.0

//! Reading: from the root of the last commit down to a row, or along a range of rows.
//!
//! # Failure model
//! A page or large value that is not what its pointer vouches for is an error with file and offset, so what is not found
//! is not there. Such an error may come in the middle of a scan, after rows that were right. Pages in memory were checked
//! when they were read and are not checked again. A reader sees one commit from beginning to end.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::Tree;
use super::cell::{Pointer, Row};
use super::page::Page;
use crate::ordered::Visit;
use crate::{StoreError, Value};

impl Tree {
    /// The value of a key.
    pub(super) fn lookup(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
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

    /// Visits the rows of a range in order.
    pub(super) fn scan_rows(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let snapshot = self.snapshot();
        let Some(root) = snapshot.root else { return Ok(()) };
        self.scan_node(root, from, to, visit).map(drop)
    }

    /// A checked page of a level, from memory or the file; what is read is kept in memory only if `keep` says so.
    pub(super) fn page(&self, pointer: Pointer, level: u8, keep: bool) -> Result<Arc<Page>, StoreError> {
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

    /// What a row of a leaf holds, from the leaf or from pages of its own.
    fn value(&self, row: Row<'_>) -> Result<Value, StoreError> {
        match row {
            Row::Inline(value) => Ok(value.into()),
            Row::Large(large) => Ok(self.file.read_large(large)?.into()),
        }
    }

    /// Visits the rows of a range that are in a page at a level, or below it.
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

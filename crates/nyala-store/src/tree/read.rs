// SPDX-License-Identifier: Apache-2.0

//! Reading: from the root of the last commit down to a row, or along a range of rows.
//!
//! # Failure model
//! A page or large value that is not what its pointer vouches for is an error with file and offset, so what is not found
//! is not there. Nor may a page hold keys that a search would not look for in it, whoever made it so. Such an error may come in the middle of a scan, after rows that were right. Pages in memory were checked
//! when they were read and are not checked again. A reader sees one commit from beginning to end.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::Tree;
use super::cell::{Pointer, Row};
use super::page::Page;
use crate::{StoreError, Value};
use nyala_kv::Visit;

impl Tree {
    /// The value of a key.
    pub(super) fn lookup(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        let snapshot = self.snapshot();
        let Some((root, top)) = snapshot.root else { return Ok(None) };
        let mut page = self.page(root, top, true)?;
        for level in (0..top).rev() {
            page = self.child(&page, page.child_index(key), level)?;
        }
        page.search(key).ok().map(|at| self.value(page.row(at))).transpose()
    }

    /// The same from pages in memory; `None`: one is not, or the value has pages of its own.
    pub(super) fn lookup_kept(&self, key: &[u8]) -> Option<Option<Value>> {
        let Some((root, top)) = self.snapshot().root else { return Some(None) };
        let leaf = self.cache.leaf(root, top, key)?;
        match leaf.search(key).ok().map(|at| leaf.row(at)) {
            None => Some(None),
            Some(Row::Inline(value)) => Some(Some(value.into())),
            Some(Row::Large(_)) => None,
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
        let Some((root, level)) = snapshot.root else { return Ok(()) };
        self.scan_node((&*self.page(root, level, true)?, level), from, to, visit).map(drop)
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

    /// The page at a level below a branch.
    fn child(&self, branch: &Page, index: usize, level: u8) -> Result<Arc<Page>, StoreError> {
        let pointer = branch.child(index);
        if let Some(page) = self.cache.get(pointer) {
            return Ok(page);
        }
        let page = self.page(pointer, level, false)?;
        // The key of the first child says nothing.
        let begins = index == 0 || page.is_empty() || branch.key(index) <= page.key(0);
        let ends = index + 1 == branch.len() || page.is_empty() || page.key(page.len() - 1) < branch.key(index + 1);
        if !begins || !ends {
            return Err(self.file.damaged(pointer.page, "it has keys that belong to another page"));
        }
        self.cache.insert(pointer, page.clone());
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
        (page, level): (&Page, u8),
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
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
                self.scan_node((&*self.child(page, index, level - 1)?, level - 1), from, to, visit)?
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered::{CheckpointMeta, OrderedStore};
    use crate::testing::Machine;
    use crate::tree::cells::Cells;
    use crate::tree::root::Root;
    use nyala_wire::checksum::crc32c;

    /// A mistake in making a tree, as no disk makes it: the second leaf begins before its key.
    #[test]
    fn a_page_with_keys_of_another_is_refused_and_not_half_read() {
        let machine = Machine::new(0);
        let tree = Tree::open(&*machine.disk(), 1 << 30, 0).unwrap();
        let keys: Vec<[u8; 4]> = (0..400_u32).map(u32::to_be_bytes).collect();
        let meta = CheckpointMeta { store_id: 1, lsn: 1, sequence: 1, offset: 0 };
        tree.commit(&mut keys.iter().map(|key| (&key[..], Some(&[1; 50][..]))), meta).unwrap();
        let before = *tree.snapshot();
        let (root, level) = before.root.unwrap();
        let branch = tree.page(root, level, false).unwrap();
        assert!(level == 1 && branch.len() > 3);
        let second = tree.page(branch.child(1), 0, false).unwrap();
        let mut cells = Cells::default();
        for index in 0..branch.len() {
            cells.push_child(if index == 1 { second.key(2) } else { branch.key(index) }, branch.child(index));
        }
        let bytes = cells.encode(0..branch.len(), 1);
        let wrong = Pointer { page: before.end, crc: crc32c(&bytes[..]) };
        tree.file.write(before.end, &bytes[..]).unwrap();
        *tree.current.write() = Arc::new(Root { root: Some((wrong, 1)), end: before.end + 1, ..before });
        assert!(tree.get(&keys[0]).unwrap().is_some(), "the first leaf is right");
        for key in [second.key(2), second.key(5)] {
            let refused = tree.get(key).unwrap_err();
            assert!(refused.to_string().contains("keys that belong to another page"), "{refused}");
        }
        let mut count = 0;
        let scanned = tree.scan(Bound::Unbounded, Bound::Unbounded, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert!(scanned.is_err() && count < keys.len(), "{scanned:?} after {count}");
    }
}

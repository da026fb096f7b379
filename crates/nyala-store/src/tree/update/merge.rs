// SPDX-License-Identifier: Apache-2.0

//! Going down: the changes of a commit meet the rows and children that were there.
//!
//! # Failure model
//! Pages that are changed, those above them, and neighbours that are joined with them are read; a damaged one is an error,
//! and the commit fails. Large values that are replaced are not read, so damage in them is not seen. Values that are too
//! large for a leaf are written as they come (`pages.rs` says what can happen to a write).

use super::super::cell::{Large, Pointer, Row, is_inline};
use super::super::cells::Cells;
use super::super::page::{CELLS_BYTES, PAGE_BYTES, Page};
use super::{Changes, Update};
use crate::StoreError;
use nyala_wire::checksum::crc32c;

/// Pages with less than this are joined with the next one.
const MIN_FILL_BYTES: usize = CELLS_BYTES / 3;

impl Update<'_> {
    /// Adds to `out` the cells that a page at `level` has after the changes below `upper`. No row of it is below `lower`, which
    /// is where its first child begins: the key that the page has for that one says nothing, since children before it may have
    /// gone and rows may have come below it; beside cells of another page it would hide them.
    pub(super) fn node(
        &mut self,
        pointer: Pointer,
        level: u8,
        (lower, upper): (&[u8], Option<&[u8]>),
        changes: &mut Changes<'_, '_>,
        out: &mut Cells,
    ) -> Result<(), StoreError> {
        let page = self.tree.page(pointer, level, level > 0)?;
        self.pages.release(pointer.page, 1);
        if level == 0 {
            return self.leaf(&page, upper, changes, out);
        }
        // Children that are being made anew, and the lowest key that may be in them.
        let (mut run, mut run_lower) = (Cells::default(), &[][..]);
        for index in 0..page.len() {
            let beyond = if index + 1 < page.len() { Some(page.key(index + 1)) } else { upper };
            let is_changed = changes.peek().is_some_and(|(key, _)| is_below(key, beyond));
            let from = if index == 0 { lower } else { page.key(index) };
            if !is_changed && run.is_empty() {
                out.push_child(from, page.child(index));
                continue;
            }
            if run.is_empty() {
                run_lower = from;
            }
            self.node(page.child(index), level - 1, (from, beyond), changes, &mut run)?;
            if run.stored_bytes() >= MIN_FILL_BYTES {
                self.build(&run, level - 1, run_lower, out)?;
                run.clear();
            }
        }
        if run.is_empty() { Ok(()) } else { self.build(&run, level - 1, run_lower, out) }
    }

    /// Adds to `out` the rows of a leaf and the changes below `upper`, in order.
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
                    self.pages.release(large.page, large.pages());
                }
                index += 1;
            }
            self.put(key, value, out)?;
        }
        (index..page.len()).for_each(|index| out.push_raw(page.raw(index)));
        Ok(())
    }

    /// Adds a row to `out`, if the change is not a removal; what is too large for a leaf gets pages of its own.
    pub(super) fn put(&mut self, key: &[u8], value: Option<&[u8]>, out: &mut Cells) -> Result<(), StoreError> {
        let Some(value) = value else { return Ok(()) };
        if is_inline(key, value) {
            out.push_row(key, Row::Inline(value));
            return Ok(());
        }
        let large = Large { page: 0, bytes: value.len() as u32, crc: crc32c(value) };
        let large = Large { page: self.pages.allocate(large.pages())?, ..large };
        let mut bytes = value.to_vec();
        bytes.resize(large.pages() as usize * PAGE_BYTES, 0);
        self.pages.write(large.page, bytes)?;
        out.push_row(key, Row::Large(large));
        Ok(())
    }
}

fn is_below(key: &[u8], upper: Option<&[u8]>) -> bool {
    upper.is_none_or(|upper| key < upper)
}

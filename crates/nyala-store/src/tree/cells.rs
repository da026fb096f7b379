// SPDX-License-Identifier: Apache-2.0

//! Cells on their way into pages, and where to cut them into pages. Pure.

use super::cell::{CHILD_BYTES, LARGE, LARGE_BYTES, Pointer, Row, child_of, is_inline, key_of};
use super::page::{CELLS_BYTES, HEAD_BYTES, PAGE_BYTES, PAGE_VERSION, SLOT_BYTES};

/// Encoded cells in order, more than a page may hold.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    bytes: Vec<u8>,
    /// Where each cell ends.
    ends: Vec<usize>,
}

impl Cells {
    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What they take of pages, slots included.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.bytes.len() + SLOT_BYTES * self.ends.len()
    }

    /// Removes all.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a whole cell.
    pub(crate) fn push_raw(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }

    /// Adds a cell of a branch.
    pub(crate) fn push_child(&mut self, key: &[u8], child: Pointer) {
        self.push(key, CHILD_BYTES as u16, &[&child.page.to_le_bytes(), &child.crc.to_le_bytes()]);
    }

    /// Adds a cell of a leaf.
    pub(crate) fn push_row(&mut self, key: &[u8], row: Row<'_>) {
        match row {
            Row::Inline(value) => {
                assert!(is_inline(key, value), "a value of {} bytes in a leaf", value.len());
                self.push(key, value.len() as u16, &[value]);
            }
            Row::Large(large) => {
                let parts = [&large.page.to_le_bytes()[..], &large.bytes.to_le_bytes(), &large.crc.to_le_bytes()];
                self.push(key, LARGE_BYTES as u16 | LARGE, &parts);
            }
        }
    }

    fn push(&mut self, key: &[u8], payload_bytes: u16, payload: &[&[u8]]) {
        self.bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&payload_bytes.to_le_bytes());
        self.bytes.extend_from_slice(key);
        payload.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
    }

    fn cell(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// The key of the cell at `index`.
    pub(crate) fn key(&self, index: usize) -> &[u8] {
        key_of(self.cell(index))
    }

    /// What the cell at `index` of a branch points to.
    pub(crate) fn child(&self, index: usize) -> Pointer {
        child_of(self.cell(index))
    }

    /// Where to cut into pages of about the same size: ends of the pieces, as counts of cells.
    pub(crate) fn cuts(&self) -> Vec<usize> {
        let pages = self.stored_bytes().div_ceil(CELLS_BYTES).max(1);
        let goal = self.stored_bytes().div_ceil(pages);
        let (mut cuts, mut used) = (Vec::with_capacity(pages), 0);
        for index in 0..self.len() {
            let bytes = self.cell(index).len() + SLOT_BYTES;
            if used > 0 && (used >= goal || used + bytes > CELLS_BYTES) {
                cuts.push(index);
                used = 0;
            }
            used += bytes;
        }
        cuts.push(self.len());
        cuts
    }

    /// The page that holds cells `range`, which [`Cells::cuts`] gave.
    pub(crate) fn encode(&self, range: std::ops::Range<usize>, level: u8) -> Box<[u8; PAGE_BYTES]> {
        let mut page = Box::new([0; PAGE_BYTES]);
        let count = range.len();
        page[0] = PAGE_VERSION;
        page[1] = level;
        page[2..4].copy_from_slice(&(count as u16).to_le_bytes());
        let mut at = HEAD_BYTES + SLOT_BYTES * count;
        for (slot, index) in range.enumerate() {
            let cell = self.cell(index);
            page[HEAD_BYTES + SLOT_BYTES * slot..][..SLOT_BYTES].copy_from_slice(&(at as u16).to_le_bytes());
            page[at..at + cell.len()].copy_from_slice(cell);
            at += cell.len();
        }
        page
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The bytes of a tree page: sorted cells, and where they are. Pure. `docs/format-store.md` is the
//! same in prose.

use std::cmp::Ordering;

use super::cell::{CELL_HEAD_BYTES, LARGE, Pointer, Row, cell_bytes, child_of, row_of, u16_at};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Such a value takes one page. (A whole page would fit; rows of inline content are cut here since they were kept in LMDB,
/// docs/format.md.)
const _: () = assert!(nyala_kv::ONE_PAGE_VALUE_BYTES == PAGE_BYTES - 20);
/// Version, level and number of cells.
pub(super) const HEAD_BYTES: usize = 8;
/// Where a cell is.
pub(super) const SLOT_BYTES: usize = 2;
/// What cells and their slots may take of a page.
pub(crate) const CELLS_BYTES: usize = PAGE_BYTES - HEAD_BYTES;
/// First byte of a page.
pub(super) const PAGE_VERSION: u8 = 1;

/// A page whose layout was checked.
#[derive(Debug)]
pub(crate) struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
}

impl Page {
    /// Checks the layout; `None` if it is not a page of this level.
    pub(crate) fn decode(bytes: Box<[u8; PAGE_BYTES]>, level: u8) -> Option<Page> {
        let page = Page { bytes };
        let mut at = HEAD_BYTES + SLOT_BYTES * page.len();
        if page.bytes[0] != PAGE_VERSION || page.bytes[1] != level || page.is_empty() || at > PAGE_BYTES {
            return None;
        }
        for index in 0..page.len() {
            if page.offset(index) != at {
                return None;
            }
            at += cell_bytes(&page.bytes[at..], level)?;
        }
        Some(page)
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        usize::from(u16_at(&self.bytes[..], 2))
    }

    /// Whether it has no cell.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn offset(&self, index: usize) -> usize {
        usize::from(u16_at(&self.bytes[..], HEAD_BYTES + SLOT_BYTES * index))
    }

    /// The whole cell.
    pub(crate) fn raw(&self, index: usize) -> &[u8] {
        let cell = &self.bytes[self.offset(index)..];
        let payload = usize::from(u16_at(cell, 2) & !LARGE);
        &cell[..CELL_HEAD_BYTES + usize::from(u16_at(cell, 0)) + payload]
    }

    /// The key of the cell at `index`.
    pub(crate) fn key(&self, index: usize) -> &[u8] {
        let at = self.offset(index);
        &self.bytes[at + CELL_HEAD_BYTES..][..usize::from(u16_at(&self.bytes[..], at))]
    }

    /// What the cell at `index` of a leaf holds.
    pub(crate) fn row(&self, index: usize) -> Row<'_> {
        row_of(self.raw(index))
    }

    /// What the cell at `index` of a branch points to.
    pub(crate) fn child(&self, index: usize) -> Pointer {
        child_of(self.raw(index))
    }

    /// The child of a branch whose range `key` lies in. The first child has all keys below the second's.
    pub(crate) fn child_index(&self, key: &[u8]) -> usize {
        self.below(1, |other| other <= key) - 1
    }

    /// Where `key` is in a leaf, or would be.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let at = self.below(0, |other| other < key);
        if at < self.len() && self.key(at).cmp(key) == Ordering::Equal { Ok(at) } else { Err(at) }
    }

    /// The first index from `from` on whose key does not satisfy `is_below`.
    fn below(&self, from: usize, is_below: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (from, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_below(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::cell::{Large, MAX_CELL_BYTES, is_inline};
    use crate::tree::cells::Cells;

    #[test]
    fn cells_come_back_and_are_found() {
        let mut cells = Cells::default();
        let large = Large { page: 1 << 40 | 7, bytes: 70_000, crc: 0xdead_beef };
        for number in 0..300_u32 {
            let (key, value) = (format!("key {number:05}"), vec![number as u8; (number % 90) as usize]);
            let row = if number % 7 == 3 { Row::Large(large) } else { Row::Inline(&value) };
            cells.push_row(key.as_bytes(), row);
        }
        let (mut from, mut seen) = (0, 0_u32);
        for to in cells.cuts() {
            let page = Page::decode(cells.encode(from..to, 0), 0).unwrap();
            for index in 0..page.len() {
                let (key, value) = (format!("key {seen:05}"), vec![seen as u8; (seen % 90) as usize]);
                assert_eq!(page.search(key.as_bytes()), Ok(index));
                assert_eq!(page.search(format!("{key}+").as_bytes()), Err(index + 1));
                let row = if seen % 7 == 3 { Row::Large(large) } else { Row::Inline(&value) };
                assert_eq!((page.key(index), page.row(index)), (key.as_bytes(), row));
                seen += 1;
            }
            from = to;
        }
        assert_eq!(seen, 300);
    }

    #[test]
    fn the_first_child_has_everything_below_the_second() {
        let mut cells = Cells::default();
        for (number, key) in ["f", "m", "t"].iter().enumerate() {
            cells.push_child(key.as_bytes(), Pointer { page: number as u64, crc: 9 });
        }
        let page = Page::decode(cells.encode(0..3, 2), 2).unwrap();
        for (key, child) in [("a", 0), ("f", 0), ("lz", 0), ("m", 1), ("s", 1), ("t", 2), ("z", 2)] {
            assert_eq!(page.child(page.child_index(key.as_bytes())), Pointer { page: child, crc: 9 }, "{key}");
        }
    }

    #[test]
    fn the_largest_cells_fit_two_to_a_page_and_nothing_is_cut_too_large() {
        let mut cells = Cells::default();
        let value = vec![1; MAX_CELL_BYTES - CELL_HEAD_BYTES - 3];
        assert!(is_inline(b"000", &value) && !is_inline(b"0000", &value));
        for number in 0..9 {
            cells.push_row(format!("{number:03}").as_bytes(), Row::Inline(&value));
        }
        let cuts = cells.cuts();
        assert_eq!(cuts, [2, 4, 6, 8, 9]);
        assert!(Page::decode(cells.encode(6..8, 0), 0).is_some());
    }

    #[test]
    fn decoding_any_bytes_is_safe() {
        let mut cells = Cells::default();
        for number in 0..40_u8 {
            cells.push_row(&[number, 1], Row::Inline(&[number; 30]));
        }
        let good = cells.encode(0..40, 0);
        for position in 0..200 {
            for flip in [1, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[position] ^= flip;
                if let Some(page) = Page::decode(bad, 0) {
                    (0..page.len()).for_each(|index| {
                        assert!(page.key(index).len() < PAGE_BYTES || page.row(index) == page.row(0))
                    });
                }
            }
        }
        assert!(Page::decode(good, 1).is_none());
    }
}

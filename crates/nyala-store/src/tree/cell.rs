// SPDX-License-Identifier: Apache-2.0

//! The bytes of a cell: a key, and what belongs to it. Pure. `docs/format-store.md` is the same in prose.

use super::page::{CELLS_BYTES, PAGE_BYTES, SLOT_BYTES};

/// Lengths of key and payload.
pub(super) const CELL_HEAD_BYTES: usize = 4;
/// Two of the largest cells fit into a page; a value that would make a larger one goes to pages of its own.
pub(super) const MAX_CELL_BYTES: usize = CELLS_BYTES / 2 - SLOT_BYTES;
/// In the length of a payload: it says where the value is.
pub(super) const LARGE: u16 = 1 << 15;
/// Payload of a cell of a branch.
pub(super) const CHILD_BYTES: usize = 12;
/// Payload of a cell of a leaf whose value has pages of its own.
pub(super) const LARGE_BYTES: usize = 16;

/// A page, and the checksum that it must have: whoever points to a page vouches for its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Number of the page; it starts at that times the page size.
    pub page: u64,
    /// CRC-32C of the whole page.
    pub crc: u32,
}

/// A value in pages of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Large {
    /// First page; the others follow it.
    pub page: u64,
    /// Length of the value.
    pub bytes: u32,
    /// CRC-32C of the value.
    pub crc: u32,
}

impl Large {
    /// Pages that it takes.
    pub(crate) fn pages(self) -> u64 {
        u64::from(self.bytes).div_ceil(PAGE_BYTES as u64)
    }
}

/// What a leaf has for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row<'a> {
    /// The value itself.
    Inline(&'a [u8]),
    /// Where the value is.
    Large(Large),
}

/// Whether a row is kept in its leaf.
pub(crate) fn is_inline(key: &[u8], value: &[u8]) -> bool {
    CELL_HEAD_BYTES + key.len() + value.len() <= MAX_CELL_BYTES
}

/// The number in two bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The key of a whole cell.
pub(super) fn key_of(cell: &[u8]) -> &[u8] {
    &cell[CELL_HEAD_BYTES..CELL_HEAD_BYTES + usize::from(u16_at(cell, 0))]
}

/// The number in up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What a whole cell of a branch points to.
pub(super) fn child_of(cell: &[u8]) -> Pointer {
    let payload = &cell[cell.len() - CHILD_BYTES..];
    Pointer { page: number(&payload[..8]), crc: number(&payload[8..]) as u32 }
}

/// What a whole cell of a leaf holds.
pub(super) fn row_of(cell: &[u8]) -> Row<'_> {
    let payload = &cell[CELL_HEAD_BYTES + usize::from(u16_at(cell, 0))..];
    if u16_at(cell, 2) & LARGE == 0 {
        return Row::Inline(payload);
    }
    let (page, bytes) = (number(&payload[..8]), number(&payload[8..12]) as u32);
    Row::Large(Large { page, bytes, crc: number(&payload[12..]) as u32 })
}

/// Length of the cell at the start of `bytes`, if one may be there.
pub(super) fn cell_bytes(bytes: &[u8], level: u8) -> Option<usize> {
    let head = bytes.get(..CELL_HEAD_BYTES)?;
    let payload = u16_at(head, 2);
    let fits = match (level, payload & LARGE != 0) {
        (0, false) => true,
        (0, true) => usize::from(payload & !LARGE) == LARGE_BYTES,
        _ => usize::from(payload) == CHILD_BYTES,
    };
    let whole = CELL_HEAD_BYTES + usize::from(u16_at(head, 0)) + usize::from(payload & !LARGE);
    (fits && whole <= bytes.len()).then_some(whole)
}

/// A short key that is above `last` and not above `first`, which is above `last`.
pub(crate) fn separator<'a>(last: &[u8], first: &'a [u8]) -> &'a [u8] {
    let common = last.iter().zip(first).take_while(|(a, b)| a == b).count();
    &first[..(common + 1).min(first.len())]
}

#[cfg(test)]
mod tests {
    use super::separator;

    #[test]
    fn separators_are_short_and_between() {
        for (last, first, between) in
            [("abc", "abd", "abd"), ("abc", "b", "b"), ("ab", "abcd", "abc"), ("a1", "c9", "c")]
        {
            assert_eq!(separator(last.as_bytes(), first.as_bytes()), between.as_bytes());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Reads.

use super::heads::{ARRAY, BYTES, FALSE, MAP, NEGATIVE, NULL, TAG, TEXT, TRUE, UNSIGNED};
use crate::time::Time;

/// Reads what [`super::Plain`] writes, and what is equal to it. Of no use any more once it said `None`.
#[derive(Clone, Copy)]
pub struct Reader<'b> {
    /// What is left; a slice, and not a place in all of it, so that a look at the next byte is one comparison.
    rest: &'b [u8],
    /// Length of all of it.
    whole: usize,
}

impl<'b> Reader<'b> {
    /// Begins at a place of the input.
    pub fn new(bytes: &'b [u8], at: usize) -> Reader<'b> {
        Reader { rest: bytes.get(at..).unwrap_or_default(), whole: bytes.len().max(at) }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Where it is.
    pub fn position(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// The next `N` bytes.
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    /// The number that a head carries whose lower five bits are these.
    #[inline]
    fn value(&mut self, info: u8) -> Option<u64> {
        // why big-endian: CBOR's own order (RFC 8949, 3)
        match info {
            0..24 => Some(u64::from(info)),
            24 => self.take().map(|[byte]| u64::from(byte)),
            25 => self.take().map(|bytes| u64::from(u16::from_be_bytes(bytes))),
            26 => self.take().map(|bytes| u64::from(u32::from_be_bytes(bytes))),
            27 => self.take().map(u64::from_be_bytes),
            _ => None,
        }
    }

    #[inline]
    fn head(&mut self) -> Option<(u8, u64)> {
        let [first] = self.take()?;
        Some((first >> 5, self.value(first & 31)?))
    }

    #[inline]
    fn of(&mut self, wanted: u8) -> Option<u64> {
        let [first] = self.take()?;
        // Of another kind: what is left of it is 32 and more, and no number.
        self.value(first ^ wanted << 5)
    }

    /// The number of items of an array.
    #[inline]
    pub fn array(&mut self) -> Option<u64> {
        self.of(ARRAY)
    }

    #[inline]
    fn number_of<T: TryFrom<u64>>(&mut self, major: u8) -> Option<T> {
        self.of(major)?.try_into().ok()
    }

    /// A number.
    #[inline]
    pub fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        self.number_of(UNSIGNED)
    }

    /// Something, or null.
    #[inline]
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if let Some((&NULL, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Some(None);
        }
        read(self).map(Some)
    }

    /// True or false.
    #[inline]
    pub fn flag(&mut self) -> Option<bool> {
        match self.take()? {
            [FALSE] => Some(false),
            [TRUE] => Some(true),
            _ => None,
        }
    }

    /// A string of bytes.
    #[inline]
    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = self.number_of(BYTES)?;
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The items of an array behind the known ones: what later versions add.
    #[inline]
    pub fn skip_from(&mut self, known: u64, items: u64) -> Option<()> {
        if items <= known { Some(()) } else { self.skip(items - known) }
    }

    /// So many items with all that is in them. Each takes a byte at least, so a claimed number is not believed for long.
    pub(super) fn skip(&mut self, items: u64) -> Option<()> {
        let mut left = items;
        while left > 0 {
            left -= 1;
            match self.head()? {
                (BYTES | TEXT, len) => self.rest = self.rest.get(usize::try_from(len).ok()?..)?,
                (ARRAY, items) => left = left.checked_add(items)?,
                (MAP, pairs) => left = left.checked_add(pairs.checked_mul(2)?)?,
                (TAG, _) => left = left.checked_add(1)?,
                _ => {}
            }
        }
        Some(())
    }

    /// A point in time.
    #[inline]
    pub fn time(&mut self) -> Option<Time> {
        let items = self.array().filter(|items| *items >= 2)?;
        let seconds = match self.head()? {
            (UNSIGNED, value) => i64::try_from(value).ok()?,
            (NEGATIVE, value) => !i64::try_from(value).ok()?,
            _ => return None,
        };
        let time = Time { seconds, nanos: self.number()? };
        self.skip_from(2, items)?;
        Some(time)
    }
}

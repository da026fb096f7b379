// SPDX-License-Identifier: Apache-2.0

//! Reads.

use super::heads::{ARRAY, BYTES, FALSE, MAP, NEGATIVE, NULL, TAG, TEXT, UNSIGNED};
use crate::time::Time;

/// Reads what [`super::Plain`] writes, and what is equal to it. Of no use any more once it said `None`.
#[derive(Clone, Copy)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// Begins at a place of the input.
    pub fn new(bytes: &'b [u8], at: usize) -> Reader<'b> {
        Reader { bytes, at }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Where it is.
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline]
    fn head(&mut self) -> Option<(u8, u64)> {
        let rest = self.bytes.get(self.at..)?;
        let (first, rest) = rest.split_first()?;
        let (major, info) = (first >> 5, first & 31);
        if info < 24 {
            self.at += 1;
            return Some((major, u64::from(info)));
        }
        let more = 1_usize << info.checked_sub(24).filter(|size| *size < 4)?;
        let value = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_be_bytes(*eight) >> (64 - 8 * more), // why big-endian: CBOR's own order (RFC 8949, 3)
            None => rest.get(..more)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        };
        self.at += 1 + more;
        Some((major, value))
    }

    #[inline]
    fn of(&mut self, wanted: u8) -> Option<u64> {
        self.head().filter(|(major, _)| *major == wanted).map(|(_, value)| value)
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
        if self.bytes.get(self.at) == Some(&NULL) {
            self.at += 1;
            return Some(None);
        }
        read(self).map(Some)
    }

    /// True or false.
    #[inline]
    pub fn flag(&mut self) -> Option<bool> {
        let is = match self.bytes.get(self.at)?.wrapping_sub(FALSE) {
            0 => false,
            1 => true,
            _ => return None,
        };
        self.at += 1;
        Some(is)
    }

    /// A string of bytes.
    #[inline]
    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = self.number_of(BYTES)?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
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
                (BYTES | TEXT, len) => {
                    self.at = self.at.checked_add(usize::try_from(len).ok()?).filter(|at| *at <= self.bytes.len())?
                }
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

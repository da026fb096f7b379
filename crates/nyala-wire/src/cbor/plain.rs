// SPDX-License-Identifier: Apache-2.0

//! Writes.

use super::heads::{ARRAY, BYTES, FALSE, NEGATIVE, NULL, UNSIGNED};
use crate::time::Time;
use minicbor::encode::{Encoder, Error, Write};

/// Most bytes of a number with its head.
const NUMBER: usize = 9;

/// Numbers on the stack. `N` is [`Plain::max_bytes`] of all that is written, or more.
pub struct Plain<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Plain<N> {
    fn default() -> Self {
        Plain { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Plain<N> {
    /// What so many numbers, heads of arrays and other single items take at most. A time counts as three.
    pub const fn max_bytes(items: usize) -> usize {
        items * NUMBER + NUMBER
    }

    #[inline]
    fn head(&mut self, major: u8, value: u64) {
        let Some([first, rest @ ..]) = self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut::<NUMBER>)
        else {
            return;
        };
        if value < 24 {
            *first = major << 5 | value as u8;
            self.len += 1;
            return;
        }
        let (info, more) = match value {
            0..=0xff => (24, 1),
            0x100..=0xffff => (25, 2),
            0x1_0000..=0xffff_ffff => (26, 4),
            _ => (27, 8),
        };
        *first = major << 5 | info;
        // Always eight bytes: those that do not count are written over, or not taken.
        *rest = (value << (64 - 8 * more)).to_be_bytes(); // why big-endian: CBOR's own order (RFC 8949, 3)
        self.len += 1 + more;
    }

    /// The head of an array with so many items.
    #[inline]
    pub fn array(&mut self, items: u64) -> &mut Self {
        self.head(ARRAY, items);
        self
    }

    /// The head of a string of so many bytes; the caller writes them behind it, after [`Plain::flush`].
    #[inline]
    pub fn bytes(&mut self, len: usize) -> &mut Self {
        self.head(BYTES, len as u64);
        self
    }

    /// A number.
    #[inline]
    pub fn number(&mut self, value: impl Into<u64>) -> &mut Self {
        self.head(UNSIGNED, value.into());
        self
    }

    /// A number, or null.
    #[inline]
    pub fn optional(&mut self, value: Option<impl Into<u64>>) -> &mut Self {
        match value {
            Some(value) => self.number(value),
            None => self.null(),
        }
    }

    /// True or false.
    #[inline]
    pub fn flag(&mut self, is: bool) -> &mut Self {
        self.simple(FALSE + u8::from(is))
    }

    /// A point in time.
    #[inline]
    pub fn time(&mut self, time: Time) -> &mut Self {
        self.array(2);
        match u64::try_from(time.seconds) {
            Ok(seconds) => self.head(UNSIGNED, seconds),
            Err(_) => self.head(NEGATIVE, !time.seconds as u64),
        }
        self.number(time.nanos)
    }

    /// Nothing is there.
    #[inline]
    pub fn null(&mut self) -> &mut Self {
        self.simple(NULL)
    }

    #[inline]
    fn simple(&mut self, byte: u8) -> &mut Self {
        self.bytes[self.len] = byte;
        self.len += 1;
        self
    }

    /// Hands over what was written.
    #[inline]
    pub fn write<W: Write>(&self, encoder: &mut Encoder<W>) -> Result<(), Error<W::Error>> {
        encoder.writer_mut().write_all(&self.bytes[..self.len]).map_err(Error::write)
    }
    /// Hands over what was written and begins anew: behind it comes what has no place here.
    #[inline]
    pub fn flush<W: Write>(&mut self, encoder: &mut Encoder<W>) -> Result<(), Error<W::Error>> {
        self.write(encoder)?;
        self.len = 0;
        Ok(())
    }
}

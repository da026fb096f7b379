// SPDX-License-Identifier: Apache-2.0

//! CBOR (RFC 8949) of what every request carries, written and read in one piece: the same bytes as the general codec's, for a fraction of
//! its instructions, which go into calls and results that are passed on field by field.
//!
//! Numbers are written in their shortest form. What is read is checked as the general codec checks it; a shape that is not expected here
//! is `None`, and for the general codec to judge.

use crate::time::Time;
use minicbor::encode::{Encoder, Error, Write};
use minicbor::{Decoder, decode};

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const NULL: u8 = 0xf6;
const FALSE: u8 = 0xf4;

/// Most bytes of a number with its head.
const NUMBER: usize = 9;

/// Numbers on the stack. `N` is [`Plain::room`] of all that is written, or more.
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
    pub const fn room(items: usize) -> usize {
        items * NUMBER + NUMBER
    }

    #[inline]
    fn head(&mut self, major: u8, value: u64) {
        let (info, more) = match value {
            0..=23 => (value as u8, 0),
            24..=0xff => (24, 1),
            0x100..=0xffff => (25, 2),
            0x1_0000..=0xffff_ffff => (26, 4),
            _ => (27, 8),
        };
        // Always eight bytes: those that do not count are written over, or not taken.
        let shifted = value << (64 - 8 * more).min(63);
        let [first, rest @ ..] = &mut self.bytes[self.len..self.len + NUMBER] else { return };
        *first = major << 5 | info;
        rest.copy_from_slice(&shifted.to_be_bytes()); // why big-endian: CBOR's own order (RFC 8949, 3)
        self.len += 1 + more;
    }

    /// The head of an array with so many items.
    #[inline]
    pub fn array(&mut self, items: u64) -> &mut Self {
        self.head(ARRAY, items);
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
            None => self.simple(NULL),
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
}

/// Decodes with a reader; the error says what should have been there.
pub fn read<'b, T>(
    d: &mut Decoder<'b>,
    what: &'static str,
    read: impl FnOnce(&mut Reader<'b>) -> Option<T>,
) -> Result<T, decode::Error> {
    let mut reader = Reader::new(d.input(), d.position());
    let value = read(&mut reader).ok_or_else(|| decode::Error::message(what).at(d.position()))?;
    d.set_position(reader.position());
    Ok(value)
}

/// Reads what [`Plain`] writes, and what is equal to it. Of no use any more once it said `None`.
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
    fn skip(&mut self, items: u64) -> Option<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use proptest::prelude::*;

    fn written(write: impl Fn(&mut Plain<64>)) -> Vec<u8> {
        let (mut plain, mut encoder) = (Plain::default(), Encoder::new(Vec::new()));
        write(&mut plain);
        plain.write(&mut encoder).unwrap();
        encoder.into_writer()
    }

    fn any_number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
    }

    proptest! {
        #[test]
        fn the_same_bytes_as_the_general_codec(number in any_number(), seconds in any::<i64>(), shift in 0..64_u32, nanos in any::<u32>()) {
            let time = Time { seconds: seconds >> shift, nanos };
            let bytes = written(|plain| {
                plain.array(3).number(number).optional(Some(number)).time(time);
            });
            prop_assert_eq!(&bytes[1..], [codec::encode(&number), codec::encode(&number), codec::encode(&time)].concat());
            let mut reader = Reader::new(&bytes, 0);
            prop_assert_eq!((reader.array(), reader.number(), reader.optional(Reader::number), reader.time()), (Some(3), Some(number), Some(Some(number)), Some(time)));
            prop_assert_eq!(reader.position(), bytes.len());
            for cut in 1..bytes.len() {
                let mut reader = Reader::new(&bytes[..cut], 0);
                let all = (|| Some((reader.array()?, reader.number::<u64>()?, reader.optional(Reader::number::<u64>)?, reader.time()?)))();
                prop_assert_eq!(all, None::<(u64, u64, Option<u64>, Time)>);
            }
        }
    }

    #[test]
    fn what_is_not_known_is_skipped() {
        let later =
            (7_u8, "text", vec![Some(vec![1_u64 << 40]), None], minicbor::bytes::ByteVec::from(vec![1; 300]), -5, 1.5);
        let bytes = codec::encode(&later);
        let mut reader = Reader::new(&bytes, 0);
        assert_eq!((reader.array(), reader.number::<u8>()), (Some(6), Some(7)));
        assert_eq!(
            (reader.skip_from(1, 6), reader.position(), reader.skip_from(6, 6)),
            (Some(()), bytes.len(), Some(()))
        );
        let mut cut = Reader::new(&bytes[..bytes.len() - 1], 0);
        assert!(cut.skip(1).is_none());
        for claim in [0x9b, 0xbb, 0x5b] {
            assert!(Reader::new(&[claim, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2], 0).skip(2).is_none());
        }
        let mut reader = Reader::new(&[0x43, 1, 2, 3, 0x43, 1], 0);
        assert_eq!((reader.bytes(), reader.bytes()), (Some(&[1, 2, 3][..]), None));
    }

    #[test]
    fn what_is_not_a_number_is_none() {
        let bytes = written(|plain| {
            plain.flag(true).flag(false).optional(None::<u64>).number(300_u16);
        });
        assert_eq!(bytes, [0xf5, 0xf4, 0xf6, 0x19, 1, 44]);
        let mut reader = Reader::new(&bytes, 0);
        assert_eq!((reader.clone().number::<u8>(), reader.clone().array(), reader.clone().time()), (None, None, None));
        assert_eq!((reader.flag(), reader.optional(Reader::flag)), (Some(true), Some(Some(false))));
        assert_eq!((reader.optional(Reader::flag), reader.flag()), (Some(None), None));
        assert_eq!(reader.number::<u8>(), None, "too large");
        for head in [0x1c, 0x1f, 0x9f, 0xff] {
            assert_eq!(Reader::new(&[head; 20], 0).number::<u64>(), None);
        }
        assert_eq!(Reader::new(&[], 5).number::<u64>(), None);
    }
}

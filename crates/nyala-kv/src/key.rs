// SPDX-License-Identifier: Apache-2.0

//! Keys as the tables in memory hold them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Deref;

const INLINE_BYTES: usize = 38;

/// A key; short ones live inside the tree's nodes, where comparing them misses no cache line.
#[derive(Clone)]
pub enum Key {
    /// Length, and the bytes; those behind the key's end are zero.
    Inline(u8, [u8; INLINE_BYTES]),
    /// A key that is too long for that.
    Heap(Box<[u8]>),
}

impl Key {
    /// A key with these bytes.
    #[inline]
    pub fn new(bytes: &[u8]) -> Key {
        if bytes.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(bytes);
            Key::Inline(bytes.len() as u8, inline)
        } else {
            Key::Heap(bytes.into())
        }
    }

    /// A key that is a tag and then all these parts.
    #[inline]
    pub fn tagged(tag: u8, parts: &[&[u8]]) -> Key {
        let len = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
        if len > INLINE_BYTES {
            return Key::Heap([&[tag][..], &parts.concat()].concat().into());
        }
        let mut inline = [0; INLINE_BYTES];
        inline[0] = tag;
        let mut at = 1;
        for part in parts {
            inline[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Key::Inline(len as u8, inline)
    }
}

impl AsRef<[u8]> for Key {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

impl Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Key::Inline(len, bytes) => &bytes[..usize::from(*len)],
            Key::Heap(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Key {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        **self == **other
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    /// As bytes. Short keys, which nearly all are, are compared eight bytes at a time: what is behind their end is zero.
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        let (Key::Inline(len, bytes), Key::Inline(other_len, other_bytes)) = (self, other) else {
            return (**self).cmp(&**other);
        };
        let (words, last) = bytes.as_chunks::<8>();
        let (other_words, other_last) = other_bytes.as_chunks::<8>();
        for (word, other_word) in words.iter().zip(other_words) {
            if word != other_word {
                return u64::from_be_bytes(*word).cmp(&u64::from_be_bytes(*other_word)); // why big-endian: bytes' own order
            }
        }
        last.cmp(other_last).then(len.cmp(other_len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_tag_and_parts() {
        for len in [0, 1, 36, 37, 38, 100] {
            let part = vec![7; len];
            let whole = [&b"T"[..], &part, b"x"].concat();
            assert_eq!(*Key::tagged(b'T', &[&part, b"x"]), *whole);
            assert!(Key::tagged(b'T', &[&part, b"x"]) == Key::new(&whole));
        }
        assert_eq!(format!("{:?}", Key::tagged(b'T', &[&[0, b'a']])), r#""T\x00a""#);
    }

    #[test]
    fn keys_order_as_bytes_whatever_their_length() {
        let mut keys: Vec<Vec<u8>> =
            [0usize, 1, 37, 38, 39, 480].iter().flat_map(|n| [vec![0; *n], vec![7; *n], vec![255; *n]]).collect();
        for position in 0..40 {
            keys.extend([1, 8, 9, 38, 40].map(|n| (0..n.max(position)).map(|at| u8::from(at == position)).collect()));
        }
        let mut wrapped: Vec<Key> = keys.iter().map(|k| Key::new(k)).collect();
        keys.sort();
        wrapped.sort();
        assert!(keys.iter().zip(&wrapped).all(|(a, b)| **a == **b));
    }
}

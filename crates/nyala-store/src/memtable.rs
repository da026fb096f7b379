// SPDX-License-Identifier: Apache-2.0

//! What changed since the last checkpoint: ordered, in memory. Purely a data structure; the log makes it durable.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use crate::Value;

const INLINE_BYTES: usize = 38;
/// Estimated cost of an entry besides its key and value: tree node share, value header, allocator.
const ENTRY_BYTES: usize = 112;

/// A key; short ones live inside the tree's nodes, where comparing them misses no cache line.
#[derive(Clone)]
pub(crate) enum Key {
    Inline(u8, [u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl Key {
    pub(crate) fn new(bytes: &[u8]) -> Key {
        if bytes.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(bytes);
            Key::Inline(bytes.len() as u8, inline)
        } else {
            Key::Heap(bytes.into())
        }
    }
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Key::Inline(len, bytes) => &bytes[..usize::from(*len)],
            Key::Heap(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        **self == **other
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    /// As bytes. Short keys, which nearly all are, are compared eight bytes at a time: what is behind their end is zero.
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

/// An ordered table of the newest value, or deletion, of each changed key.
#[derive(Default)]
pub(crate) struct Memtable {
    entries: BTreeMap<Key, Option<Value>>,
    bytes: usize,
}

/// `None`: not in this table. `Some(None)`: deleted. `Some(Some(_))`: the value.
pub(crate) type Found<'a> = Option<Option<&'a Value>>;

impl Memtable {
    pub(crate) fn insert(&mut self, key: &[u8], value: Option<&[u8]>) {
        let value_len = value.map_or(0, <[u8]>::len);
        match self.entries.entry(Key::new(key)) {
            Entry::Occupied(mut there) => {
                self.bytes = self.bytes - there.get().as_ref().map_or(0, |v| v.len()) + value_len;
                // Counters and the like have one length for ever: written over where nobody else holds the old value.
                match (there.get_mut().as_mut().and_then(Arc::get_mut), value) {
                    (Some(old), Some(new)) if old.len() == new.len() => old.copy_from_slice(new),
                    _ => *there.get_mut() = value.map(Value::from),
                }
            }
            Entry::Vacant(free) => {
                free.insert(value.map(Value::from));
                self.bytes += key.len() + value_len + ENTRY_BYTES;
            }
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Found<'_> {
        self.entries.get(&Key::new(key)).map(Option::as_ref)
    }

    /// Estimated memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries with keys in a range that must not be inverted ([`crate::ordered::is_empty_range`]).
    pub(crate) fn range<'a>(
        &'a self,
        from: Bound<&'a [u8]>,
        to: Bound<&'a [u8]>,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a Value>)> + 'a {
        self.entries.range::<[u8], _>((from, to)).map(|(key, value)| (&**key, value.as_ref()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.entries.iter().map(|(key, value)| (&**key, value.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn memory_estimate_follows_replacement() {
        let mut table = Memtable::default();
        table.insert(b"key", Some(b"12345"));
        let one = table.bytes();
        table.insert(b"key", Some(b"1234567"));
        assert_eq!(table.bytes(), one + 2);
        table.insert(b"key", None);
        assert_eq!(table.bytes(), one - 5);
        assert_eq!(table.get(b"key"), Some(None));
        assert_eq!(table.get(b"other"), None);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What changed since the last checkpoint: ordered, in memory. Purely a data structure; the log makes it durable.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use crate::Value;
use nyala_kv::Key;

/// Estimated cost of an entry besides its key and value: tree node share, value header, allocator.
const ENTRY_BYTES: usize = 112;

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

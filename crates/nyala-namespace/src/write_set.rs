// SPDX-License-Identifier: Apache-2.0

//! The rows that a change writes: for each key the last value, or that it is removed, in the order of the keys' first writes.
//!
//! Keys carry their bytes and the encoded values share one piece of memory: an operation takes two pieces, not two for each row.

use minicbor::Encode;
use nyala_kv::{Batch, Key};
use nyala_wire::codec;
use std::ops::Range;

/// What a row takes in a batch besides a key and its value, bytes.
const ROW_HEAD_BYTES: usize = 7;
/// Most operations write at most so many rows.
const USUAL_ROWS: usize = 6;
/// And encoded values of at most so many bytes.
const USUAL_BYTES: usize = 256;

enum Value {
    Removed,
    /// Where in [`WriteSet::encoded`].
    Encoded(Range<usize>),
    /// Content may be large: it is taken as it comes, and not copied.
    Content(Vec<u8>),
}

/// Rows to be written.
#[derive(Default)]
pub struct WriteSet {
    rows: Vec<(Key, Value)>,
    encoded: Vec<u8>,
}

impl WriteSet {
    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// What is written under a key, if anything is: a value, or `None` for its removal.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.rows.iter().find(|(written, _)| **written == *key).map(|(_, value)| self.bytes(value))
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|(key, value)| (&**key, self.bytes(value)))
    }

    /// Those whose keys have a prefix.
    pub fn with_prefix(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let found = self.rows.iter().filter(move |(key, _)| key.starts_with(prefix));
        found.map(|(key, value)| (&**key, self.bytes(value)))
    }

    fn bytes<'a>(&'a self, value: &'a Value) -> Option<&'a [u8]> {
        match value {
            Value::Removed => None,
            Value::Encoded(at) => Some(&self.encoded[at.clone()]),
            Value::Content(content) => Some(content),
        }
    }

    /// Sets a key to what may be large.
    pub fn put(&mut self, key: Key, content: Vec<u8>) {
        self.write(key, Value::Content(content));
    }

    /// Sets a key to a number.
    pub fn put_number(&mut self, key: Key, number: u64) {
        self.put_encoded(key, |out| out.extend_from_slice(&number.to_le_bytes()));
    }

    /// Sets a key to an encoded record.
    pub fn put_record<T: Encode<()>>(&mut self, key: Key, record: &T) {
        self.put_encoded(key, |out| codec::encode_into(record, out));
    }

    fn put_encoded(&mut self, key: Key, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.encoded.capacity() == 0 {
            self.encoded.reserve(USUAL_BYTES);
        }
        let from = self.encoded.len();
        encode(&mut self.encoded);
        self.write(key, Value::Encoded(from..self.encoded.len()));
    }

    /// Removes a key.
    pub fn remove(&mut self, key: Key) {
        self.write(key, Value::Removed);
    }

    /// Removes a key that nothing is written under so far; however many there are, this looks at none of them.
    pub fn remove_another(&mut self, key: Key) {
        self.rows.push((key, Value::Removed));
    }

    /// Forgets what is written under keys with a prefix.
    pub fn forget(&mut self, prefix: &[u8]) {
        self.rows.retain(|(key, _)| !key.starts_with(prefix));
    }

    fn write(&mut self, key: Key, value: Value) {
        match self.rows.iter_mut().find(|(written, _)| *written == key) {
            Some(row) => row.1 = value,
            None => {
                if self.rows.capacity() == 0 {
                    self.rows.reserve(USUAL_ROWS);
                }
                self.rows.push((key, value));
            }
        }
    }

    /// Bytes that the rows take in a batch.
    pub fn batch_bytes(&self) -> usize {
        self.iter().map(|(key, value)| ROW_HEAD_BYTES + key.len() + value.map_or(0, <[u8]>::len)).sum()
    }

    /// Adds the rows to a batch.
    pub fn add_to(&self, batch: &mut Batch) {
        for (key, value) in self.iter() {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A batch's rows.
    fn rows(batch: &Batch) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        batch.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect()
    }

    #[test]
    fn the_batch_has_each_key_once_with_its_last_value() {
        let (mut writes, key) = (WriteSet::default(), |text: &str| Key::new(text.as_bytes()));
        writes.put(key("a"), vec![9; 5000]);
        writes.put_number(key("b"), 7);
        writes.remove(key("c"));
        writes.put_record(key("d"), &"text");
        writes.put_number(key("a"), 1);
        writes.put(key("c"), Vec::new());
        writes.remove(key("d"));
        writes.remove_another(key("e"));
        let mut batch = Batch::new();
        writes.add_to(&mut batch);
        let number = |n: u64| Some(n.to_le_bytes().to_vec());
        let expected = [("a", number(1)), ("b", number(7)), ("c", Some(Vec::new())), ("d", None), ("e", None)];
        assert_eq!(rows(&batch), expected.map(|(key, value)| (key.as_bytes().to_vec(), value)));
        assert_eq!(batch.as_bytes().len(), writes.batch_bytes());
    }

    proptest! {
        #[test]
        fn as_a_map(steps in proptest::collection::vec((0..5_u8, 0..12_u8, 0..100_u64), 0..60)) {
            let (mut writes, mut model) = (WriteSet::default(), BTreeMap::new());
            for (what, at, number) in steps {
                // Of two tables, so that some share a prefix.
                let bytes = vec![at % 2, at];
                let key = Key::new(&bytes);
                match what {
                    0 => {
                        writes.put(key, vec![at; number as usize]);
                        model.insert(bytes, Some(vec![at; number as usize]));
                    }
                    1 => {
                        writes.put_number(key, number);
                        model.insert(bytes, Some(number.to_le_bytes().to_vec()));
                    }
                    2 => {
                        writes.put_record(key, &number);
                        model.insert(bytes, Some(codec::encode(&number)));
                    }
                    3 => {
                        writes.remove(key);
                        model.insert(bytes, None);
                    }
                    _ => {
                        writes.forget(&bytes[..1]);
                        model.retain(|key, _| key[0] != bytes[0]);
                    }
                }
                prop_assert_eq!((writes.len(), writes.is_empty()), (model.len(), model.is_empty()));
                for at in 0..12 {
                    let key = [at % 2, at];
                    prop_assert_eq!(writes.get(&key), model.get(&key[..]).map(Option::as_deref));
                }
                let even: BTreeMap<_, _> = writes.with_prefix(&[0]).collect();
                let expected = model.range(vec![0]..vec![1]).map(|(key, value)| (&**key, value.as_deref()));
                prop_assert_eq!(even, expected.collect::<BTreeMap<_, _>>());
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A batch of changes, kept in the very bytes that go into its log record, so that applying copies once.

use std::cell::Cell;

/// Longest key, bytes; the shortest has one.
pub const MAX_KEY_BYTES: usize = 480;
/// Longest value, bytes.
pub const MAX_VALUE_BYTES: usize = 16 << 20;
/// Largest encoded batch, bytes.
pub const MAX_BATCH_BYTES: usize = 64 << 20;

/// A dropped batch's memory of at least and at most so many bytes is kept for the thread's next large one: allocators give
/// pieces of this size back to the kernel, which has to zero what it gives anew (docs/history/performance.md).
const SPARE_BYTES: std::ops::RangeInclusive<usize> = 8 << 10..=512 << 10;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

const OP_DELETE: u8 = 0;
const OP_PUT: u8 = 1;
const OP_HEAD_BYTES: usize = 7;

/// An ordered list of changes that takes effect as a whole or not at all. The last change of a key wins.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    ops: usize,
    refused: Option<&'static str>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// An empty batch with room for `bytes` of encoded changes.
    pub fn with_capacity(bytes: usize) -> Batch {
        let mut memory = if bytes < *SPARE_BYTES.start() { Vec::new() } else { SPARE.take() };
        memory.reserve_exact(bytes);
        Batch { bytes: memory, ops: 0, refused: None }
    }

    /// Sets `key` to `value`. A key or value outside the limits spoils the batch: `apply` refuses all of it.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut Batch {
        self.push(OP_PUT, key.as_ref(), value.as_ref())
    }

    /// Removes `key`, whether or not it exists.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> &mut Batch {
        self.push(OP_DELETE, key.as_ref(), &[])
    }

    /// As [`Batch::put`] with the value that `encode` appends to what it is given; nothing else may it change. So a value that is
    /// made for the batch is made in its place.
    pub fn put_with(&mut self, key: impl AsRef<[u8]>, encode: impl FnOnce(&mut Vec<u8>)) -> &mut Batch {
        let (key, before) = (key.as_ref(), self.bytes.len());
        self.push(OP_PUT, key, &[]);
        let from = self.bytes.len();
        if from == before {
            return self;
        }
        encode(&mut self.bytes);
        let len = self.bytes.len().saturating_sub(from);
        if let Some(reason) = refusal(key.len(), len, before) {
            self.bytes.truncate(before);
            self.ops -= 1;
            self.refused = Some(reason);
        } else if let Some(place) = self.bytes[before..].first_chunk_mut::<OP_HEAD_BYTES>() {
            place[3..].copy_from_slice(&(len as u32).to_le_bytes());
        }
        self
    }

    fn push(&mut self, op: u8, key: &[u8], value: &[u8]) -> &mut Batch {
        match refusal(key.len(), value.len(), self.bytes.len()) {
            Some(reason) => self.refused = Some(reason),
            None => {
                let [key_0, key_1] = (key.len() as u16).to_le_bytes();
                let [value_0, value_1, value_2, value_3] = (value.len() as u32).to_le_bytes();
                let head: [u8; OP_HEAD_BYTES] = [op, key_0, key_1, value_0, value_1, value_2, value_3];
                self.bytes.extend_from_slice(&head);
                self.bytes.extend_from_slice(key);
                self.bytes.extend_from_slice(value);
                self.ops += 1;
            }
        }
        self
    }

    /// Adds all changes of `other` after those of this batch.
    pub fn append(&mut self, other: &Batch) -> &mut Batch {
        if other.refused.is_some() {
            self.refused = other.refused;
        } else if self.bytes.len() + other.bytes.len() > MAX_BATCH_BYTES {
            self.refused = Some("a batch has at most 64 MiB");
        } else {
            self.bytes.extend_from_slice(&other.bytes);
            self.ops += other.ops;
        }
        self
    }

    /// Forgets all changes and keeps the memory for the next use.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ops = 0;
        self.refused = None;
    }

    /// No change in it.
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.ops
    }

    /// The changes in order: key, and value or `None` for a deletion.
    pub fn iter(&self) -> BatchIter<'_> {
        BatchIter { rest: &self.bytes }
    }

    /// The encoded form, as it is in the log, to send to a mirror.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A batch from its encoded form; `None` if the bytes are not one (they may come from a stranger).
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Batch> {
        let ops = validate(&bytes)?;
        Some(Batch { bytes, ops, refused: None })
    }

    /// Becomes the batch that these bytes are, in the memory that it has; false, and empty, if they are none (they may come from a
    /// stranger).
    pub fn load(&mut self, bytes: &[u8]) -> bool {
        self.clear();
        let Some(ops) = validate(bytes) else { return false };
        self.bytes.extend_from_slice(bytes);
        self.ops = ops;
        true
    }

    /// The encoded form, without a copy.
    pub fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Why `apply` must refuse the batch.
    pub fn refused(&self) -> Option<&'static str> {
        self.refused
    }
}

/// Why a change must not be added to a batch that has so many bytes.
fn refusal(key_bytes: usize, value_bytes: usize, batch_bytes: usize) -> Option<&'static str> {
    if key_bytes == 0 || key_bytes > MAX_KEY_BYTES {
        Some("keys have 1 to 480 bytes")
    } else if value_bytes > MAX_VALUE_BYTES {
        Some("values have at most 16 MiB")
    } else if batch_bytes + OP_HEAD_BYTES + key_bytes + value_bytes > MAX_BATCH_BYTES {
        Some("a batch has at most 64 MiB")
    } else {
        None
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if SPARE_BYTES.contains(&self.bytes.capacity()) {
            let mut memory = std::mem::take(&mut self.bytes);
            memory.clear();
            // why ignored: a thread that ends has no next batch.
            let _ = SPARE.try_with(|spare| spare.set(memory));
        }
    }
}

/// Number of changes in an encoded batch, or `None` if it is not one.
pub fn validate(bytes: &[u8]) -> Option<usize> {
    if bytes.len() > MAX_BATCH_BYTES {
        return None;
    }
    let (mut rest, mut ops) = (bytes, 0);
    while !rest.is_empty() {
        let (key, value, after) = split_op(rest)?;
        if key.is_empty() || key.len() > MAX_KEY_BYTES || value.is_some_and(|v| v.len() > MAX_VALUE_BYTES) {
            return None;
        }
        rest = after;
        ops += 1;
    }
    Some(ops)
}

/// The changes of an encoded batch that was validated before.
pub fn iter_encoded(bytes: &[u8]) -> BatchIter<'_> {
    BatchIter { rest: bytes }
}

type SplitOp<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn split_op(rest: &[u8]) -> Option<SplitOp<'_>> {
    let (head, rest) = rest.split_first_chunk::<OP_HEAD_BYTES>()?;
    let key_len = usize::from(u16::from_le_bytes([head[1], head[2]]));
    let value_len = u32::from_le_bytes([head[3], head[4], head[5], head[6]]) as usize;
    let (key, rest) = rest.split_at_checked(key_len)?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    match head[0] {
        OP_PUT => Some((key, Some(value), rest)),
        OP_DELETE if value.is_empty() => Some((key, None, rest)),
        _ => None,
    }
}

/// Iterator over the changes of a [`Batch`].
#[derive(Debug, Clone)]
pub struct BatchIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for BatchIter<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value, rest) = split_op(self.rest)?;
        self.rest = rest;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes() {
        let mut batch = Batch::new();
        batch.put(b"a", b"1").delete(b"b").put(b"c", b"");
        let mut more = Batch::new();
        more.put(b"a", b"2");
        batch.append(&more);
        assert_eq!(batch.len(), 4);
        let again = Batch::from_bytes(batch.as_bytes().to_vec()).unwrap();
        assert_eq!(again, batch);
        let ops: Vec<_> = again.iter().collect();
        assert_eq!(
            ops,
            [
                (&b"a"[..], Some(&b"1"[..])),
                (&b"b"[..], None),
                (&b"c"[..], Some(&b""[..])),
                (&b"a"[..], Some(&b"2"[..]))
            ]
        );
    }

    #[test]
    fn the_memory_of_a_large_one_is_used_again_and_nothing_of_what_was_in_it() {
        let large = || Batch::with_capacity(100_000);
        let mut first = large();
        first.put(b"key", vec![7; 50_000]);
        let place = first.as_bytes().as_ptr();
        drop(first);
        assert!(Batch::with_capacity(100).bytes.capacity() < 8192, "small ones leave it alone");
        let mut second = large();
        assert!(second.is_empty() && second.as_bytes().is_empty());
        second.put(b"a", b"b");
        assert_eq!((second.as_bytes().as_ptr(), second.iter().count()), (place, 1));
        assert_ne!(large().as_bytes().as_ptr(), place, "it is in use");
    }

    #[test]
    fn refuses_what_is_too_long() {
        for spoil in [&mut Batch::new().put(b"", b""), &mut Batch::new().delete([0; MAX_KEY_BYTES + 1])] {
            assert!(spoil.refused().is_some() && spoil.is_empty());
        }
        assert!(Batch::new().put([0; MAX_KEY_BYTES], b"").refused().is_none());
        assert!(Batch::new().put(b"k", vec![0; MAX_VALUE_BYTES + 1]).refused().is_some());
        let mut batch = Batch::new();
        batch.put_with(b"a", |value| value.extend([1, 2])).put_with(b"k", |value| value.resize(MAX_VALUE_BYTES * 2, 0));
        batch.put_with(b"", |_| panic!("there is no such key"));
        assert!(batch.refused().is_some() && batch.len() == 1);
        assert_eq!(batch.as_bytes(), Batch::new().put(b"a", [1, 2]).as_bytes(), "and nothing is left of it");
    }

    #[test]
    fn decoding_any_bytes_is_safe() {
        let mut batch = Batch::new();
        batch.put(b"key", b"value").delete(b"gone");
        let good = batch.as_bytes();
        for cut in 0..good.len() {
            let whole = Batch::from_bytes(good[..cut].to_vec());
            assert!(whole.is_none() || cut == 0 || cut == OP_HEAD_BYTES + 8, "cut at {cut}");
        }
        for position in 0..good.len() {
            let mut bad = good.to_vec();
            bad[position] ^= 0x80;
            if let Some(batch) = Batch::from_bytes(bad) {
                assert_eq!(batch.iter().count(), batch.len());
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Parts of buffers that nothing was written to yet, by their place in the file. Parts of one buffer that lie side by side
//! can be joined again without a copy ([`BytesMut::unsplit`]).

use bytes::BytesMut;
use std::collections::BTreeMap;
use std::ops::Range;

/// The free parts of one file's buffers.
#[derive(Debug, Default)]
pub(super) struct SpareCapacity {
    parts: BTreeMap<u64, BytesMut>,
}

impl SpareCapacity {
    /// Takes the room for `len` bytes at `offset` out, if there is one.
    pub(super) fn take(&mut self, offset: u64, len: usize) -> Option<BytesMut> {
        let (&start, part) = self.parts.range(..=offset).next_back()?;
        let skip = usize::try_from(offset - start).ok()?;
        if part.len() < skip.checked_add(len)? {
            return None;
        }
        let mut before = self.parts.remove(&start)?;
        let mut room = before.split_off(skip);
        let behind = room.split_off(len);
        self.give(start, before);
        self.give(offset + len as u64, behind);
        Some(room)
    }

    /// Room that is free.
    pub(super) fn give(&mut self, offset: u64, part: BytesMut) {
        if !part.is_empty() {
            self.parts.insert(offset, part);
        }
    }

    /// Is any part in that range?
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        self.parts.range(range.clone()).next().is_some()
    }

    /// Forgets the parts in that range.
    pub(super) fn clear(&mut self, range: &Range<u64>) {
        while let Some((&start, _)) = self.parts.range(range.clone()).next() {
            self.parts.remove(&start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_cut_out_and_joined_again() {
        let mut spare = SpareCapacity::default();
        spare.give(100, BytesMut::zeroed(50));
        assert!(spare.take(90, 20).is_none() && spare.take(140, 20).is_none() && spare.take(200, 1).is_none());
        let mut middle = spare.take(110, 10).unwrap();
        assert!(spare.take(105, 10).is_none(), "is taken");
        let before = spare.take(100, 10).unwrap();
        let behind = spare.take(120, 30).unwrap();
        assert!(!spare.has(&(0..1000)));
        let at = before.as_ptr();
        middle.unsplit(behind);
        let mut whole = before;
        whole.unsplit(middle);
        assert_eq!((whole.len(), whole.as_ptr()), (50, at), "nothing was copied");
        spare.give(7, whole);
        spare.clear(&(0..7));
        assert!(spare.has(&(0..8)));
        spare.clear(&(0..8));
        assert!(!spare.has(&(0..1000)));
    }
}

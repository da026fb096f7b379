// SPDX-License-Identifier: Apache-2.0

//! The numbers that each operation reads and changes that makes or removes something, as they are in the tables: how many inodes there are, and the
//! next sequence number of each slot. Reading them here takes no search. Pure.
//!
//! Failure model: a row that is no number is not known here, so whoever asks reads it, and is told what is wrong with it.

use nyala_namespace::keys;
use nyala_namespace::view::{View, number_of};
use nyala_wire::{Slot, WireError};
use std::collections::HashMap;
use std::ops::ControlFlow;

#[derive(Debug, Default)]
pub struct Numbers {
    inodes: Option<u64>,
    next: HashMap<Slot, u64>,
}

impl Numbers {
    /// All that the tables have.
    pub fn read(tables: &dyn View) -> Result<Numbers, WireError> {
        let (mut numbers, count) = (Numbers::default(), keys::inode_count());
        for (from, to) in [(&[keys::NEXT][..], vec![keys::NEXT + 1]), (&count, keys::prefix_end(&count))] {
            tables.scan(from, &to, &mut |key, value| {
                numbers.note(key, Some(value));
                ControlFlow::Continue(())
            })?;
        }
        Ok(numbers)
    }

    /// A row became this value, or is gone. Rows of other keys are nothing to it.
    pub fn note(&mut self, key: &[u8], value: Option<&[u8]>) {
        let number = value.and_then(|value| number_of(value).ok());
        match (slot(key), number) {
            (Some(slot), Some(number)) => drop(self.next.insert(slot, number)),
            (Some(slot), None) => drop(self.next.remove(&slot)),
            (None, _) if *key == *keys::inode_count() => self.inodes = number,
            (None, _) => {}
        }
    }

    /// The number under a key, if it is known. `None` does not say that there is none.
    pub fn get(&self, key: &[u8]) -> Option<u64> {
        match slot(key) {
            Some(slot) => self.next.get(&slot).copied(),
            None => self.inodes.filter(|_| *key == *keys::inode_count()),
        }
    }
}

/// The slot of a [`keys::next_sequence`] key.
fn slot(key: &[u8]) -> Option<Slot> {
    let slot = key.strip_prefix(&[keys::NEXT])?.try_into().ok()?;
    Some(Slot(u16::from_be_bytes(slot)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_rows_are() {
        let (mut numbers, row) = (Numbers::default(), |number: u64| number.to_le_bytes());
        let (count, next, other) =
            (keys::inode_count(), keys::next_sequence(Slot(300)), keys::next_sequence(Slot(301)));
        assert_eq!((numbers.get(&count), numbers.get(&next)), (None, None));
        numbers.note(&count, Some(&row(7)));
        numbers.note(&next, Some(&row(9)));
        numbers.note(&keys::sequence_range(), Some(&row(5)));
        numbers.note(&keys::inode(nyala_wire::InodeId::ROOT), Some(&row(6)));
        assert_eq!((numbers.get(&count), numbers.get(&next), numbers.get(&other)), (Some(7), Some(9), None));
        assert_eq!(numbers.get(&keys::sequence_range()), None, "not one of these");
        numbers.note(&next, None);
        numbers.note(&count, Some(b"no number"));
        assert_eq!((numbers.get(&count), numbers.get(&next)), (None, None), "whoever asks reads them");
    }
}

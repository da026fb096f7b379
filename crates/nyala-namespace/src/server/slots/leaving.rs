// SPDX-License-Identifier: Apache-2.0

//! What a server remembers of the slot that it is giving away.

use super::rows;
use crate::keys;
use crate::view::View;
use nyala_kv::Batch;
use nyala_wire::meta_tx::MovedRow;
use nyala_wire::{Slot, WireError};
use std::collections::BTreeSet;

/// A slot that is being given away, one at a time.
#[derive(Debug)]
pub struct Leaving {
    /// The slot.
    pub slot: Slot,
    /// Rows with keys below this one were read, so that later changes of them are to be sent again.
    pub reached: Vec<u8>,
    /// Keys of rows that have changed since they were read.
    pub changed: BTreeSet<Vec<u8>>,
    /// Nothing new begins in it, and clients let go of what they keep of it.
    pub closed: bool,
    /// Nobody uses it.
    pub sealed: bool,
}

impl Leaving {
    /// Of which nothing was read yet.
    pub fn new(slot: Slot) -> Leaving {
        Leaving { slot, reached: Vec::new(), changed: BTreeSet::new(), closed: false, sealed: false }
    }

    /// Takes note of what is applied.
    ///
    /// # Panics
    ///
    /// If it is in the slot, which is sealed: the other server would not have it.
    pub fn note(&mut self, batch: &Batch) {
        for (key, _) in batch.iter().filter(|(key, _)| keys::parse_slot(key) == Some(self.slot)) {
            assert!(!self.sealed, "a change in slot {}, which is about to be another server's: {key:?}", self.slot);
            if key < &self.reached[..] {
                self.changed.insert(key.to_vec());
            }
        }
    }

    /// The next rows, in order; the second value says whether they are the last ones.
    pub fn next_rows(&mut self, view: &dyn View) -> Result<(Vec<MovedRow>, bool), WireError> {
        let (rows, next) = rows::from(view, self.slot, &self.reached)?;
        let last = next.is_none();
        // Behind the last one everything counts as read.
        self.reached = next.unwrap_or_else(|| vec![u8::MAX]);
        Ok((rows, last))
    }

    /// Some of the rows that have changed, if there are more than `few`.
    pub fn changed_rows(&mut self, view: &dyn View, few: usize) -> Result<Option<Vec<MovedRow>>, WireError> {
        let enough = self.changed.len() > few;
        enough.then(|| rows::take(view, &mut self.changed)).transpose()
    }
}

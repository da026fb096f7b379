// SPDX-License-Identifier: Apache-2.0

//! What a server remembers of the slot that it is giving away.

use crate::keys;
use nyala_kv::Batch;
use nyala_wire::Slot;
use std::collections::BTreeSet;

/// A slot that is being given away, one at a time.
#[derive(Debug)]
pub struct Outgoing {
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

impl Outgoing {
    /// Of which nothing was read yet.
    pub fn new(slot: Slot) -> Outgoing {
        Outgoing { slot, reached: Vec::new(), changed: BTreeSet::new(), closed: false, sealed: false }
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
}

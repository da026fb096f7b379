// SPDX-License-Identifier: Apache-2.0

//! Slots of one sender at storage targets: which changes are under way, and their numbers ([`crate::storage::Stamp`]).

use crate::storage::MAX_STAMP_SLOTS;

/// The slots; the lowest that are free are used first, so that a target has to remember few.
#[derive(Debug, Default)]
pub struct Slots {
    /// The last number of each slot.
    last: Vec<u64>,
    busy: Vec<bool>,
}

impl Slots {
    /// A free slot and the next number in it; `None` if too many are in use.
    pub fn take(&mut self) -> Option<(u32, u64)> {
        let slot = match self.busy.iter().position(|busy| !busy) {
            Some(slot) => slot,
            None if self.busy.len() as u32 >= MAX_STAMP_SLOTS => return None,
            None => {
                self.busy.push(false);
                self.last.push(0);
                self.busy.len() - 1
            }
        };
        self.busy[slot] = true;
        self.last[slot] += 1;
        Some((slot as u32, self.last[slot]))
    }

    /// Nobody waits for the change in that slot any more.
    pub fn free(&mut self, slot: u32) {
        if let Some(busy) = self.busy.get_mut(slot as usize) {
            *busy = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_slot_grow_and_no_two_changes_share_one() {
        let mut slots = Slots::default();
        assert_eq!((slots.take(), slots.take()), (Some((0, 1)), Some((1, 1))));
        slots.free(0);
        assert_eq!((slots.take(), slots.take()), (Some((0, 2)), Some((2, 1))));
        slots.free(9);
        (3..MAX_STAMP_SLOTS).for_each(|slot| assert_eq!(slots.take(), Some((slot, 1))));
        assert_eq!(slots.take(), None);
        slots.free(7);
        assert_eq!(slots.take(), Some((7, 2)));
    }
}

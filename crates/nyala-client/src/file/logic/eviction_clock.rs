// SPDX-License-Identifier: Apache-2.0

//! Did something that was known leave while an answer was on its way?
//!
//! What is not known is believed at once; but it may have been known, changed here, and forgotten since the question. Things
//! share places by hash: at worst an answer is not believed that could have been.

use nyala_wire::InodeId;

const SLOTS: usize = 4096;

/// When things left, counted in leavings.
#[derive(Debug, Default)]
pub struct EvictionClock {
    /// Empty until something leaves.
    last: Vec<u64>,
    now: u64,
}

fn slot(inode: InodeId) -> usize {
    (inode.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % SLOTS
}

impl EvictionClock {
    /// Before asking.
    pub fn note(&self) -> u64 {
        self.now
    }

    /// It is no longer known.
    pub fn evicted(&mut self, inode: InodeId) {
        if self.last.is_empty() {
            self.last = vec![0; SLOTS];
        }
        self.now += 1;
        self.last[slot(inode)] = self.now;
    }

    /// Whether it was known and left after that note.
    pub fn evicted_since(&self, inode: InodeId, note: u64) -> bool {
        self.last.get(slot(inode)).is_some_and(|last| *last > note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_left_after_the_note() {
        let (mut evictions, a, b) = (EvictionClock::default(), InodeId(1), InodeId(2));
        assert_ne!(slot(a), slot(b));
        assert!(!evictions.evicted_since(a, evictions.note()));
        evictions.evicted(a);
        let note = evictions.note();
        assert!(!evictions.evicted_since(a, note) && evictions.evicted_since(a, 0));
        evictions.evicted(b);
        assert!(!evictions.evicted_since(a, note) && evictions.evicted_since(b, note));
        evictions.evicted(a);
        assert!(evictions.evicted_since(a, note));
    }
}

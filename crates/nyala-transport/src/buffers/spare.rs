// SPDX-License-Identifier: Apache-2.0

//! Memory that waits for its next use, by powers of two.

use crate::aligned::{ALIGNMENT, Aligned};
use parking_lot::Mutex;
use std::sync::Weak;

/// Buffers from this length on are aligned and spare, bytes. Those beyond the largest payload are not.
pub const LARGE: usize = 64 << 10;
pub(super) const CLASSES: usize = 8;

pub(super) struct SpareMemory {
    pub(super) classes: [Vec<Vec<u8>>; CLASSES],
    pub(super) bytes: usize,
    pub(super) limit: usize,
}

/// Where memory comes back to.
pub(super) struct PoolSlot {
    pub(super) spare: Weak<Mutex<SpareMemory>>,
    pub(super) class: usize,
}

impl PoolSlot {
    /// Keeps the memory for the next, if the pool is still there and has room.
    pub(super) fn give(self, memory: Aligned) {
        let Some(spare) = self.spare.upgrade() else { return };
        let memory = memory.into_vec();
        let mut spare = spare.lock();
        // What was made longer than its class is not kept: it would count for more than it is used for.
        if memory.len() == (LARGE << self.class) + ALIGNMENT && spare.bytes + memory.len() <= spare.limit {
            spare.bytes += memory.len();
            spare.classes[self.class].push(memory);
        }
    }
}

/// The class of buffers of this length; small ones and those beyond the largest payload have none.
pub(super) fn class_of(len: usize) -> Option<usize> {
    let class = len.next_power_of_two().trailing_zeros().checked_sub(LARGE.trailing_zeros())? as usize;
    (class < CLASSES).then_some(class)
}

/// What a payload of this length occupies in memory, bytes.
pub(crate) fn occupied(len: usize) -> usize {
    class_of(len).map_or(len, |class| LARGE << class)
}

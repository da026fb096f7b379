// SPDX-License-Identifier: Apache-2.0

//! May a store grow now? Pure: what is free comes as an argument, the answer follows from it and from the answer before.
//!
//! What makes the store larger is refused while there still is room for the rest: removals, truncations, records of sessions,
//! delegations and transactions, and the checkpoints that turn them into free space. So a full disk can always be emptied from
//! within. Two limits with a gap keep the answer from changing with every request.
//!
//! What counts as room is what the file system has left and what is free inside the table's file, since a table does not get
//! shorter when rows go. Of that, changes that wait for a checkpoint may take twice what they take in memory: a page of the
//! table may be half empty.

use std::fmt;

use crate::FreeSpace;
use nyala_kv::ChangeKind;

/// What there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What the file system has left.
    pub disk: FreeSpace,
    /// Free inside the table's file, bytes.
    pub table_bytes: u64,
    /// Memory of the changes that wait for a checkpoint, bytes.
    pub pending_bytes: u64,
}

/// What there is too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Room in bytes.
    Bytes {
        /// What there is.
        free: u64,
        /// What there has to be.
        needed: u64,
    },
    /// Files that can still be made.
    Inodes {
        /// What there is.
        free: u64,
        /// What there has to be.
        needed: u64,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortage::Bytes { free, needed } => write!(f, "{free} bytes are free, growing needs {needed}"),
            Shortage::Inodes { free, needed } => write!(f, "{free} inodes are free, growing needs {needed}"),
        }
    }
}

/// Of a small disk at most this part is kept for what does not grow.
const PART_OF_DISK: u64 = 8;
/// Fewer inodes than this, and the store does not grow.
const LEAST_INODES: u64 = 8;
/// It does again from here on.
const ENOUGH_INODES: u64 = 16;

/// The answer, and what it follows from.
#[derive(Debug, Clone)]
pub struct SpaceRule {
    reserve_bytes: u64,
    /// Why nothing may be added, and why not even what completes something.
    shortages: [Option<Shortage>; 2],
}

impl SpaceRule {
    /// A rule that keeps `reserve_bytes`, or an eighth of a small disk, for what does not grow.
    pub fn new(reserve_bytes: u64) -> SpaceRule {
        SpaceRule { reserve_bytes, shortages: [None; 2] }
    }

    /// Takes note of what there is. Returns whether the answer is another one now.
    pub fn look(&mut self, space: &Space) -> bool {
        let before = self.shortages;
        let reserve = self.reserve_bytes.min(space.disk.total_bytes / PART_OF_DISK);
        let bytes = |kept, before: Option<Shortage>| short_of_bytes(space, kept, before.is_some());
        // The store makes no files but segments of its log, for which there is a reserve; others may need what is left.
        let grow = bytes(reserve, before[0]).or_else(|| short_of_inodes(space, before[0].is_some()));
        self.shortages = [grow, bytes(reserve / 2, before[1])];
        self.shortages[0].is_some() != before[0].is_some()
    }

    /// What may be added, bytes.
    pub fn available(&self, space: &Space) -> u64 {
        let reserve = self.reserve_bytes.min(space.disk.total_bytes / PART_OF_DISK);
        match self.shortages[0] {
            Some(_) => 0,
            None => free_bytes(space).saturating_sub(reserve).saturating_sub(space.pending_bytes.saturating_mul(2)),
        }
    }

    /// Whether such a change may be made.
    pub fn admits(&self, kind: ChangeKind) -> bool {
        self.shortage(kind).is_none()
    }

    /// Why such a change may not be made.
    pub fn shortage(&self, kind: ChangeKind) -> Option<Shortage> {
        match kind {
            ChangeKind::Grows => self.shortages[0],
            ChangeKind::Completes => self.shortages[1],
            ChangeKind::Maintains => None,
        }
    }
}

fn free_bytes(space: &Space) -> u64 {
    space.disk.bytes.saturating_add(space.table_bytes)
}

/// Whether there are too few bytes if `kept` of them have to stay; `before`: whether there were.
fn short_of_bytes(space: &Space, kept: u64, before: bool) -> Option<Shortage> {
    let gap = if before { kept / 2 } else { 0 };
    let needed = kept.saturating_add(gap).saturating_add(space.pending_bytes.saturating_mul(2));
    let free = free_bytes(space);
    (free < needed).then_some(Shortage::Bytes { free, needed })
}

fn short_of_inodes(space: &Space, before: bool) -> Option<Shortage> {
    let needed = if before { ENOUGH_INODES } else { LEAST_INODES };
    let free = space.disk.inodes.filter(|free| *free < needed)?;
    Some(Shortage::Inodes { free, needed })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn space(bytes: u64, table_bytes: u64, pending_bytes: u64) -> Space {
        Space { disk: FreeSpace { bytes, total_bytes: 1 << 40, inodes: None }, table_bytes, pending_bytes }
    }

    #[test]
    fn growth_ends_before_the_reserve_is_touched_and_begins_again_with_a_gap() {
        let mut rule = SpaceRule::new(16 * MIB);
        assert!(!rule.look(&space(16 * MIB, 0, 0)) && rule.admits(ChangeKind::Grows));
        assert!(rule.look(&space(16 * MIB - 1, 0, 0)) && !rule.admits(ChangeKind::Grows));
        assert_eq!(rule.shortage(ChangeKind::Grows), Some(Shortage::Bytes { free: 16 * MIB - 1, needed: 16 * MIB }));
        assert!(rule.admits(ChangeKind::Maintains), "what does not grow always may");
        assert!(!rule.look(&space(24 * MIB - 1, 0, 0)) && !rule.admits(ChangeKind::Grows), "within the gap");
        assert!(rule.look(&space(24 * MIB, 0, 0)) && rule.admits(ChangeKind::Grows));
        assert!(!rule.look(&space(16 * MIB, 0, 0)) && rule.admits(ChangeKind::Grows), "within the gap");
    }

    #[test]
    fn what_waits_for_a_checkpoint_counts_twice_and_free_pages_of_the_table_once() {
        let mut rule = SpaceRule::new(16 * MIB);
        assert!(!rule.look(&space(0, 16 * MIB, 0)), "a full disk with room in the table");
        assert!(rule.look(&space(10 * MIB, 16 * MIB, 6 * MIB)));
        assert!(rule.look(&space(10 * MIB, 16 * MIB, 0)), "a checkpoint made room");
        assert!(!rule.look(&space(u64::MAX, u64::MAX, u64::MAX)) && rule.admits(ChangeKind::Grows), "no overflow");
    }

    #[test]
    fn what_was_begun_is_completed_out_of_the_reserve() {
        let mut rule = SpaceRule::new(16 * MIB);
        for (free, left, grows, completes) in [
            (17 * MIB, MIB, true, true),
            (16 * MIB, 0, true, true),
            (16 * MIB - 1, 0, false, true),
            (8 * MIB, 0, false, true),
            (8 * MIB - 1, 0, false, false),
            (12 * MIB - 1, 0, false, false),
            (12 * MIB, 0, false, true),
            (24 * MIB, 8 * MIB, true, true),
        ] {
            let space = space(free, 0, 0);
            rule.look(&space);
            let found = (rule.available(&space), rule.admits(ChangeKind::Grows), rule.admits(ChangeKind::Completes));
            assert_eq!(found, (left, grows, completes), "{free}");
        }
    }

    #[test]
    fn a_small_disk_has_a_small_reserve() {
        let small = |bytes| Space { disk: FreeSpace { bytes, total_bytes: 32 * MIB, inodes: None }, ..space(0, 0, 0) };
        let mut rule = SpaceRule::new(16 * MIB);
        assert!(!rule.look(&small(4 * MIB)));
        assert!(rule.look(&small(4 * MIB - 1)));
        assert!(rule.look(&small(6 * MIB)));
    }

    #[test]
    fn inodes_run_out_like_bytes() {
        let with =
            |inodes| Space { disk: FreeSpace { bytes: 1 << 30, total_bytes: 1 << 40, inodes }, ..space(0, 0, 0) };
        let mut rule = SpaceRule::new(16 * MIB);
        assert!(!rule.look(&with(None)) && !rule.look(&with(Some(8))));
        assert!(rule.look(&with(Some(7))) && !rule.admits(ChangeKind::Grows) && rule.admits(ChangeKind::Maintains));
        assert_eq!(rule.shortage(ChangeKind::Grows), Some(Shortage::Inodes { free: 7, needed: 8 }));
        assert!(!rule.look(&with(Some(15))) && rule.look(&with(Some(16))) && rule.admits(ChangeKind::Grows));
    }
}

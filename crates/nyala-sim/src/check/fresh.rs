// SPDX-License-Identifier: Apache-2.0

//! **Reads are never stale, and acknowledged writes are never lost.** Each block is a register. A write takes effect
//! once, at some moment between its first copy and its acknowledgement (or never, or at any time, if it was not acknowledged).
//! When a value is seen, by a read or by the acknowledgement of its write, every other value that had certainly taken effect
//! before is dead from then on. A read that brings a value that was dead when it began is wrong.
//!
//! What a power cut of the *last* complete copy takes away is no error if no sync had answered for it: then the values that
//! members have on disk may come back, unless a sync had answered for something newer. And when the last good member itself
//! starts again, nobody remembers which of the writes that are still being asked for took effect before.

use crate::disk::Tag;
use nyala_wire::storage::ChunkFileId;
use std::collections::BTreeMap;

/// A block.
pub type At = (ChunkFileId, u64);

#[derive(Clone, Copy, Debug, Default)]
struct Value {
    /// It has certainly taken effect by then.
    effective: Option<u64>,
    /// Something newer has certainly taken effect by then.
    dead: Option<u64>,
    /// A sync has answered for something newer.
    buried: bool,
    /// It may take effect more than once.
    repeats: bool,
}

#[derive(Clone, Debug, Default)]
struct Register {
    values: BTreeMap<Tag, Value>,
}

/// All blocks.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    registers: BTreeMap<At, Register>,
}

impl Register {
    fn see(&mut self, tag: Tag, began: u64, ended: u64) -> Result<(), Tag> {
        let seen = self.values.entry(tag).or_default();
        if seen.dead.is_some_and(|dead| dead < began) && !seen.repeats {
            let newer = self.values.iter().filter(|(other, v)| **other != tag && v.dead.is_none());
            return Err(newer.map(|(other, _)| *other).next_back().unwrap_or(0));
        }
        seen.effective = Some(seen.effective.map_or(ended, |at| at.min(ended)));
        for (other, value) in &mut self.values {
            let before = *other == 0 || value.effective.is_some_and(|at| at < began);
            if *other != tag && before {
                value.dead = Some(value.dead.map_or(ended, |at| at.min(ended)));
            }
        }
        // A value that has been dead for long and is not the hole of the beginning cannot matter any more but as dead.
        Ok(())
    }
}

impl Fresh {
    /// A value was seen in a read or an acknowledged write that lasted from `began` to `ended` (microseconds).
    pub fn see(&mut self, at: At, tag: Tag, began: u64, ended: u64) -> Result<(), String> {
        let register = self.registers.entry(at).or_default();
        register.values.entry(0).or_default();
        register.see(tag, began, ended).map_err(|newer| {
            let ((file, block), took) = (at, ended - began);
            format!("stale: file {} block {block} showed {tag}, but {newer} is newer (took {took} us)", file.inode.0)
        })
    }

    /// A sync that began at `began` was answered.
    pub fn synced(&mut self, began: u64) {
        for value in self.registers.values_mut().flat_map(|r| r.values.values_mut()) {
            value.buried |= value.dead.is_some_and(|at| at < began);
        }
    }

    /// The last complete copy lost power: what a member has on disk there may come back.
    pub fn may_return(&mut self, at: At, tag: Tag) {
        let value = self.registers.entry(at).or_default().values.entry(tag).or_default();
        if !value.buried {
            value.dead = None;
        }
    }

    /// Nobody is left who knows that this write took effect; its client may send it again.
    pub fn may_repeat(&mut self, at: At, tag: Tag) {
        self.registers.entry(at).or_default().values.entry(tag).or_default().repeats = true;
    }

    /// All blocks that were ever touched.
    pub fn blocks(&self) -> impl Iterator<Item = At> + '_ {
        self.registers.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    const AT: At = (ChunkFileId { inode: InodeId(1), index: 0 }, 0);

    #[test]
    fn old_values_are_stale_and_concurrent_ones_are_not() {
        let mut fresh = Fresh::default();
        fresh.see(AT, 1, 10, 20).unwrap();
        assert!(fresh.see(AT, 0, 21, 22).is_err(), "the hole of the beginning is gone");
        fresh.see(AT, 2, 30, 40).unwrap();
        fresh.see(AT, 1, 35, 36).unwrap();
        assert!(fresh.see(AT, 1, 41, 42).is_err());
        // 3 was never acknowledged; once seen, it counts.
        fresh.see(AT, 3, 50, 51).unwrap();
        assert!(fresh.see(AT, 2, 52, 53).is_err(), "time does not run backwards");
    }

    #[test]
    fn only_unsynced_values_may_return() {
        let mut fresh = Fresh::default();
        fresh.see(AT, 1, 10, 20).unwrap();
        fresh.see(AT, 2, 30, 40).unwrap();
        let mut synced = fresh.clone();
        fresh.may_return(AT, 1);
        fresh.see(AT, 1, 50, 51).unwrap();
        synced.synced(45);
        synced.may_return(AT, 1);
        assert!(synced.see(AT, 1, 50, 51).is_err());
    }
}

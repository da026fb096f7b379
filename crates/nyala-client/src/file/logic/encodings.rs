// SPDX-License-Identifier: Apache-2.0

//! Which files are to be encoded, and when. Pure.
//!
//! A file whose last handle here is closed is due some time later, unless it is opened again meanwhile. One whose data was moved often is
//! written to often: each time costs it a read and a write of all its data and two of its 64 names, so that it waits twice as long.
//! An encoded file of which a read here found parts that are gone for good is due too: it is encoded again, unless its data was moved since.

use nyala_wire::{InodeId, Layout};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// More are left to `nyala entry encode`.
const MAX_FILES: usize = 100_000;
/// No file waits longer than 2 to this power times the shortest time, before its first try.
const MAX_DOUBLINGS: u32 = 9;
/// Files that are encoded at the same time.
const MAX_CONCURRENT: usize = 2;
/// A file that others use is tried so often: whoever has it encodes it when they close it.
const TRIES_IN_USE: u32 = 4;
/// The same of what nobody else does: a file for which there is no room, and one that lost parts.
const TRIES_ALONE: u32 = 16;
/// Tries are not further apart than that, unless the first one was.
const LONGEST_WAIT_MS: u64 = 85 * 60_000;
/// Files that are known not to be made whole here.
const MAX_REFUSED: usize = 10_000;

/// What is to be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It is to be encoded, and is not yet.
    Encode,
    /// With so many moves of its data it had lost parts.
    Repair { moves: u32 },
}

/// Why it was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// Others use the file.
    InUse,
    /// No room for it, or too few targets that are in order.
    NoSpace,
    /// Another try would not do it either.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at_ms: u64,
    wait_ms: u64,
    tries: u32,
    work: Work,
}

/// Files that wait.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    files: HashMap<InodeId, Due>,
    under_way: HashSet<InodeId>,
    /// Files with lost parts, and how often their data had been moved, that this client cannot make whole.
    refused: HashMap<InodeId, u32>,
}

impl Encodings {
    /// A file with this layout was closed.
    pub(crate) fn closed(&mut self, inode: InodeId, layout: &Layout, delay: Duration, now_ms: u64) {
        if layout.to_encode().is_some() && self.has_room(inode) {
            let wait_ms = (delay.as_millis() as u64) << (layout.moves / 2).min(MAX_DOUBLINGS);
            self.files.insert(inode, Due::new(Work::Encode, wait_ms, now_ms));
        }
    }

    /// A read found that parts of an encoded file are gone for good. Whether that is news, and something can be done.
    pub(crate) fn damaged(&mut self, inode: InodeId, moves: u32, delay: Duration, now_ms: u64) -> bool {
        let known = self.files.contains_key(&inode) || self.under_way.contains(&inode);
        let news = !known && self.refused.get(&inode) != Some(&moves) && self.has_room(inode);
        if news {
            self.files.insert(inode, Due::new(Work::Repair { moves }, delay.as_millis() as u64, now_ms));
        }
        news
    }

    fn has_room(&self, inode: InodeId) -> bool {
        self.files.len() < MAX_FILES || self.files.contains_key(&inode)
    }

    /// The one that is due longest, which is taken out; none while enough are being encoded.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Option<Taken> {
        if self.under_way.len() >= MAX_CONCURRENT {
            return None;
        }
        let due = self.files.iter().filter(|(inode, due)| due.at_ms <= now_ms && !self.under_way.contains(inode));
        let (inode, due) = due.min_by_key(|(_, due)| due.at_ms)?;
        let taken = Taken { inode: *inode, due: *due };
        self.files.remove(&taken.inode);
        self.under_way.insert(taken.inode);
        Some(taken)
    }

    /// The work on one that was taken is over: done, or not. What is not is tried again, unless that was done often, or it was closed
    /// here again meanwhile.
    pub(crate) fn ended(&mut self, taken: Taken, obstacle: Option<Obstacle>, now_ms: u64) {
        let Taken { inode, due } = taken;
        assert!(self.under_way.remove(&inode), "an encoding ends that did not begin");
        let most = match (obstacle, due.work) {
            (None, _) => return,
            (Some(Obstacle::Refused), work) => return self.refuse(inode, work),
            (Some(Obstacle::InUse), Work::Encode) => TRIES_IN_USE,
            (Some(_), _) => TRIES_ALONE,
        };
        if due.tries < most && self.has_room(inode) {
            let wait_ms = due.wait_ms.saturating_mul(2).min(LONGEST_WAIT_MS.max(due.wait_ms));
            let due = Due { at_ms: now_ms.saturating_add(wait_ms), wait_ms, tries: due.tries + 1, ..due };
            self.files.entry(inode).or_insert(due);
        }
    }

    fn refuse(&mut self, inode: InodeId, work: Work) {
        let Work::Repair { moves } = work else { return };
        if self.refused.len() >= MAX_REFUSED {
            self.refused.clear();
        }
        self.refused.insert(inode, moves);
    }
}

impl Due {
    fn new(work: Work, wait_ms: u64, now_ms: u64) -> Due {
        Due { at_ms: now_ms.saturating_add(wait_ms), wait_ms, tries: 0, work }
    }
}

/// A file that is being encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) inode: InodeId,
    due: Due,
}

impl Taken {
    pub(crate) fn work(&self) -> Work {
        self.due.work
    }
}

#[cfg(test)]
mod tests;

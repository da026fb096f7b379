// SPDX-License-Identifier: Apache-2.0

//! Which dirty extents of a file go out next, without going over all of them: each is either ready, in file order, or waits for more
//! to be written beside it, by the stamp of its oldest write. Pure.

use std::collections::BTreeSet;

/// What the index knows of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueEntry {
    pub(super) offset: u64,
    /// Of its oldest write.
    pub(super) stamp: u64,
    /// It goes out as soon as there is room; others wait to be filled.
    pub(super) ready: bool,
}

/// The extents of one file, by when they go out.
#[derive(Debug, Default)]
pub(super) struct DueIndex {
    ready: BTreeSet<u64>,
    /// Stamps and offsets.
    waiting: BTreeSet<(u64, u64)>,
}

impl DueIndex {
    pub(super) fn add(&mut self, entry: DueEntry) {
        if entry.ready {
            self.ready.insert(entry.offset);
        } else {
            self.waiting.insert((entry.stamp, entry.offset));
        }
    }

    pub(super) fn remove(&mut self, entry: DueEntry) {
        if entry.ready {
            self.ready.remove(&entry.offset);
        } else {
            self.waiting.remove(&(entry.stamp, entry.offset));
        }
    }

    /// An extent changed. Most changes (bytes behind it, or over it) are none for this index, and cost nothing.
    pub(super) fn moved(&mut self, before: DueEntry, after: DueEntry) {
        if before != after {
            self.remove(before);
            self.add(after);
        }
    }

    /// Offsets of what is ready, in file order.
    pub(super) fn ready(&self) -> impl Iterator<Item = u64> {
        self.ready.iter().copied()
    }

    /// The offset of what has waited for longest.
    pub(super) fn oldest_waiting(&self) -> Option<u64> {
        self.waiting.first().map(|(_, offset)| *offset)
    }

    /// The offset of what has waited for shortest.
    pub(super) fn newest_waiting(&self) -> Option<u64> {
        self.waiting.last().map(|(_, offset)| *offset)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Which chunk files a flush has to sync, so that all that was applied before it began is on disk when it ends.
//!
//! **Failure model.** A sync fails, or nobody hears of its end: its file is synced again by the next flush. Flushes overlap: one
//! that is under way may have begun to sync a file before its last change, so that the next one syncs that file too.

use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, BTreeSet};

/// Files with changes that may not be on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushSet {
    /// Changed since the last flush began.
    changed: BTreeSet<ChunkFileId>,
    /// By how many flushes each file is being synced.
    syncing: BTreeMap<ChunkFileId, u32>,
}

impl FlushSet {
    /// After a start: all files that have rows may have changes that are not on disk.
    pub fn new(files: impl IntoIterator<Item = ChunkFileId>) -> FlushSet {
        FlushSet { changed: files.into_iter().collect(), syncing: BTreeMap::new() }
    }

    /// A change was applied to the file, or may have been in part.
    pub fn changed(&mut self, file: ChunkFileId) {
        self.changed.insert(file);
    }

    /// A flush begins: it has to sync these files, and tells [`FlushSet::synced`] of each.
    pub fn begin(&mut self) -> Vec<ChunkFileId> {
        let mut files = std::mem::take(&mut self.changed);
        files.extend(self.syncing.keys());
        files.iter().for_each(|file| *self.syncing.entry(*file).or_insert(0) += 1);
        files.into_iter().collect()
    }

    /// A file's sync for one flush ended.
    pub fn synced(&mut self, file: ChunkFileId, ok: bool) {
        if let Some(count) = self.syncing.get_mut(&file) {
            *count -= 1;
            if *count == 0 {
                self.syncing.remove(&file);
            }
        }
        if !ok {
            self.changed.insert(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    fn file(inode: u64) -> ChunkFileId {
        ChunkFileId { inode: InodeId(inode), index: 0 }
    }

    #[test]
    fn what_changed_is_synced_once() {
        let mut set = FlushSet::new([file(1)]);
        set.changed(file(2));
        set.changed(file(2));
        assert_eq!(set.begin(), [file(1), file(2)]);
        set.synced(file(1), true);
        set.synced(file(2), true);
        assert_eq!((set.begin(), set), (vec![], FlushSet::default()));
    }

    #[test]
    fn a_flush_counts_on_no_sync_that_began_before_it() {
        let mut set = FlushSet::new([file(1)]);
        set.begin();
        set.changed(file(1));
        assert_eq!(set.begin(), [file(1)]);
        set.synced(file(1), true);
        assert_eq!(set.begin(), [file(1)], "the second flush is under way still");
        set.synced(file(1), true);
        set.synced(file(1), true);
        assert_eq!(set, FlushSet::default());
    }

    #[test]
    fn a_file_changed_while_it_is_synced_is_synced_again() {
        let mut set = FlushSet::new([file(1)]);
        set.begin();
        set.changed(file(1));
        set.synced(file(1), true);
        assert_eq!(set.begin(), [file(1)]);
    }

    #[test]
    fn a_sync_that_failed_or_was_never_heard_of_is_done_again() {
        let mut set = FlushSet::new([file(1), file(2)]);
        set.begin();
        set.synced(file(1), false);
        assert_eq!(set.begin(), [file(1), file(2)]);
        set.synced(file(1), true);
        assert_eq!(set.begin(), [file(2)], "two of its syncs have not ended");
    }
}

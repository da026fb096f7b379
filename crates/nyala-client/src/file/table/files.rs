// SPDX-License-Identifier: Apache-2.0

//! The table's content.

use crate::file::logic::eviction_clock::EvictionClock;
use crate::file::state::File;
use nyala_wire::InodeId;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Files {
    pub(super) entries: HashMap<InodeId, Entry>,
    /// Files that nobody uses, oldest first.
    pub(super) idle: BTreeMap<u64, InodeId>,
    pub(super) idle_bytes: usize,
    pub(super) tick: u64,
    pub(super) evictions: EvictionClock,
}

pub(super) struct Entry {
    pub(super) file: Arc<File>,
    pub(super) users: usize,
    pub(super) idle: Option<(u64, usize)>,
}

impl Files {
    /// Somebody uses it from now on.
    pub(super) fn busy(&mut self, inode: InodeId) {
        if let Some(entry) = self.entries.get_mut(&inode)
            && let Some((tick, bytes)) = entry.idle.take()
        {
            self.idle.remove(&tick);
            self.idle_bytes -= bytes;
        }
    }

    /// Forgets it if nobody uses it.
    pub(super) fn remove_idle(&mut self, inode: InodeId) -> Option<Arc<File>> {
        self.entries.get(&inode)?.idle?;
        self.busy(inode);
        self.evictions.evicted(inode);
        self.entries.remove(&inode).map(|entry| entry.file)
    }

    /// Forgets it.
    pub(super) fn remove(&mut self, inode: InodeId) {
        self.evictions.evicted(inode);
        self.entries.remove(&inode);
    }
}

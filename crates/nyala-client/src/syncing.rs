// SPDX-License-Identifier: Apache-2.0

//! Having what is on storage targets put on their disks.
//!
//! **Failure model.** Unsynced bytes of a file may come from another client, or from this one before it forgot the file: what
//! a sync has to reach is more than this client remembers (`logic::unsynced`). A target that has nothing unsynced of a
//! file says so without touching its disk. A failed sync is said to whoever waits, and done again the next time. Content that
//! moved from the inode is on disk before its server is told to forget its copy, which may be the only one that is.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::file::{File, State};
use crate::storage_io::Place;
use nyala_wire::storage::StorageOp;
use nyala_wire::{InodeId, Layout};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Forgotten files with unsynced bytes of this client's; when there are more, they are synced.
const MAX_FORGOTTEN: usize = 16_384;
/// Files synced side by side when all are.
const AT_ONCE: usize = 64;

impl Core {
    /// Bytes of a file went to a target; its state is locked.
    pub(crate) fn stored(self: &Arc<Core>, state: &mut State, inode: InodeId, index: u16) {
        if state.unsynced.wrote(index)
            && let Some(layout) = state.layout.clone()
        {
            let mut unsynced = self.unsynced.lock();
            unsynced.insert(inode, layout);
            if unsynced.len().is_multiple_of(MAX_FORGOTTEN) {
                let core = self.clone();
                self.spawn(async move {
                    if let Err(error) = core.sync_forgotten().await {
                        tracing::warn!(%error, "files that were written were not synced yet");
                    }
                });
            }
        }
    }

    /// Everything that is written of a striped file is on the disks of its targets.
    pub(crate) async fn sync_targets(self: &Arc<Core>, file: &Arc<File>) -> Result<()> {
        let (layout, syncing) = {
            let mut state = file.state.lock();
            let Some(layout) = state.layout.clone() else { return Ok(()) };
            // Without a lease it may be longer than is known here.
            let (alone, size) = (state.loaded, state.size);
            let all =
                (0..layout.targets.len() as u16).filter(|index| !alone || layout.chunk_file_len(*index, size) > 0);
            let syncing = state.unsynced.begin(all, alone);
            (layout, syncing)
        };
        let result = self.sync_indices(file.inode, &layout, syncing.indices.iter().copied()).await;
        let mut state = file.state.lock();
        match &result {
            Ok(()) => state.unsynced.done(&syncing),
            Err(_) => state.unsynced.failed(syncing),
        }
        if !state.unsynced.has_own() {
            self.unsynced.lock().remove(&file.inode);
        }
        result
    }

    async fn sync_indices(
        self: &Arc<Core>,
        inode: InodeId,
        layout: &Layout,
        indices: impl Iterator<Item = u16>,
    ) -> Result<()> {
        let mut syncs = JoinSet::new();
        for index in indices {
            let (core, place) = (self.clone(), Place { inode, home: layout.home(index), index, offset: 0 });
            syncs.spawn(async move { core.storage_sync(place).await });
        }
        let mut result = Ok(());
        while let Some(done) = syncs.join_next().await {
            result = result.and(done.unwrap_or(Err(Error::ShutDown)));
        }
        result
    }

    /// What was inline, and is at the start of the chunk files now, is on disk. Where there was nothing, nothing can get lost.
    pub(crate) async fn sync_moved(self: &Arc<Core>, inode: InodeId, layout: &Layout, len: u64) -> Result<()> {
        let indices: std::collections::BTreeSet<u16> = match len {
            0 => return Ok(()),
            len => layout.extents(0, len).map(|extent| extent.index).collect(),
        };
        self.sync_indices(inode, layout, indices.into_iter()).await
    }

    /// What this client wrote and did not sync of files that it has forgotten is on disk.
    pub(crate) async fn sync_forgotten(self: &Arc<Core>) -> Result<()> {
        let left: Vec<(InodeId, Arc<Layout>)> = {
            let mut unsynced = self.unsynced.lock();
            let forgotten = |inode: &InodeId| self.files.get(*inode).is_none();
            let inodes: Vec<InodeId> = unsynced.keys().copied().filter(forgotten).collect();
            inodes.into_iter().filter_map(|inode| unsynced.remove_entry(&inode)).collect()
        };
        let mut syncs = JoinSet::new();
        let mut result = Ok(());
        for (inode, layout) in left {
            if syncs.len() >= AT_ONCE {
                result = result.and(syncs.join_next().await.unwrap_or(Ok(Ok(()))).unwrap_or(Err(Error::ShutDown)));
            }
            let core = self.clone();
            syncs.spawn(async move {
                let synced = core.sync_indices(inode, &layout, 0..layout.targets.len() as u16).await;
                if synced.is_err() {
                    core.unsynced.lock().entry(inode).or_insert(layout);
                }
                synced
            });
        }
        while let Some(done) = syncs.join_next().await {
            result = result.and(done.unwrap_or(Err(Error::ShutDown)));
        }
        result
    }

    async fn storage_sync(self: &Arc<Core>, place: Place) -> Result<()> {
        self.storage_done("sync data", place, StorageOp::Sync).await
    }
}

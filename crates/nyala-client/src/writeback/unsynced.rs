// SPDX-License-Identifier: Apache-2.0

//! What this client wrote to storage and did not sync, of files that it has forgotten too.
//!
//! **Failure model.** A file may be forgotten here, for want of memory, before anybody syncs it: what its targets said
//! of writes is remembered without it, and taken up when it is opened again. There may be many such files: they are
//! synced when they are too many.

use crate::error::{Error, Result};
use crate::file::state::{File, FileState};
use crate::writeback::owner::Writeback;
use crate::writeback::sync::Synced;
use nyala_wire::storage::WriteVerifier;
use nyala_wire::{InodeId, Layout};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Forgotten files with unsynced bytes of this client's; when there are more, they are synced.
const MAX_FORGOTTEN: usize = 16_384;
/// Files synced side by side when all are.
const MAX_CONCURRENT_SYNCS: usize = 64;

impl Writeback {
    /// Bytes of a file went to a target; its state is locked.
    pub(crate) fn stored(
        self: &Arc<Writeback>,
        state: &mut FileState,
        inode: InodeId,
        index: u16,
        verifier: WriteVerifier,
    ) {
        if state.unsynced_mut().record_write(index, verifier)
            && let Some(layout) = state.layout().cloned()
        {
            let mut unsynced = self.unsynced.lock();
            let before = unsynced.len();
            let key = (inode, layout.moves);
            state.unsynced_mut().adopt(unsynced.get(&key).map(|(_, written)| written));
            unsynced.insert(key, (layout, state.unsynced().written().clone()));
            if unsynced.len() > before && unsynced.len().is_multiple_of(MAX_FORGOTTEN) {
                let writeback = self.clone();
                self.ctx.spawn(async move {
                    if let Err(error) = writeback.sync_forgotten().await {
                        tracing::warn!(%error, "files that were written were not synced yet");
                    }
                });
            }
        }
    }

    /// What this client wrote to a file before its data was moved, and did not sync, is on disk where it was then, unless that says
    /// otherwise: the copy has only what was there. Chunk files that are gone have nothing unsynced.
    pub(super) async fn sync_before_moves(self: &Arc<Writeback>, inode: InodeId, layout: &Layout) -> Result<Synced> {
        let before = (inode, 0)..(inode, layout.moves);
        let left: Vec<(u32, _)> =
            self.unsynced.lock().range(before).map(|((_, moves), one)| (*moves, one.clone())).collect();
        let mut all = Synced::default();
        for (moves, (layout, written)) in left {
            let synced = self.sync_indices(inode, &layout, &written).await?;
            self.unsynced.lock().remove(&(inode, moves));
            all.lost = all.lost.or(synced.lost);
        }
        Ok(all)
    }

    /// Waits for changes of a file's chunk files, which give their stripe index and what the target said.
    pub(crate) async fn all_stored(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        mut changes: JoinSet<Result<(u16, WriteVerifier)>>,
    ) -> Result<()> {
        let mut result = Ok(());
        while let Some(done) = changes.join_next().await {
            match done.unwrap_or(Err(Error::ShutDown)) {
                Ok((index, verifier)) => self.stored(&mut file.state.lock(), file.inode, index, verifier),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// What this client wrote and did not sync of files that it has forgotten is on disk.
    pub(crate) async fn sync_forgotten(self: &Arc<Writeback>) -> Result<()> {
        let left: Vec<_> = {
            let mut unsynced = self.unsynced.lock();
            let forgotten = |(inode, _): &(InodeId, u32)| self.files.get(*inode).is_none();
            let keys: Vec<(InodeId, u32)> = unsynced.keys().copied().filter(forgotten).collect();
            keys.into_iter().filter_map(|key| unsynced.remove_entry(&key)).collect()
        };
        let mut syncs = JoinSet::new();
        let mut result = Ok(());
        for (key, (layout, written)) in left {
            if syncs.len() >= MAX_CONCURRENT_SYNCS {
                result = result.and(syncs.join_next().await.unwrap_or(Ok(Ok(()))).unwrap_or(Err(Error::ShutDown)));
            }
            let writeback = self.clone();
            syncs.spawn(async move {
                match writeback.sync_indices(key.0, &layout, &written).await {
                    Ok(synced) => synced.lost.map_or(Ok(()), Err),
                    Err(error) => {
                        writeback.unsynced.lock().entry(key).or_insert((layout, written));
                        Err(error)
                    }
                }
            });
        }
        while let Some(done) = syncs.join_next().await {
            result = result.and(done.unwrap_or(Err(Error::ShutDown)));
        }
        result
    }
}

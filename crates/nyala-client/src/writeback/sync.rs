// SPDX-License-Identifier: Apache-2.0

//! Having what is on storage targets put on their disks.
//!
//! **Failure model.** Unsynced bytes of a file may come from another client, or from this one before it forgot the file: what
//! a sync has to reach is more than this client remembers (`writeback::logic::unsynced`). A file may have been opened without
//! asking its server, under a delegation that was held still: its layout is asked for, since without it no target is reached.
//! A target that has nothing unsynced of a file says so without touching its disk. A failed sync is said to whoever waits, and
//! done again the next time. Content that moved from the inode is on disk before its server is told to forget its copy, which
//! may be the only one that is.
//! **A target may lose power between a write and its sync**, and answer the sync truthfully: nothing is unsynced there.
//! It says with both how often it lost something (`WriteVerifier`), and where the two differ the sync fails, or what
//! was moved is moved again. A mirror group lost something if its last good member did.

use crate::error::{Error, Result};
use crate::file::state::File;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::storage::ChunkRange;
use crate::writeback::logic::unsynced::Written;
use crate::writeback::owner::Writeback;
use nyala_transport::trace::{carried, under};
use nyala_wire::storage::{StorageOp, StorageReply, WriteVerifier};
use nyala_wire::{InodeId, Layout};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What came of a sync that was answered.
#[derive(Debug, Default)]
pub(crate) struct Synced {
    /// Stripe indices of targets and mirror groups that may have lost some of what was written to them before.
    pub(crate) doubtful: BTreeSet<u16>,
    /// What a program is told of it.
    pub(crate) lost: Option<Error>,
}

impl Synced {
    /// Both.
    fn and(mut self, other: Synced) -> Synced {
        self.doubtful.extend(other.doubtful);
        Synced { lost: self.lost.or(other.lost), ..self }
    }

    /// All that was written is on disk.
    pub(crate) fn is_certain(&self) -> bool {
        self.doubtful.is_empty()
    }
}

impl Writeback {
    /// Everything that is written of a striped file is on the disks of its targets, unless it says otherwise. `None`: which
    /// targets these are is not known.
    pub(crate) async fn sync_targets(self: &Arc<Writeback>, file: &Arc<File>) -> Result<Option<Synced>> {
        let (layout, syncing) = {
            let mut state = file.state.lock();
            let Some(layout) = state.layout().cloned() else { return Ok(None) };
            let unsynced = self.unsynced.lock();
            state.unsynced_mut().adopt(unsynced.get(&(file.inode, layout.moves)).map(|(_, written)| written));
            drop(unsynced);
            // Without a delegation it may be longer than is known here.
            let (alone, size) = (state.is_loaded(), state.size());
            let all = layout.indices().filter(|index| !alone || layout.chunk_file_len(*index, size) > 0);
            let syncing = state.unsynced_mut().begin(all, alone);
            (layout, syncing)
        };
        let before = self.sync_before_moves(file.inode, &layout).await;
        let result = self.sync_indices(file.inode, &layout, &syncing.indices).await;
        let result = before.and_then(|before| Ok(Synced { lost: before.lost, ..Synced::default() }.and(result?)));
        let mut state = file.state.lock();
        match &result {
            Ok(_) => state.unsynced_mut().done(&syncing),
            Err(_) => state.unsynced_mut().failed(syncing),
        }
        let mut unsynced = self.unsynced.lock();
        // Moved meanwhile: what is known of the file is of the layout of now.
        if state.layout().is_some_and(|now| now.moves == layout.moves) {
            match state.unsynced().has_own() {
                true => drop(unsynced.insert((file.inode, layout.moves), (layout, state.unsynced().written().clone()))),
                false => drop(unsynced.remove(&(file.inode, layout.moves))),
            }
        }
        result.map(Some)
    }

    pub(crate) async fn sync_indices(
        self: &Arc<Writeback>,
        inode: InodeId,
        layout: &Layout,
        written: &Written,
    ) -> Result<Synced> {
        let mut syncs = JoinSet::new();
        for (index, noted) in written.clone() {
            let chunk = ChunkRange { inode, location: layout.location(index), index, offset: 0 };
            let writeback = self.clone();
            let sync = async move { writeback.storage_sync(chunk).await.map(|verifier| (chunk, noted, verifier)) };
            syncs.spawn(carried(under(), sync));
        }
        let mut result = Ok(Synced::default());
        while let Some(done) = syncs.join_next().await {
            match (done.unwrap_or(Err(Error::ShutDown)), &mut result) {
                (Ok((chunk, noted, verifier)), Ok(synced)) if !noted.holds(verifier) => {
                    synced.doubtful.insert(chunk.index);
                    let error = Error::Unsynced { inode, location: chunk.location };
                    tracing::error!(%error);
                    synced.lost = Some(error);
                }
                (Err(error), Ok(_)) => result = Err(error),
                _ => {}
            }
        }
        result
    }

    /// What was inline, and is at the start of the chunk files now, is on disk, unless it says otherwise: then it has to be
    /// written again. Where there was nothing, nothing can get lost.
    pub(crate) async fn sync_moved(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        layout: &Layout,
        len: u64,
    ) -> Result<Synced> {
        let indices: BTreeSet<u16> = match len {
            0 => return Ok(Synced::default()),
            len => layout.extents(0, len).map(|extent| extent.index).collect(),
        };
        let noted = file.state.lock().unsynced().noted(indices.into_iter());
        let synced = self.sync_indices(file.inode, layout, &noted).await?;
        let mut state = file.state.lock();
        synced.doubtful.iter().for_each(|index| state.unsynced_mut().dealt_with(*index));
        Ok(synced)
    }

    async fn storage_sync(self: &Arc<Writeback>, chunk: ChunkRange) -> Result<WriteVerifier> {
        match self.cluster.storage_op("sync data", chunk, StorageOp::Sync).await? {
            StorageReply::Stored(verifier) => Ok(verifier),
            _ => Err(unexpected_reply("sync data")),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The copy that a move of data makes. Failure model: [`crate::file::move_data`].

use crate::error::{Error, Result};
use crate::file::move_purpose::Yielding;
use crate::file::ops::{FileOps, NO_SUCH_ADDRESS};
use crate::file::state::{File, MAX_UNIT};
use crate::rpc::storage::ChunkRange;
use crate::writeback::logic::unsynced::{Unsynced, Written};
use nyala_wire::storage::WriteVerifier;
use nyala_wire::{Layout, SessionId};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Bytes that are read and written at once.
const PIECE: u64 = 4 << 20;
/// Pieces on their way side by side: so much memory times [`PIECE`].
const MAX_CONCURRENT: usize = 4;

/// A move under way.
pub(super) struct Move<'a> {
    pub(super) ops: &'a Arc<FileOps>,
    pub(super) file: &'a Arc<File>,
    pub(super) session: SessionId,
    pub(super) from: Arc<Layout>,
    pub(super) to: Arc<Layout>,
    pub(super) size: u64,
    pub(super) unsynced: Unsynced,
    pub(super) yielding: Yielding,
}

impl Move<'_> {
    /// What an earlier attempt left goes.
    pub(super) async fn begin(&self) -> Result<()> {
        self.ops.writeback.cut(self.file, &self.to, 0, self.session).await
    }

    /// Has on disk what was copied.
    pub(super) async fn finish(&self, copied: Result<u64>) -> Result<u64> {
        let copied = match copied {
            Ok(bytes) => self.sync().await.map(|()| bytes),
            Err(error) => Err(error),
        };
        if copied.is_err() {
            self.give_up().await;
        }
        copied
    }

    /// The copy is not needed.
    pub(super) async fn give_up(&self) {
        if let Err(error) = self.ops.writeback.cut(self.file, &self.to, 0, self.session).await {
            tracing::info!(inode = %self.file.inode, %error, "a copy that is not needed stays; nyala fsck finds it");
        }
    }

    /// Copies everything.
    pub(super) async fn copy(&mut self, moved: &impl Fn(u64)) -> Result<u64> {
        let (mut at, mut bytes) = (0, 0);
        while let Some(data) = self.data_behind(at).await? {
            at = data.end;
            let mut pieces = JoinSet::new();
            let (mut from, mut failed) = (data.start, None);
            loop {
                if let Err(error) = self.yielding.check(self.ops, self.file) {
                    failed.get_or_insert(error);
                }
                while failed.is_none() && from < data.end && pieces.len() < MAX_CONCURRENT {
                    let piece = from..data.end.min((from / PIECE + 1) * PIECE);
                    from = piece.end;
                    pieces.spawn(self.copy_piece(piece));
                }
                // Also after a failure: what is on its way when this returns would come late, over what the next attempt wrote.
                let Some(done) = pieces.join_next().await else { break };
                match done.unwrap_or(Err(Error::ShutDown)) {
                    Ok((len, stored)) => {
                        stored.into_iter().for_each(|(index, verifier)| self.stored(index, verifier));
                        bytes += len;
                        moved(bytes);
                    }
                    Err(error) => drop(failed.get_or_insert(error)),
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
        Ok(bytes)
    }

    pub(super) fn stored(&mut self, index: u16, verifier: WriteVerifier) {
        self.unsynced.record_write(index, verifier);
    }

    /// The next range that has data.
    async fn data_behind(&self, at: u64) -> Result<Option<Range<u64>>> {
        if at >= self.size {
            return Ok(None);
        }
        if self.from.encoded().is_some() {
            // Where its holes are is not asked of targets that may be away.
            return Ok(Some(at..self.size));
        }
        let start = match self.ops.seek(self.file, at, false).await {
            Ok(start) => start,
            Err(error) if error.is(NO_SUCH_ADDRESS) => return Ok(None),
            Err(error) => return Err(error),
        };
        let end = self.ops.seek(self.file, start, true).await?;
        Ok(Some(start..end.min(self.size)).filter(|range| !range.is_empty()))
    }

    /// Copies a range; what the targets said of it.
    fn copy_piece(
        &self,
        range: Range<u64>,
    ) -> impl Future<Output = Result<(u64, Vec<(u16, WriteVerifier)>)>> + Send + use<> {
        let (ops, inode, session) = (self.ops.clone(), self.file.inode, self.session);
        let (from, to, size) = (self.from.clone(), self.to.clone(), self.size);
        async move {
            let data = ops.fetch(inode, (&from, size), range.clone()).await?;
            let (mut at, mut stored) = (range.start, Vec::new());
            for bytes in data.into_pieces() {
                let mut left = bytes;
                while !left.is_empty() {
                    let Some(extent) = to.extents(at, left.len() as u64).next() else { break };
                    let part = left.split_to(extent.len.min(MAX_UNIT) as usize);
                    at += part.len() as u64;
                    if from.encoded().is_some() && part.iter().all(|byte| *byte == 0) {
                        continue;
                    }
                    let location = to.location(extent.index);
                    let chunk = ChunkRange { inode, location, index: extent.index, offset: extent.chunk_offset };
                    stored.push((extent.index, ops.cluster.write_bulk(chunk, part, session).await?));
                }
            }
            Ok((at - range.start, stored))
        }
    }

    /// The copy is on disk, all of it.
    async fn sync(&self) -> Result<()> {
        let written: &Written = self.unsynced.written();
        let synced = self.ops.writeback.sync_indices(self.file.inode, &self.to, written).await?;
        synced.lost.map_or(Ok(()), Err)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Moving a file's data to other targets, while its inode, names and content stay.
//!
//! **Failure model.** Everything happens under one exclusive delegation, which is held from before the first byte is read until the
//! metadata server has answered: nobody else writes meanwhile, and a session that ended on the way moves nothing, as every step is
//! bound to it (`rpc::bound`). Whoever wants the file has it recalled: the move is then given up, and can be made again. The copy is on
//! the disks of its targets before metadata hears of it, and a target that lost power since it took a piece says so
//! (`WriteVerifier`). What an earlier attempt left in chunk files of the same names is cut first. What this attempt leaves when it fails
//! is cut too where that can be done; else it lies where no layout has it, and `nyala fsck` finds it.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::ops::FileOps;
use crate::file::space::NO_SUCH_ADDRESS;
use crate::file::state::{File, MAX_UNIT};
use crate::rpc::bound::Bound;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::storage::ChunkRange;
use crate::types::Destination;
use crate::writeback::logic::unsynced::{Unsynced, Written};
use nyala_wire::meta::{MetaOp, MetaReply, Owner, Want};
use nyala_wire::storage::{ChunkFileId, WriteVerifier};
use nyala_wire::{DataLocation, ErrorCode, InodeId, Layout, SessionId, TargetId};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Bytes that are read and written at once.
const PIECE: u64 = 4 << 20;
/// Pieces on their way side by side: so much memory times [`PIECE`].
const AT_ONCE: usize = 4;

/// A move under way.
struct Move<'a> {
    ops: &'a Arc<FileOps>,
    file: &'a Arc<File>,
    session: SessionId,
    from: Arc<Layout>,
    to: Arc<Layout>,
    size: u64,
    unsynced: Unsynced,
}

impl FileOps {
    /// Moves a file's data; `moved` hears how many bytes were copied, as they are. Returns how many, and the layout of now.
    pub(crate) async fn move_data(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        to: &Destination,
        moved: &(dyn Fn(u64) + Sync),
    ) -> Result<(u64, Layout)> {
        if !self.ctx.config.delegations {
            return Err(Error::refused(ErrorCode::NOT_SUPPORTED, "a client without delegations moves no data"));
        }
        self.writeback.flush_now(file).await?;
        let admission = self.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
        let (from, inline, size) = {
            let state = file.state.lock();
            let settled = admission.access == Access::Cached && state.is_clean();
            let from = state.layout().cloned().filter(|_| settled).ok_or_else(in_use)?;
            (from, state.is_inline(), state.size())
        };
        let to = Arc::new(self.destination(file.inode, to).await?);
        let (session, unsynced) = (admission.session, Unsynced::default());
        let mut work = Move { ops: self, file, session, from, to, size, unsynced };
        let bytes = if inline { 0 } else { work.copy_all(moved).await? };
        let op = MetaOp::MoveData { inode: file.inode, layout: (*work.to).clone() };
        let bound = Bound::new(file.inode, session);
        match self.cluster.meta_bound("move a file's data", op, Want::NOTHING, bound).await?.reply {
            MetaReply::Done => {}
            _ => return Err(unexpected_reply("move a file's data")),
        }
        file.state.lock().relocate(&work.to);
        Ok((bytes, (*work.to).clone()))
    }

    async fn destination(self: &Arc<FileOps>, inode: InodeId, to: &Destination) -> Result<Layout> {
        let op = MetaOp::MoveTargets { inode, pattern: to.pattern, avoid: to.avoid.clone() };
        match self.cluster.meta("choose targets", op, Owner::default()).await? {
            MetaReply::Layout(layout) => {
                layout.check().map_err(Error::server("choose targets"))?;
                Ok(layout)
            }
            _ => Err(unexpected_reply("choose targets")),
        }
    }

    /// Removes a chunk file that lies where the layout of its file has none, unless the file's data is just being moved there. Whether
    /// it could: the layout has none there now, and a delegation was to be had.
    pub(crate) async fn remove_beside_layout(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        chunk: ChunkFileId,
        target: TargetId,
    ) -> Result<bool> {
        let admission = self.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
        let layout = file.state.lock().layout().cloned().filter(|_| admission.access == Access::Cached);
        let Some(layout) = layout else { return Ok(false) };
        let here = match layout.has(chunk.index).then(|| layout.location(chunk.index)) {
            Some(DataLocation::Target(id)) => id == target,
            Some(DataLocation::Group(id)) => {
                let map = self.cluster.maps.view().map.clone();
                map.group(id).is_none_or(|group| group.members.contains(&target))
            }
            None => false,
        };
        if here {
            return Ok(false);
        }
        self.cluster.remove_chunk_file(chunk, target).await?;
        Ok(true)
    }
}

impl Move<'_> {
    /// Copies everything and has it on disk.
    async fn copy_all(&mut self, moved: &(dyn Fn(u64) + Sync)) -> Result<u64> {
        let writeback = &self.ops.writeback;
        writeback.cut(self.file, &self.to, 0, self.session).await?;
        let copied = match self.copy(moved).await {
            Ok(bytes) => self.sync().await.map(|()| bytes),
            Err(error) => Err(error),
        };
        if copied.is_err()
            && let Err(error) = writeback.cut(self.file, &self.to, 0, self.session).await
        {
            tracing::info!(inode = %self.file.inode, %error, "a copy that is not needed stays; nyala fsck finds it");
        }
        copied
    }

    async fn copy(&mut self, moved: &(dyn Fn(u64) + Sync)) -> Result<u64> {
        let (mut at, mut bytes) = (0, 0);
        while let Some(data) = self.data_behind(at).await? {
            at = data.end;
            let mut pieces = JoinSet::new();
            let mut from = data.start;
            while from < data.end || !pieces.is_empty() {
                if self.ops.delegations.lock(self.file.inode).is_going(self.file.inode) {
                    return Err(in_use());
                }
                while from < data.end && pieces.len() < AT_ONCE {
                    let piece = from..data.end.min((from / PIECE + 1) * PIECE);
                    from = piece.end;
                    pieces.spawn(self.copy_piece(piece));
                }
                let Some(done) = pieces.join_next().await else { continue };
                let (len, stored) = done.unwrap_or(Err(Error::ShutDown))?;
                for (index, verifier) in stored {
                    self.unsynced.record_write(index, verifier);
                }
                bytes += len;
                moved(bytes);
            }
        }
        Ok(bytes)
    }

    /// The next range that has data.
    async fn data_behind(&self, at: u64) -> Result<Option<Range<u64>>> {
        if at >= self.size {
            return Ok(None);
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
        let (from, to) = (self.from.clone(), self.to.clone());
        async move {
            let data = ops.fetch(inode, &from, range.clone()).await?;
            let (mut at, mut stored) = (range.start, Vec::new());
            for bytes in data.into_pieces() {
                let mut left = bytes;
                while !left.is_empty() {
                    let Some(extent) = to.extents(at, left.len() as u64).next() else { break };
                    let part = left.split_to(extent.len.min(MAX_UNIT) as usize);
                    at += part.len() as u64;
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

fn in_use() -> Error {
    Error::refused(ErrorCode::BUSY, "others use the file; try again when they have closed it")
}

// SPDX-License-Identifier: Apache-2.0

//! Copying from one file to another, by the storage targets themselves where a piece of both lies on the same one.
//!
//! **Failure model.** Either file may be used by others at the same time: each piece is copied under both delegations, which
//! are taken in the order of inodes so that two copies never wait for each other. A failed copy may have copied a part.

use crate::delegation::admission::{Access, Admission};
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::handle::FileHandle;
use crate::file::ops::FileOps;
use crate::file::state::File;
use crate::file::write::write;
use crate::rpc::bound::Bound;
use crate::rpc::storage::ChunkRange;
use nyala_transport::wall_clock;
use nyala_wire::meta::MAX_FILE_BYTES;
use nyala_wire::storage::{ChunkFileId, MAX_IO_BYTES, StorageOp, WriteVerifier};
use nyala_wire::{DataLocation, ErrorCode, Layout, SessionId};
use std::sync::Arc;

/// Most bytes that one step copies through the client.
const STEP: u64 = 1 << 20;

/// What one target can copy at once: index and offset in either file's chunk file, and how much.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    from: (u16, u64),
    to: (u16, u64),
    len: u64,
}

/// The first piece of a copy, if both its ends lie on the same target.
fn piece(from: &Layout, from_offset: u64, to: &Layout, offset: u64, len: u64) -> Option<Piece> {
    let len = len.min(u64::from(MAX_IO_BYTES));
    let (a, b) = (from.extents(from_offset, len).next()?, to.extents(offset, len).next()?);
    // Members of a mirror group would have to copy at the same moment; a target may have lost its part of encoded data.
    let single = matches!(from.location(a.index), DataLocation::Target(_)) && from.encoded().is_none();
    let same = single && from.location(a.index) == to.location(b.index);
    let len = a.len.min(b.len);
    same.then_some(Piece { from: (a.index, a.chunk_offset), to: (b.index, b.chunk_offset), len })
}

impl FileOps {
    pub(crate) async fn copy_range(
        self: &Arc<FileOps>,
        from: &FileHandle,
        from_offset: u64,
        to: &FileHandle,
        offset: u64,
        len: u64,
    ) -> Result<u64> {
        if offset.checked_add(len).is_none_or(|end| end > MAX_FILE_BYTES) || from_offset.checked_add(len).is_none() {
            return Err(Error::refused(ErrorCode::FILE_TOO_BIG, "no file can be that long"));
        }
        let same = from.inode() == to.inode();
        if same && from_offset < offset + len && offset < from_offset + len {
            return Err(Error::refused(ErrorCode::INVALID, "the ranges overlap"));
        }
        self.writeback.flush_now(from.file()).await?;
        self.writeback.flush_now(to.file()).await?;
        let mut done = 0;
        while done < len {
            let copied =
                match self.copy_on_target(from.file(), from_offset + done, to.file(), offset + done, len - done).await?
                {
                    Some(copied) => copied,
                    None => {
                        let step = self.step(from.file(), from_offset + done, to.file(), offset + done, len - done);
                        let data = from.read(from_offset + done, step as usize).await?.concat();
                        write(self, to.file(), offset + done, &data, false).await?;
                        if to.file().state.lock().migration().is_some() {
                            self.writeback.flush_now(to.file()).await?;
                        }
                        data.len() as u64
                    }
                };
            if copied == 0 {
                break;
            }
            done += copied;
        }
        self.writeback.flush_now(to.file()).await?;
        Ok(done)
    }

    /// How much goes through the client before a target may be able to help again.
    fn step(&self, from: &Arc<File>, from_offset: u64, to: &Arc<File>, offset: u64, len: u64) -> u64 {
        let in_chunk = |file: &Arc<File>, at: u64| {
            let layout = file.state.lock().layout().cloned();
            layout.and_then(|layout| layout.extents(at, STEP).next()).map_or(STEP, |extent| extent.len)
        };
        len.min(in_chunk(from, from_offset)).min(in_chunk(to, offset))
    }

    async fn both(self: &Arc<FileOps>, from: &Arc<File>, to: &Arc<File>) -> Result<(Admission, Option<Admission>)> {
        let write = Need { write: true, cached: false, patient: false };
        let read = Need { write: false, ..write };
        if from.inode == to.inode {
            return Ok((self.delegations.admit(to, write).await?, None));
        }
        // In order: who waits for the second may keep others from the first.
        if from.inode < to.inode {
            let first = self.delegations.admit(from, read).await?;
            Ok((self.delegations.admit(to, write).await?, Some(first)))
        } else {
            let first = self.delegations.admit(to, write).await?;
            Ok((first, Some(self.delegations.admit(from, read).await?)))
        }
    }

    /// One piece, accepted under the guard of what is written to; `None` if it has to go through the client.
    async fn copy_on_target(
        self: &Arc<FileOps>,
        from: &Arc<File>,
        from_offset: u64,
        to: &Arc<File>,
        offset: u64,
        len: u64,
    ) -> Result<Option<u64>> {
        let (first, second) = self.both(from, to).await?;
        if first.access != Access::Cached || second.as_ref().is_some_and(|second| second.access != Access::Cached) {
            return Ok(None);
        }
        self.writeback.cut_leftovers(to, &(offset..offset), first.session).await?;
        let (source, left) = {
            let state = from.state.lock();
            if state.is_inline() || !state.is_clean() {
                return Ok(None);
            }
            (state.layout().cloned(), state.size().saturating_sub(from_offset))
        };
        if left == 0 {
            return Ok(Some(0));
        }
        let sink = {
            // What is still on its way there could arrive later.
            let (state, end) = (to.state.lock(), offset + len);
            let flying = state.written().is_flying(&(offset..end));
            let quiet = !flying && state.written().dirty().overlapping(offset..end).next().is_none();
            let settled = quiet && !state.is_inline() && state.migration().is_none();
            state.layout().cloned().filter(|layout| settled && layout.encoded().is_none())
        };
        let (Some(source), Some(sink)) = (source, sink) else { return Ok(None) };
        let Some(piece) = piece(&source, from_offset, &sink, offset, len.min(left)) else { return Ok(None) };
        let chunk =
            ChunkRange { inode: to.inode, location: sink.location(piece.to.0), index: piece.to.0, offset: piece.to.1 };
        let op = StorageOp::Copy {
            from: ChunkFileId { inode: from.inode, index: piece.from.0 },
            from_offset: piece.from.1,
            offset: piece.to.1,
            len: piece.len as u32,
        };
        let verifier = match self.cluster.storage_change("copy data", chunk, first.session, op).await {
            Err(error) if matches!(error.code(), ErrorCode::UNKNOWN_MESSAGE | ErrorCode::NOT_SUPPORTED) => {
                return Ok(None);
            }
            other => other?,
        };
        self.copied(to, offset..offset + piece.len, (piece.to.0, verifier), first.session)?;
        Ok(Some(piece.len))
    }

    /// A target has bytes that metadata does not know of.
    fn copied(
        self: &Arc<FileOps>,
        to: &Arc<File>,
        range: std::ops::Range<u64>,
        (index, verifier): (u16, WriteVerifier),
        session: SessionId,
    ) -> Result<()> {
        let now_ms = self.ctx.now_ms();
        let mut state = to.state.lock();
        if state.session() != session {
            return Err(Bound::new(to.inode, session).lost());
        }
        state.note_write(range.clone(), wall_clock());
        state.commit_mut().add(range.end, now_ms);
        self.writeback.stored(&mut state, to.inode, index, verifier);
        let newly_active = state.activate();
        drop(state);
        if newly_active {
            self.files.activate(to);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{Pattern, TargetId};

    #[test]
    fn pieces_line_up_or_go_through_the_client() {
        let layout = |targets: &[u16]| Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: 65_536,
            targets: targets.iter().map(|&target| TargetId(target)).collect(),
            moves: 0,
            code: None,
        };
        let (one, other) = (layout(&[1, 2]), layout(&[2, 1]));
        let whole = Piece { from: (0, 0), to: (0, 0), len: 65_536 };
        assert_eq!(piece(&one, 0, &one, 0, 1 << 20), Some(whole));
        assert_eq!(piece(&one, 0, &other, 0, 1 << 20), None);
        // The second chunk of the one is where the first of the other is.
        let part = Piece { from: (1, 100), to: (0, 50), len: 1000 };
        assert_eq!(piece(&one, 65_636, &other, 50, 1000), Some(part));
        let cut = piece(&one, 65_536 + 60_000, &other, 50, 1 << 20).unwrap();
        assert_eq!(cut.len, 5536);
        assert_eq!(piece(&one, 0, &one, 0, 0), None);
    }
}

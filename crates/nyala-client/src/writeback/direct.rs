// SPDX-License-Identifier: Apache-2.0

//! Reading and writing where nothing may be kept: a file that several clients write at once.
//!
//! **Failure model.** Other clients write at the same time. What is read is as the servers have it now. What is written is
//! on its targets and committed before the call returns; inline content is merged into what others made of it
//! (`INLINE_CONFLICT`: once more). Moving inline content to storage would race with others that do the same, or already
//! write there: it is done under an exclusive delegation, or where that cannot be had under a claim
//! (`writeback::inline_migration`). A failed call may have written a part. A buffered write keeps its pages locked
//! until it is answered, so that its client cannot let go of the file; two of two clients would wait for each other for
//! ever. The server is told (`Want::PINNED`) and lets one of them go first. A write whose session ends on the way
//! fails: it is not sent under the next one (`rpc::bound`).

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::logic::inline;
use crate::file::state::{File, MAX_UNIT};
use crate::rpc::bound::Bound;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::storage::ChunkRange;
use crate::writeback::buffer::encoded;
use crate::writeback::owner::Writeback;
use bytes::Bytes;
use nyala_transport::trace::{carried, under};
use nyala_transport::wall_clock;
use nyala_wire::meta::{Commit, FileReply, MetaOp, MetaReply, PutInline, Want};
use nyala_wire::{ErrorCode, InodeId, Layout, SessionId};
use std::sync::Arc;
use tokio::task::JoinSet;

/// How a direct write was handed over.
#[derive(Clone, Copy)]
pub(crate) struct Handed {
    pub(crate) want: Want,
    /// Under which it was accepted.
    pub(crate) session: SessionId,
}

impl Handed {
    fn bound(&self, inode: InodeId) -> Bound {
        Bound::new(inode, self.session)
    }
}

impl Writeback {
    /// `pinned`: the layer above cannot forget the file before this returns.
    pub(crate) async fn write_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        offset: u64,
        data: &[u8],
        pinned: bool,
        session: SessionId,
    ) -> Result<()> {
        let end = offset + data.len() as u64;
        let want = if pinned { Want::PINNED } else { Want::NOTHING };
        let how = Handed { want, session };
        let mut asked = false;
        loop {
            self.leave_stripes_now(file).await?;
            let reply = self.cluster.look(file.inode).await?;
            // Of an unknown file nobody could say later which targets have unsynced bytes of it.
            self.delegations.learn(file, &reply);
            let Some(content) = &reply.inline else {
                if reply.layout.encoded().is_some() {
                    return Err(encoded());
                }
                self.send_direct(file, &reply.layout, offset, Bytes::copy_from_slice(data), session).await?;
                let sparse = offset > reply.attr.size || reply.attr.allocated.is_some();
                return self.commit_direct(file, end, None, sparse, how).await;
            };
            let result = if end <= u64::from(reply.inline_limit) {
                let merged = inline::merge(&content.data, std::iter::once((offset, data)));
                self.put_direct(file, content.version, merged, how).await
            } else if !asked && self.ctx.config.delegations {
                // To wait for longer would be a deadlock where this very write keeps the delegation from going back.
                let need = Need { write: true, cached: true, patient: false };
                let admission = Box::pin(self.delegations.admit_or_direct(file, need, false)).await?;
                if admission.access == Access::Cached {
                    self.write_cached(file, offset, data, session).await?;
                    return self.flush_now(file).await;
                }
                asked = true;
                continue;
            } else if content.data.is_empty() {
                self.move_direct(file, &reply, offset, data, how).await
            } else {
                self.migrate_direct(file, offset, data, how).await
            };
            match result {
                Err(error) if error.is(ErrorCode::INLINE_CONFLICT) => {}
                other => return other,
            }
        }
    }

    /// Writes `data` and moves the inline content of `reply`, if it has any, beneath it.
    pub(crate) async fn move_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        reply: &FileReply,
        offset: u64,
        data: &[u8],
        how: Handed,
    ) -> Result<()> {
        let Some(content) = &reply.inline else {
            return Err(Error::refused(ErrorCode::INLINE_CONFLICT, "the content was moved to storage meanwhile"));
        };
        let (base, end) = (&content.data[..], offset + data.len() as u64);
        // Nothing is written between them: that may be another client's by now.
        if offset <= base.len() as u64 {
            let merged = inline::merge(base, std::iter::once((offset, data)));
            self.send_direct(file, &reply.layout, 0, Bytes::from(merged), how.session).await?;
        } else {
            self.send_direct(file, &reply.layout, 0, Bytes::copy_from_slice(base), how.session).await?;
            self.send_direct(file, &reply.layout, offset, Bytes::copy_from_slice(data), how.session).await?;
        }
        // Its server forgets what may be the only copy on a disk.
        if !self.sync_moved(file, &reply.layout, base.len() as u64).await?.is_certain() {
            return Err(Error::refused(
                ErrorCode::INLINE_CONFLICT,
                "storage may have lost the content that was moved there",
            ));
        }
        self.commit_direct(file, end, Some(content.version), offset > reply.attr.size, how).await
    }

    async fn put_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        base_version: u64,
        data: Vec<u8>,
        how: Handed,
    ) -> Result<()> {
        let (inode, mtime) = (file.inode, wall_clock());
        let put = PutInline {
            inode,
            base_version,
            data: data.into(),
            mtime,
            sync: false,
            close: false,
            size: None,
            set: None,
        };
        match self
            .cluster
            .meta_bound("store a small file", MetaOp::PutInline(put), how.want, how.bound(inode))
            .await?
            .reply
        {
            MetaReply::Inline { .. } => {
                self.changed_direct(file);
                Ok(())
            }
            _ => Err(unexpected_reply("store a small file")),
        }
    }

    /// Writes to the targets; pieces side by side.
    async fn send_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        layout: &Layout,
        offset: u64,
        data: Bytes,
        session: SessionId,
    ) -> Result<()> {
        let mut writes = JoinSet::new();
        for extent in layout.extents(offset, data.len() as u64) {
            let mut done = 0;
            while done < extent.len {
                let len = (extent.len - done).min(MAX_UNIT);
                let at = (extent.file_offset + done - offset) as usize;
                let piece = data.slice(at..at + len as usize);
                let location = layout.location(extent.index);
                let (inode, chunk_offset) = (file.inode, extent.chunk_offset + done);
                let chunk = ChunkRange { inode, location, index: extent.index, offset: chunk_offset };
                let writeback = self.clone();
                let index = extent.index;
                let write = async move {
                    writeback.cluster.write_bulk(chunk, piece, session).await.map(|verifier| (index, verifier))
                };
                writes.spawn(carried(under(), write));
                done += len;
            }
        }
        self.all_stored(file, writes).await
    }

    async fn commit_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        end: u64,
        spilled: Option<u64>,
        sparse: bool,
        how: Handed,
    ) -> Result<()> {
        let (inode, mtime) = (file.inode, Some(wall_clock()));
        let commit = Commit { inode, end: Some(end), mtime, spilled, ..Commit::default() };
        match self
            .cluster
            .meta_bound("commit a file's size", MetaOp::Commit(commit), how.want, how.bound(inode))
            .await?
            .reply
        {
            MetaReply::Attr(_) => {
                let mut state = file.state.lock();
                state.commit_mut().note_usage(sparse);
                drop(state);
                self.changed_direct(file);
                Ok(())
            }
            _ => Err(unexpected_reply("commit a file's size")),
        }
    }

    /// What this client may know of the file from a delegation that it still has, formally, is old now.
    fn changed_direct(&self, file: &Arc<File>) {
        let mut shard = self.delegations.lock(file.inode);
        if let Some(cached) = shard.peek(file.inode) {
            cached.changed();
        }
        let mut state = file.state.lock();
        state.changed_direct();
    }
}

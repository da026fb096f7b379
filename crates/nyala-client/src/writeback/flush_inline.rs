// SPDX-License-Identifier: Apache-2.0

//! Making the metadata server know the content of a small file, which it keeps with the inode.
//!
//! **Failure model.** The server may have other content than ours was made from: it refuses, and the newer content is fetched
//! and own changes laid over it. A request may be done and not answered: repeated, it is refused the same way. What could
//! not be sent is dirty again. A file that was removed when nobody had it open any more needs no content.

use crate::error::{Error, Result};
use crate::file::logic::inline;
use crate::file::state::content::Content;
use crate::file::state::{File, FileState};
use crate::rpc::bound::Bound;
use crate::rpc::failure::unexpected_reply;
use crate::writeback::flush::{Flush, FlushStep};
use crate::writeback::owner::Writeback;
use bytes::Bytes;
use nyala_transport::wall_clock;
use nyala_wire::meta::{MetaOp, MetaReply, PutInline, Want};
use nyala_wire::{Attr, ErrorCode, SessionId};
use std::sync::Arc;

/// Content that is ready to be sent.
pub(crate) struct Taken<'a> {
    pub(crate) put: PutInline,
    /// Under which it was accepted.
    pub(crate) session: SessionId,
    pub(crate) sent: Sent<'a>,
}

impl Writeback {
    /// The content of an inline file, to be sent; `None` if nothing was written, or it is inline no more. The file's gate
    /// is held.
    pub(crate) fn take_inline<'a>(self: &'a Arc<Writeback>, file: &'a Arc<File>, flush: Flush) -> Option<Taken<'a>> {
        let mut state = file.state.lock();
        let Content::Inline { version, data } = state.content() else { return None };
        let (base_version, base) = (*version, data.clone());
        let extents: Vec<u64> = state.written().dirty().iter().map(|extent| extent.offset).collect();
        let departing: Vec<_> = extents.into_iter().filter_map(|offset| state.written_mut().depart(offset)).collect();
        let single_writes = departing.iter().all(|one| !one.in_pieces);
        let (ids, changes): (Vec<u64>, Vec<_>) =
            departing.into_iter().map(|one| (one.id, (one.offset, one.data))).unzip();
        let data = inline::whole(&base, &changes, single_writes);
        let (mtime, session) = (state.written().own_mtime().unwrap_or_else(wall_clock), state.session());
        let size = state.resize().map(|size| size.max(data.len() as u64));
        let set = if ids.is_empty() { None } else { state.pending_attrs_mut().depart().map(Box::new) };
        let altered = state.attrs().altered();
        drop(state);
        let Flush { sync, close, .. } = flush;
        let put = PutInline { inode: file.inode, base_version, data, mtime, sync, close, size, set };
        (!ids.is_empty()).then(|| Taken { put, session, sent: Sent { writeback: self, file, ids, altered } })
    }

    pub(crate) async fn flush_inline(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush) -> Result<FlushStep> {
        let Some(Taken { put, session, sent }) = self.take_inline(file, flush) else {
            let (inline, loaded) = {
                let state = file.state.lock();
                (state.is_inline(), state.is_loaded())
            };
            if inline && flush.sync && !loaded {
                // Others may have moved it to storage, where it has to be synced then.
                self.delegations.file_info(file).await?;
            }
            if !file.state.lock().is_inline() {
                return Ok(FlushStep::Redo);
            }
            return self.flush_nothing(file, flush).await.map(|()| FlushStep::Finished);
        };
        let data = put.data.clone();
        let bound = Bound::new(file.inode, session);
        let reply = self.cluster.meta_bound("store a small file", MetaOp::PutInline(put), Want::NOTHING, bound).await;
        match reply.map(|answer| answer.reply) {
            Ok(MetaReply::Inline { attr, version }) => {
                sent.stored(data, &attr, version);
                Ok(FlushStep::Finished)
            }
            Ok(_) => Err(unexpected_reply("store a small file")),
            Err(error) if error.is(ErrorCode::INLINE_CONFLICT) => {
                drop(sent);
                self.delegations.file_info(file).await?;
                Ok(FlushStep::Redo)
            }
            Err(error) => sent.failed(error).map(|()| FlushStep::Finished),
        }
    }
}

/// Inline bytes on their way to metadata; dirty again if dropped before they are over.
pub(crate) struct Sent<'a> {
    writeback: &'a Arc<Writeback>,
    file: &'a Arc<File>,
    ids: Vec<u64>,
    altered: u64,
}

impl Sent<'_> {
    /// The server has them, as this version.
    pub(crate) fn stored(self, data: Bytes, attr: &Attr, version: u64) {
        let (file, writeback, altered) = (self.file, self.writeback, self.altered);
        let mut state = file.state.lock();
        self.over(&mut state);
        state.pending_attrs_mut().arrived();
        state.pushed_inline(version, data);
        state.take_sent_attr(attr, altered, writeback.ctx.now_ms());
        state.settle();
    }

    /// They are given up. That is no failure where there is no such file any more and nobody has it open.
    pub(crate) fn failed(self, source: Error) -> Result<()> {
        let file = self.file;
        let mut state = file.state.lock();
        let end = state.written().own_end();
        self.over(&mut state);
        state.pending_attrs_mut().arrived();
        state.settle();
        if matches!(source.code(), ErrorCode::STALE | ErrorCode::NOT_FOUND) && state.open().handles() == 0 {
            state.attrs_mut().invalidate();
            return Ok(());
        }
        Err(Error::WriteBack { inode: file.inode, offset: 0, end, source: Box::new(source) })
    }

    fn over(mut self, state: &mut FileState) {
        let ids = std::mem::take(&mut self.ids);
        self.writeback.with_bytes(state, |state| {
            for id in ids {
                state.written_mut().end_flight(id);
            }
        });
        self.file.changed.notify_waiters();
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            let mut state = self.file.state.lock();
            let ids = std::mem::take(&mut self.ids);
            state.pending_attrs_mut().take_back();
            self.writeback
                .with_bytes(&mut state, |state| ids.into_iter().for_each(|id| state.written_mut().take_back(id)));
        }
    }
}

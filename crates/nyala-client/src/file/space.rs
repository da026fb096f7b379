// SPDX-License-Identifier: Apache-2.0

//! Size and holes: truncate, fallocate, SEEK_DATA and SEEK_HOLE.
//!
//! **Failure model.** Own data is pushed first, so that no late write undoes a truncate or fills a hole again. What is
//! sent to several targets may have happened on some of them only when an error is returned; all of it can be repeated.

use crate::delegation::admission::{Access, Admission};
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::empty::empty;
use crate::file::encode;
use crate::file::logic::minimal_acl;
use crate::file::ops::{FileOps, NO_SUCH_ADDRESS};
use crate::file::state::File;
use crate::file::state::content::Content;
use crate::file::state::pending_attrs::can_wait;
use crate::file::write::move_back;
use crate::rpc::bound::{Bound, UNBOUND};
use crate::rpc::failure::unexpected_reply;
use crate::rpc::storage::ChunkRange;
use crate::writeback::flush::Flush;
use nyala_transport::trace::{carried, under};
use nyala_transport::wall_clock;
use nyala_wire::meta::{Commit, DelegationMode, MAX_FILE_BYTES, MetaOp, MetaReply, SetAttr, Want};
use nyala_wire::storage::{StorageOp, StorageReply};
use nyala_wire::{Attr, ErrorCode, InodeId, Layout, SessionId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinSet;

const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;
const ZERO_RANGE: i32 = 16;

impl FileOps {
    /// Changes attributes; a new size or modification time comes after everything this client wrote before.
    pub(crate) async fn setattr(self: &Arc<FileOps>, inode: InodeId, set: SetAttr) -> Result<Attr> {
        if set.size.is_none() {
            return self.setattr_as_it_is(inode, set).await;
        }
        let using = Using { ops: self, file: self.files.acquire(inode) };
        let _locked = using.file.move_lock.to_change().await;
        match self.setattr_as_it_is(inode, set.clone()).await {
            Err(error) if error.is(ErrorCode::NOT_SUPPORTED) => {
                // Encoded, and somebody else may have done that.
                self.delegations.file_info(&using.file).await?;
                if set.size == Some(0)
                    && let Some(attr) = empty(self, &using.file, &set).await?
                {
                    return Ok(attr);
                }
                encode::make_writable_locked(self, &using.file).await?;
                self.setattr_as_it_is(inode, set).await
            }
            done => done,
        }
    }

    async fn setattr_as_it_is(self: &Arc<FileOps>, inode: InodeId, set: SetAttr) -> Result<Attr> {
        // The rest may be done again under another session: it says what is to be, not what was written.
        let session = if set.size.is_some() { self.cluster.accepting(inode) } else { UNBOUND };
        let mut bound = Bound { fresh: true, ..Bound::new(inode, session) };
        let known = self.files.acquire_known(inode);
        let Some(file) = known else { return self.setattr_plain(bound, set).await };
        let using = Using { ops: self, file };
        let file = &using.file;
        if !file.state.lock().is_known() {
            return self.setattr_plain(bound, set).await;
        }
        if let Some(attr) = self.set_with_content(file, &set) {
            return Ok(attr);
        }
        // Waits for other clients: what these wait for must not be in its way, so the file's gate is not held, and
        // nothing is written meanwhile.
        let _no_writes = set.size.is_some().then(|| Truncating::begin(file));
        let first = {
            let state = file.state.lock();
            !state.pending_attrs().is_settled() || ((set.size.is_some() || set.mtime.is_some()) && !state.is_clean())
        };
        if first {
            let _gate = file.pass_gate(&self.ctx).await?;
            // why ignored: the failure is kept with the file for its handles; the caller asked for something else.
            let _ = self.writeback.flush(file, Flush::default()).await;
            bound.fresh = false;
        }
        self.setattr_known(file, bound, set).await
    }

    /// What is set goes with the file's content where that is not sent yet.
    fn set_with_content(&self, file: &File, set: &SetAttr) -> Option<Attr> {
        let shard = self.delegations.lock(file.inode);
        if shard.mode(file.inode, self.ctx.now_ms()) != DelegationMode::Exclusive {
            return None;
        }
        // Who takes the delegation away locks the shard first, and then sends what there is.
        let mut state = file.state.lock();
        let waits = state.has_unsent_inline();
        let mut attr = state.attrs().valid().filter(|_| waits)?.clone();
        state.overlay(&mut attr, true);
        if !can_wait(set, &attr) {
            return None;
        }
        state.pending_attrs_mut().add(set, wall_clock());
        state.overlay(&mut attr, true);
        Some(attr)
    }

    /// The same of an access control list that says no more than a mode; whether it goes with the content.
    pub(crate) fn set_acl_with_content(&self, inode: InodeId, name: &[u8], value: &[u8]) -> bool {
        let set = || {
            let (mode, file) = (minimal_acl::mode(name, value)?, self.files.get(inode)?);
            let perm = file.state.lock().known_attr()?.perm & !0o777 | mode;
            self.set_with_content(&file, &SetAttr { perm: Some(perm), ..SetAttr::default() })
        };
        set().is_some()
    }

    async fn setattr_plain(self: &Arc<FileOps>, bound: Bound, set: SetAttr) -> Result<Attr> {
        let inode = bound.inode;
        let change = self.delegations.begin_change(&[inode], &[]);
        let op = MetaOp::SetAttr { inode, set };
        let answer = self.cluster.meta_bound("set attributes", op, self.cluster.want(), bound).await?;
        let MetaReply::Attr(attr) = &answer.reply else { return Err(unexpected_reply("set attributes")) };
        let mut attr = attr.clone();
        change.done(&answer, &mut attr);
        Ok(attr)
    }

    pub(super) async fn setattr_known(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        bound: Bound,
        set: SetAttr,
    ) -> Result<Attr> {
        let (size, inode) = (set.size, file.inode);
        let change = self.delegations.begin_change(&[inode], &[]);
        let generation = file.state.lock().generation();
        let op = MetaOp::SetAttr { inode, set };
        let answer = self.cluster.meta_bound("set attributes", op, self.cluster.want(), bound).await?;
        let MetaReply::Attr(attr) = &answer.reply else { return Err(unexpected_reply("set attributes")) };
        let mut attr = attr.clone();
        drop(change);
        let mut shard = self.delegations.lock(inode);
        self.delegations.granted(&mut shard, inode, &answer, answer.grants.inodes);
        let mut state = file.state.lock();
        let now_ms = self.ctx.now_ms();
        let undisturbed = generation == state.generation();
        if let Some(size) = size {
            state.truncated(size, &attr, undisturbed, now_ms);
        } else if undisturbed {
            state.take_attr(&attr, now_ms);
        } else {
            // What was sent in the background was answered meanwhile, with attributes of before or after: ask again.
            state.attrs_mut().invalidate();
        }
        state.overlay(&mut attr, undisturbed || size.is_some());
        Ok(attr)
    }

    pub(crate) async fn fallocate(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        mode: i32,
        offset: u64,
        len: u64,
    ) -> Result<()> {
        let end = offset.checked_add(len).filter(|end| *end <= MAX_FILE_BYTES);
        let end = end.ok_or(Error::refused(ErrorCode::FILE_TOO_BIG, "no file can be that long"))?;
        if len == 0 {
            return Err(Error::refused(ErrorCode::INVALID, "the range is empty"));
        }
        let zeroes = match mode & !KEEP_SIZE {
            0 => false,
            PUNCH_HOLE if mode & KEEP_SIZE != 0 => true,
            ZERO_RANGE => true,
            _ => return Err(Error::refused(ErrorCode::NOT_SUPPORTED, "this fallocate mode is not supported")),
        };
        let (admission, layout, size) = self.admit_to_allocate(file).await?;
        let inline = file.state.lock().is_inline();
        if zeroes {
            self.zero(file, &layout, inline, offset..end.min(size), admission.session).await?;
        } else if !inline {
            let op = |range: Range<u64>| StorageOp::Allocate { offset: range.start, len: range.end - range.start };
            self.on_targets("allocate", file, &layout, offset..end, admission.session, op).await?;
        }
        {
            if !inline {
                file.state.lock().commit_mut().note_usage(true);
            }
        }
        // Its own: it may wait for others, which may wait for this one's delegation.
        drop(admission);
        if mode & KEEP_SIZE == 0 && end > size {
            self.setattr(file.inode, SetAttr { size: Some(end), ..SetAttr::default() }).await?;
        }
        Ok(())
    }

    /// Waits until what is written is at the servers, and the data where it can be written to; where that is, and the file's size.
    async fn admit_to_allocate(self: &Arc<FileOps>, file: &Arc<File>) -> Result<(Admission, Arc<Layout>, u64)> {
        loop {
            let need = Need { write: true, cached: true, patient: true };
            let admission = self.delegations.admit(file, need).await?;
            {
                let _gate = file.pass_gate(&self.ctx).await?;
                self.writeback.flush(file, Flush::default()).await?;
                if admission.access == Access::Timed {
                    self.delegations.file_info(file).await?;
                }
            }
            let (layout, size) = {
                let state = file.state.lock();
                let layout =
                    state.layout().cloned().ok_or(Error::Protocol { what: "allocate", detail: "no layout" })?;
                (layout, state.size())
            };
            if layout.encoded().is_none() {
                return Ok((admission, layout, size));
            }
            drop(admission);
            move_back(self, file).await?;
        }
    }

    /// Makes a range read as zeros; the file's size stays.
    async fn zero(
        self: &Arc<FileOps>,
        file: &Arc<File>,
        layout: &Layout,
        inline: bool,
        range: Range<u64>,
        session: SessionId,
    ) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        if inline {
            let data_end = match file.state.lock().content() {
                Content::Inline { data, .. } => range.end.min(data.len() as u64),
                _ => range.start,
            };
            if range.start < data_end {
                self.write_zeros(file, range.start..data_end, session).await?;
                self.writeback.flush_now(file).await?;
            }
            return Ok(());
        }
        let op = |range: Range<u64>| StorageOp::Punch { offset: range.start, len: range.end - range.start };
        let punched = self.on_targets("punch a hole", file, layout, range.clone(), session, op).await;
        file.state.lock().cache_mut().remove(range);
        punched?;
        let mtime = Some(wall_clock());
        let inode = file.inode;
        let commit = Commit { inode, mtime, ..Commit::default() };
        let (op, bound) = (MetaOp::Commit(commit), Bound::new(inode, session));
        let (generation, altered) = {
            let state = file.state.lock();
            (state.generation(), state.attrs().altered())
        };
        let MetaReply::Attr(attr) = self.cluster.meta_bound("commit a hole", op, Want::NOTHING, bound).await?.reply
        else {
            return Err(unexpected_reply("commit a hole"));
        };
        let mut state = file.state.lock();
        state.punched(&attr, generation, altered, self.ctx.now_ms());
        Ok(())
    }

    /// Buffers zeros for a range of inline content.
    async fn write_zeros(self: &Arc<FileOps>, file: &Arc<File>, range: Range<u64>, session: SessionId) -> Result<()> {
        let zeros = vec![0; (range.end - range.start) as usize];
        self.writeback.memory.take(zeros.len(), || self.writeback.reclaim()).await;
        let mut state = file.state.lock();
        if state.session() != session {
            drop(state);
            self.writeback.memory.give_back(zeros.len());
            return Err(Bound::new(file.inode, session).lost());
        }
        let before = state.written().dirty().bytes();
        let stamp = state.written_mut().stamp();
        state.written_mut().insert(range.start, &zeros, self.ctx.now_ms(), stamp);
        state.written_mut().note_write_within(wall_clock());
        let grown = state.written().dirty().bytes() - before;
        drop(state);
        self.writeback.memory.give_back(zeros.len() - grown);
        Ok(())
    }

    /// Does something to the part of every chunk file that a range of the file covers.
    async fn on_targets(
        self: &Arc<FileOps>,
        what: &'static str,
        file: &Arc<File>,
        layout: &Layout,
        range: Range<u64>,
        session: SessionId,
        op: impl Fn(Range<u64>) -> StorageOp,
    ) -> Result<()> {
        // The parts of a range in one chunk file are back to back.
        let mut parts: BTreeMap<u16, Range<u64>> = BTreeMap::new();
        for extent in layout.extents(range.start, range.end - range.start) {
            let end = extent.chunk_offset + extent.len;
            let part = parts.entry(extent.index).or_insert(extent.chunk_offset..end);
            part.end = end;
        }
        let mut calls = JoinSet::new();
        for (index, part) in parts {
            let chunk = ChunkRange { inode: file.inode, location: layout.location(index), index, offset: 0 };
            let (ops, op) = (self.clone(), op(part));
            let call = async move {
                ops.cluster.storage_change(what, chunk, session, op).await.map(|verifier| (index, verifier))
            };
            calls.spawn(carried(under(), call));
        }
        self.writeback.all_stored(file, calls).await
    }

    pub(crate) async fn seek(self: &Arc<FileOps>, file: &Arc<File>, offset: u64, hole: bool) -> Result<u64> {
        let behind = || Error::refused(NO_SUCH_ADDRESS, "behind the end of the file or of its data");
        if !file.state.lock().is_clean() {
            self.writeback.flush_now(file).await?;
        }
        let reply = self.cluster.fetch_file_info(file.inode).await?;
        let (layout, size) = (Arc::new(reply.layout.clone()), reply.attr.size);
        if offset >= size {
            return Err(behind());
        }
        if let Some(content) = &reply.inline {
            let end = (content.data.len() as u64).min(size);
            return match hole {
                true => Ok(end.max(offset)),
                false if offset < end => Ok(offset),
                false => Err(behind()),
            };
        }
        if layout.encoded().is_some() {
            // All of it counts as data: a target that would know of a hole may be away.
            return Ok(if hole { size } else { offset });
        }
        let mut asks = JoinSet::new();
        for index in layout.indices() {
            let chunk = ChunkRange { inode: file.inode, location: layout.location(index), index, offset: 0 };
            let (ops, start) = (self.clone(), first_at(&layout, chunk.index, offset));
            asks.spawn(async move {
                let op = StorageOp::Seek { offset: start, hole };
                ops.cluster.storage_op("seek", chunk, op).await.map(|reply| (chunk.index, start, reply))
            });
        }
        let mut best: Option<u64> = None;
        while let Some(answer) = asks.join_next().await {
            let (index, start, reply) = answer.unwrap_or(Err(Error::ShutDown))?;
            let StorageReply::Offset(found) = reply else { return Err(unexpected_reply("seek")) };
            // No data behind the start: a hole begins there.
            let found = if hole { Some(found.unwrap_or(start).max(start)) } else { found };
            let at = found.map(|at| layout.file_offset(index, at));
            best = best.into_iter().chain(at).min();
        }
        match best {
            Some(at) if at < size => Ok(at.max(offset)),
            _ if hole => Ok(size),
            _ => Err(behind()),
        }
    }
}

/// A user of a file; given back when dropped.
struct Using<'a> {
    ops: &'a FileOps,
    file: Arc<File>,
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.ops.files.release(&self.file);
    }
}

/// Keeps writes to a file waiting.
struct Truncating<'a>(&'a File);

impl Truncating<'_> {
    fn begin(file: &File) -> Truncating<'_> {
        file.state.lock().begin_truncate();
        Truncating(file)
    }
}

impl Drop for Truncating<'_> {
    fn drop(&mut self) {
        self.0.state.lock().end_truncate();
        self.0.news.notify_waiters();
    }
}

/// The first byte of a chunk file that lies at or behind `offset` of the file.
fn first_at(layout: &Layout, index: u16, offset: u64) -> u64 {
    let (chunk, width) = (u64::from(layout.chunk_bytes), layout.targets.len() as u64);
    let number = offset / chunk;
    let mine = number + (layout.stripe(index) + width - number % width) % width;
    mine / width * chunk + if mine == number { offset % chunk } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{Pattern, TargetId};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_byte_at_or_behind(width in 1_u16..6, offset in 0_u64..3_000_000) {
            let targets = (1..=width).map(TargetId).collect();
            let layout = Layout { pattern: Pattern::Raid0, chunk_bytes: 65_536, targets, moves: 0, code: None };
            for index in 0..width {
                let at = first_at(&layout, index, offset);
                prop_assert!(layout.file_offset(index, at) >= offset);
                prop_assert!(at == 0 || layout.file_offset(index, at - 1) < offset);
            }
        }
    }
}

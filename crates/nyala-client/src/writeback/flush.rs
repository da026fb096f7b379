// SPDX-License-Identifier: Apache-2.0

//! Making the servers know everything about a file: data out, then size and time, then on disk or closed if asked.
//!
//! **Failure model.** Metadata may have other inline content than ours was made from (another client wrote): the newer
//! content is fetched and own changes laid over it. It may lose power at any moment after it was told that inline content moved
//! to storage, and storage too: that is on disk there before (`writeback::sync`). A commit that could not be sent is
//! kept and sent with the next push. What failed for good is kept as a failure of the file, for each handle to report
//! once.

use crate::error::{Error, Result};
use crate::file::state::commit::Uncommitted;
use crate::file::state::migration::InlineMigration;
use crate::file::state::stripes::Stripes;
use crate::file::state::{File, FileState};
use crate::rpc::bound::Bound;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::storage::ChunkRange;
use crate::writeback::logic::ranges::RangeSet;
use crate::writeback::owner::Writeback;
use crate::writeback::stripe_write::target_away;
use crate::writeback::sync::Synced;
use nyala_transport::wall_clock;
use nyala_wire::meta::{Commit, EncodedData, MetaOp, MetaReply, Owner, Want};
use nyala_wire::storage::{StorageOp, StorageReply};
use nyala_wire::{ErrorCode, Layout, SessionId, Time};
use std::sync::Arc;
use tokio::task::JoinSet;

/// What a commit says beside a file's size and time, and the session that all of it was accepted under.
struct CommitFacts {
    /// Inline content of this version moved to storage.
    spilled: Option<u64>,
    allocated: Option<u64>,
    /// What was written in whole stripes, and is on disk.
    encoded: Option<EncodedData>,
    session: SessionId,
}

/// With these a server says that it does not take data that was written encoded.
const NOT_TAKEN: [ErrorCode; 6] = [
    ErrorCode::AGAIN,
    ErrorCode::BUSY,
    ErrorCode::INVALID,
    ErrorCode::STALE,
    ErrorCode::NOT_SUPPORTED,
    ErrorCode::UNAUTHORIZED,
];

/// What a push is for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flush {
    /// On disk when it returns.
    pub(crate) sync: bool,
    /// The session no longer holds the file open.
    pub(crate) close: bool,
    /// Somebody waits, and is to see afterwards how much the file takes.
    pub(crate) exact: bool,
}

pub(crate) enum FlushStep {
    Finished,
    /// The file's content moved under us: look again.
    Redo,
    /// The same, since a target lost what was written to it.
    Lost(Error),
}

/// How much inline content is on its way to storage.
fn moved(state: &FileState) -> Option<(Arc<Layout>, u64)> {
    Some((state.layout().cloned()?, state.migration()?.base_len()))
}

impl Writeback {
    /// The file's gate is held by the caller. Failures are kept with the file as well.
    pub(crate) async fn flush(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush) -> Result<()> {
        let mut lost = Ok(());
        let result = loop {
            let inline = file.state.lock().is_inline();
            if !inline && let Err(error) = self.flush_attrs(file).await {
                break Err(error);
            }
            let step =
                if inline { self.flush_inline(file, flush).await } else { self.flush_striped(file, flush).await };
            match step {
                Ok(FlushStep::Finished) => {
                    if flush.close {
                        file.state.lock().open_mut().unregister();
                    }
                    break lost;
                }
                Ok(FlushStep::Redo) => {}
                Ok(FlushStep::Lost(error)) => lost = Err(error),
                Err(error) => break Err(error),
            }
        };
        let result = match result {
            Ok(()) if flush.sync => self.cluster.confirm(file.inode).await,
            result => result,
        };
        result.inspect_err(|error| self.flush_failed(file, error))
    }

    /// Attributes that were to go with inline content which has moved to storage meanwhile.
    async fn flush_attrs(self: &Arc<Writeback>, file: &Arc<File>) -> Result<()> {
        let (set, session) = {
            let mut state = file.state.lock();
            (state.pending_attrs_mut().depart(), state.session())
        };
        let Some(set) = set else { return Ok(()) };
        let _under_way = Setting(file);
        let (inode, bound) = (file.inode, Bound::new(file.inode, session));
        let sent = self.cluster.meta_bound("set attributes", MetaOp::SetAttr { inode, set }, Want::PINNED, bound).await;
        {
            let mut state = file.state.lock();
            state.pending_attrs_mut().arrived();
            state.attrs_mut().invalidate();
        }
        sent.map(drop)
    }

    /// Keeps a failure for every handle to report once. Of a file that its server does not know any more nothing is sent again.
    fn flush_failed(&self, file: &Arc<File>, error: &Error) {
        if error.is(ErrorCode::STALE) {
            let mut state = file.state.lock();
            self.with_bytes(&mut state, |state| state.discard());
            drop(state);
            file.changed.notify_waiters();
        }
        file.fail(error.clone());
    }

    /// Nothing to tell but that the file is closed, or to be on disk.
    pub(crate) async fn flush_nothing(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush) -> Result<()> {
        let inode = file.inode;
        if flush.sync {
            let commit = Commit { inode, sync: true, close: flush.close, ..Commit::default() };
            self.cluster.meta("sync a file", MetaOp::Commit(commit), Owner::default()).await?;
        } else if flush.close {
            self.cluster.meta_done("close a file", MetaOp::Close { inode }).await?;
        }
        Ok(())
    }

    async fn flush_striped(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush) -> Result<FlushStep> {
        self.drain(file).await;
        if file.state.lock().stripes().writing().is_some() {
            return self.flush_stripes(file, flush).await;
        }
        while self.is_migration_failed(file)? {
            self.drain(file).await;
        }
        let moved = moved(&file.state.lock());
        let synced = match &moved {
            _ if flush.sync => match self.sync_targets(file).await? {
                Some(synced) => synced,
                None => {
                    self.delegations.file_info(file).await?;
                    return Ok(FlushStep::Redo);
                }
            },
            Some((layout, len)) => self.sync_moved(file, layout, *len).await?,
            None => Synced::default(),
        };
        if moved.is_some() && !synced.is_certain() {
            return self.retry_migration(file, synced).await;
        }
        if let Some(lost) = synced.lost {
            return Err(lost);
        }
        let exact = flush.exact || flush.sync || flush.close;
        let allocated = if exact { self.allocated(file).await } else { None };
        let facts = {
            let state = file.state.lock();
            let spilled = state.migration().map(InlineMigration::version);
            let tell = state.commit().is_pending() || spilled.is_some() || allocated.is_some();
            tell.then_some(CommitFacts { spilled, allocated, encoded: None, session: state.session() })
        };
        match facts {
            Some(facts) => self.commit(file, flush, facts).await,
            None => self.flush_nothing(file, flush).await.map(|()| FlushStep::Finished),
        }
    }

    /// The same of a file that is written in whole stripes. Where its server or a target does not take them they are moved back.
    async fn flush_stripes(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush) -> Result<FlushStep> {
        let Some((synced, session)) = self.sync_stripes(file).await else { return self.leave_stripes(file).await };
        let facts = {
            let state = file.state.lock();
            let spilled = state.migration().map(InlineMigration::version);
            let tell = state.commit().is_pending() || spilled.is_some();
            tell.then_some(CommitFacts { spilled, allocated: None, encoded: Some(synced), session })
        };
        let Some(facts) = facts else { return self.flush_nothing(file, flush).await.map(|()| FlushStep::Finished) };
        match self.commit(file, flush, facts).await {
            Ok(FlushStep::Redo) => self.leave_stripes(file).await,
            Err(error) if NOT_TAKEN.iter().any(|code| error.is(*code)) => {
                tracing::info!(inode = %file.inode, %error, "a file that was written encoded is mirrored first");
                self.leave_stripes(file).await
            }
            done => done,
        }
    }

    /// What is stored of whole stripes is on disk; `None`: it may not be.
    async fn sync_stripes(self: &Arc<Writeback>, file: &Arc<File>) -> Option<(EncodedData, SessionId)> {
        let (layout, end, syncing, session) = {
            let mut state = file.state.lock();
            let (layout, session) = (state.layout()?.clone(), state.session());
            let stripes = state.stripes_mut().writing_mut().filter(|stripes| !stripes.has_failed())?;
            (layout, stripes.stored(), stripes.begin_sync(), session)
        };
        let synced = tokio::select! {
            synced = self.sync_indices(file.inode, &layout, &syncing.indices) => synced,
            error = target_away(self, &layout) => Err(error),
        };
        if synced.as_ref().is_ok_and(Synced::is_certain) {
            return Some((EncodedData { layout: (*layout).clone(), end }, session));
        }
        if let Err(error) = synced {
            tracing::warn!(inode = %file.inode, %error, "whole stripes were not synced; the file is mirrored instead");
        }
        if let Some(stripes) = file.state.lock().stripes_mut().writing_mut() {
            stripes.not_synced(syncing);
        }
        None
    }

    /// What is stored of whole stripes, and is to be told, is; the gate is held.
    pub(crate) async fn commit_stripes(self: &Arc<Writeback>, file: &Arc<File>) {
        if file.state.lock().stripes().writing().is_none_or(Stripes::has_failed) {
            return;
        }
        let done = self.flush_stripes(file, Flush::default()).await;
        if let Err(error) = done {
            self.flush_failed(file, &error);
        }
    }

    /// What is written past this client's memory does not go where whole stripes are on their way.
    pub(super) async fn leave_stripes_now(self: &Arc<Writeback>, file: &Arc<File>) -> Result<()> {
        let is_live = |file: &File| {
            let state = file.state.lock();
            state.stripes().is_choosing() || state.stripes().writing().is_some()
        };
        if !is_live(file) {
            return Ok(());
        }
        let _gate = file.pass_gate(&self.ctx).await?;
        let choosing = file.choosing.lock().await;
        if file.state.lock().stripes().is_choosing() {
            file.state.lock().stripes_mut().decline();
            file.changed.notify_waiters();
        }
        drop(choosing);
        match is_live(file) {
            true => self.leave_stripes(file).await.map(drop),
            false => Ok(()),
        }
    }

    /// Whole stripes that nobody took go where the file can be written to.
    async fn leave_stripes(self: &Arc<Writeback>, file: &Arc<File>) -> Result<FlushStep> {
        if let Some(stripes) = file.state.lock().stripes_mut().writing_mut() {
            stripes.failed();
        }
        let left = match self.moves_back() {
            Some(moves_back) => moves_back.leave_stripes(file.clone()).await,
            None => Err(Error::ShutDown),
        };
        left.map(|()| FlushStep::Redo).inspect_err(|_| {
            let mut state = file.state.lock();
            if !state.stripes().has_failed() {
                // Dropped already, with its session.
                return;
            }
            state.unload();
            self.with_bytes(&mut state, |state| state.discard());
            // Parts that nobody waits for any more may come late under the names that the next choice would have.
            state.stripes_mut().decline();
            drop(state);
            file.changed.notify_waiters();
        })
    }

    /// Storage may have lost inline content that was moved there: its server has it still, and it is laid under what is
    /// there again.
    async fn retry_migration(self: &Arc<Writeback>, file: &Arc<File>, synced: Synced) -> Result<FlushStep> {
        if synced.lost.is_some() {
            let mut state = file.state.lock();
            let mut own = RangeSet::default();
            state.written().dirty().iter().for_each(|extent| own.insert(extent.range()));
            if let Some(migration) = state.migration_mut() {
                migration.set_own(own);
            }
        }
        self.migrate_again(file).await?;
        Ok(synced.lost.map_or(FlushStep::Redo, FlushStep::Lost))
    }

    /// Whether inline content could not be written to storage: then its server's copy is the only one, and what was written
    /// on top is lost. `true`: ask again when nothing is under way.
    fn is_migration_failed(&self, file: &Arc<File>) -> Result<bool> {
        let mut state = file.state.lock();
        if !state.migration().is_some_and(InlineMigration::is_failed) {
            return Ok(false);
        }
        if !state.written().in_flight().is_empty() {
            return Ok(true);
        }
        state.unload();
        self.with_bytes(&mut state, |state| state.discard());
        let why = state.failures().after(0).cloned();
        Err(why.unwrap_or(Error::Protocol { what: "move inline content", detail: "it failed without a reason" }))
    }

    /// How much the file takes on its targets, if that may have changed and differ from its size.
    async fn allocated(self: &Arc<Writeback>, file: &Arc<File>) -> Option<u64> {
        let layout = {
            let mut state = file.state.lock();
            if !state.commit_mut().take_usage_due() {
                return None;
            }
            state.layout().cloned()?
        };
        let mut asks = JoinSet::new();
        for index in layout.indices() {
            let location = layout.location(index);
            let (writeback, chunk) = (self.clone(), ChunkRange { inode: file.inode, location, index, offset: 0 });
            asks.spawn(async move {
                writeback.cluster.storage_op("ask how much a file takes", chunk, StorageOp::Stat).await
            });
        }
        let mut sum = 0;
        while let Some(answer) = asks.join_next().await {
            let Ok(Ok(StorageReply::Stat { blocks, .. })) = answer else {
                // It is only a figure: next time.
                file.state.lock().commit_mut().usage_not_told();
                return None;
            };
            sum += blocks * 512;
        }
        Some(sum)
    }

    /// Tells metadata about data that storage has.
    async fn commit(self: &Arc<Writeback>, file: &Arc<File>, flush: Flush, facts: CommitFacts) -> Result<FlushStep> {
        let CommitFacts { spilled, allocated, encoded, session } = facts;
        let bound = Bound::new(file.inode, session);
        let upto = encoded.as_ref().map(|encoded| encoded.end);
        let (under_way, mtime) = Committing::begin(file, bound, upto.unwrap_or(u64::MAX))?;
        let said = under_way.uncommitted.map(|uncommitted| uncommitted.end);
        let wrote = said.is_some() || spilled.is_some();
        let end = said.filter(|_| upto.is_none());
        let mtime = mtime.or_else(|| wrote.then(wall_clock));
        let Flush { sync, close, .. } = flush;
        let commit =
            Commit { inode: file.inode, end, mtime, spilled, sync, close, allocated, encoded: encoded.map(Box::new) };
        // Who commits holds the file's gate, for which a delegation on its way back waits: two that both may read would wait for
        // each other's (`Want::PINNED`).
        let reply = self.cluster.meta_bound("commit a file's size", MetaOp::Commit(commit), Want::PINNED, bound).await;
        let attr = match reply.map(|answer| answer.reply) {
            Ok(MetaReply::Attr(attr)) if upto.is_some_and(|upto| attr.size < upto) => {
                drop(under_way);
                tracing::info!(inode = %file.inode, "its server is older, and takes no files that were written encoded");
                return Ok(FlushStep::Redo);
            }
            Ok(MetaReply::Attr(attr)) => attr,
            other => {
                drop(under_way);
                return match other {
                    Err(error) if spilled.is_some() && error.is(ErrorCode::INLINE_CONFLICT) => {
                        self.migrate_again(file).await?;
                        Ok(FlushStep::Redo)
                    }
                    Err(error) => Err(error),
                    Ok(_) => Err(unexpected_reply("commit a file's size")),
                };
            }
        };
        let mut state = file.state.lock();
        if spilled.is_some() {
            state.end_migration();
        }
        if upto.is_some() {
            state.stripes_mut().acknowledged();
        }
        state.take_sent_attr(&attr, under_way.altered, self.ctx.now_ms());
        under_way.over(&mut state);
        state.settle();
        Ok(FlushStep::Finished)
    }

    /// Size and time of a long write that goes on; the gate is held. A spilling file waits for a real push.
    pub(crate) async fn commit_so_far(self: &Arc<Writeback>, file: &Arc<File>) {
        let due = {
            let state = file.state.lock();
            let due = state.migration().is_none() && state.commit().is_pending() && !state.is_inline();
            due.then_some(CommitFacts { spilled: None, allocated: None, encoded: None, session: state.session() })
        };
        if let Some(facts) = due
            && let Err(error) = self.commit(file, Flush::default(), facts).await
        {
            self.flush_failed(file, &error);
        }
    }

    /// Another client changed the inline content that we moved to storage: move the newer content, under our own writes.
    async fn migrate_again(self: &Arc<Writeback>, file: &Arc<File>) -> Result<()> {
        let reply = self.cluster.fetch_file_info(file.inode).await?;
        let Some(newer) = &reply.inline else {
            file.state.lock().end_migration();
            return Ok(());
        };
        let room = newer.data.len() + nyala_wire::StripePattern::MAX_INLINE_BYTES as usize;
        self.memory.take(room, || self.reclaim()).await;
        let mut state = file.state.lock();
        let before = state.written().dirty().bytes();
        let now_ms = self.ctx.now_ms();
        if let Some(migration) = state.migration_mut() {
            let new_len = newer.data.len() as u64;
            let mut base = newer.data.to_vec();
            base.resize(new_len.max(migration.base_len()) as usize, 0);
            let gaps = migration.own().gaps(0..base.len() as u64);
            migration.rebase(newer.version, new_len);
            for gap in gaps {
                let stamp = state.written_mut().stamp();
                state.written_mut().insert(gap.start, &base[gap.start as usize..gap.end as usize], now_ms, stamp);
            }
        }
        let grown = state.written().dirty().bytes() - before;
        drop(state);
        self.memory.give_back(room - grown);
        Ok(())
    }
}

/// Attributes on their way by themselves; they wait again if this is dropped before they are over.
struct Setting<'a>(&'a File);

impl Drop for Setting<'_> {
    fn drop(&mut self) {
        self.0.state.lock().pending_attrs_mut().take_back();
    }
}

/// A commit under way. The file is not clean meanwhile: a truncate that overtook it would be undone by it, and a delegation that
/// was returned before it would let somebody else append where the file does not end. What it was to say is still to be
/// said if it is dropped before it is over.
struct Committing<'a> {
    file: &'a File,
    uncommitted: Option<Uncommitted>,
    session: SessionId,
    altered: u64,
    over: bool,
}

impl<'a> Committing<'a> {
    /// The file's gate is held: there is one at a time. Also when this client last wrote.
    fn begin(file: &'a File, bound: Bound, upto: u64) -> Result<(Committing<'a>, Option<Time>)> {
        let mut state = file.state.lock();
        if state.session() != bound.session {
            return Err(bound.lost());
        }
        let uncommitted = state.commit_mut().begin_upto(upto);
        let altered = state.attrs().altered();
        Ok((
            Committing { file, uncommitted, session: bound.session, altered, over: false },
            state.written().own_mtime(),
        ))
    }

    fn over(mut self, state: &mut FileState) {
        self.over = true;
        state.commit_mut().finish();
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut state = self.file.state.lock();
        state.commit_mut().finish();
        // What a session that has ended would have said is never said.
        if let Some(uncommitted) = self.uncommitted.filter(|_| state.session() == self.session) {
            state.commit_mut().put_back(uncommitted);
        }
    }
}

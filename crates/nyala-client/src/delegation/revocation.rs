// SPDX-License-Identifier: Apache-2.0

//! Letting delegations go: asked by the server, for want of room, or because the server was silent or restarted.
//!
//! **Failure model.** The layer above may be unable to forget before operations that wait here are through: after
//! [`INVALIDATION_TIMEOUT`] they go through keeping nothing, and it is asked again. What was written may not reach the
//! servers: that is kept as the file's failure, and the delegation goes back all the same. A return may be lost: it is
//! repeated until the server has it; until then operations on the inode wait. The last byte of a file that the layer above may take for shorter than
//! it is may not be had, or take longer than [`INVALIDATION_TIMEOUT`]: then the layer above is made to forget without it.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::delegation::logic::delegations::Revoked;
use crate::file::locks::LockBook;
use crate::file::ops::FileOps;
use crate::file::state::{File, FileState};
use crate::file::table::Table;
use crate::listener::{CacheListener, INVALIDATION_TIMEOUT, Withdraw};
use crate::rpc::cluster::Cluster;
use crate::rpc::session::{CarriedOver, Session};
use crate::writeback::flush::Flush;
use crate::writeback::owner::Writeback;
use nyala_wire::meta::{DelegationMode, MAX_DELEGATIONS, MetaOp, Returned, Revocation};
use nyala_wire::{InodeId, SessionId, TargetId};
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long a server that was restarted, and with it all other clients, waits for delegations that have to go.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks at what is still held then.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Delegations of a server that go at the same time when all have to, before [`DRAIN_TIMEOUT`].
const MAX_CONCURRENT_RETURNS: usize = 256;

/// The owner of what happens when delegations go.
pub(crate) struct Revocations {
    pub(super) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    pub(super) delegations: Arc<DelegationCache>,
    writeback: Arc<Writeback>,
    ops: Arc<FileOps>,
    pub(super) locks: Arc<LockBook>,
    /// Inodes whose delegations were lost, for the layer above to forget.
    forgotten: Mutex<Vec<InodeId>>,
}

impl Revocations {
    pub(crate) fn new(
        ctx: Arc<Context>,
        cluster: Arc<Cluster>,
        files: Arc<Table>,
        delegations: Arc<DelegationCache>,
        ops: Arc<FileOps>,
        locks: Arc<LockBook>,
    ) -> Revocations {
        let writeback = ops.writeback.clone();
        Revocations { ctx, cluster, files, delegations, writeback, ops, locks, forgotten: Mutex::default() }
    }

    fn news(&self, inode: InodeId) {
        if let Some(file) = self.files.get(inode) {
            file.news.notify_waiters();
        }
    }

    /// The server wants delegations back, of the session called `id`.
    pub(crate) fn revoked(self: &Arc<Revocations>, session: &Arc<Session>, id: SessionId, list: &[Revocation]) {
        for revocation in list {
            let Revocation { inode, keep, seq } = *revocation;
            let found = self.delegations.lock(inode).revoke(inode, session.target, keep, seq, self.ctx.now_ms());
            match found {
                Revoked::Started => {
                    self.ctx.stats.revocations.add(1);
                    let revocations = self.clone();
                    tokio::spawn(async move { revocations.let_go(inode, true).await });
                }
                Revoked::NotHeld => {
                    let keep = self.holds(inode).min(keep);
                    session.give_back(id, Returned { inode, keep, seq, open: false })
                }
                Revoked::UnderWay => {}
            }
        }
    }

    fn holds(&self, inode: InodeId) -> DelegationMode {
        self.delegations.lock(inode).mode(inode, self.ctx.now_ms())
    }

    /// This client itself wants a delegation gone, also one that was on its way back in part.
    pub(super) fn revoke_wholly(&self, inode: InodeId, target: TargetId) -> Revoked {
        let mut shard = self.delegations.lock(inode);
        let seq = shard.seq(inode);
        shard.revoke(inode, target, DelegationMode::None, seq, self.ctx.now_ms())
    }

    /// The server was restarted: everything that it lent goes, and what was written under that is committed. Others wait for that
    /// meanwhile; so what takes longer, since a storage target is away, goes on by itself, and is what this returns.
    pub(crate) async fn let_all_go(self: &Arc<Revocations>, session: &Session) -> CarriedOver {
        let (target, id) = (session.target, session.id());
        let mut going = JoinSet::new();
        let mut begun = 0;
        // From here on no move of inline content begins under a claim of before.
        self.writeback.migrations.lock().end_run(target, session.boot());
        let since = Instant::now();
        // Not yet begun. Looked for again only when it is empty: with many delegations a look at all takes a while.
        let mut next = Vec::new();
        let carried = loop {
            if next.is_empty() {
                let is_empty;
                (next, is_empty) = self.still_of(target);
                let moving = self.writeback.migrations.lock().of(target, id);
                if is_empty && moving.is_empty() {
                    break CarriedOver::default();
                }
                if since.elapsed() >= DRAIN_TIMEOUT && next.is_empty() {
                    let kept = self.carry_over(target);
                    if kept.len().max(moving.len()) <= MAX_DELEGATIONS && kept.is_empty() == is_empty {
                        break CarriedOver { kept, moving };
                    }
                }
            }
            // Those that wait for a target that is away must not keep the others from going.
            let most = if since.elapsed() < DRAIN_TIMEOUT { MAX_CONCURRENT_RETURNS } else { MAX_DELEGATIONS };
            for inode in next.drain(next.len() - next.len().min(most.saturating_sub(going.len()))..) {
                begun += 1;
                if self.revoke_wholly(inode, target) == Revoked::Started {
                    let revocations = self.clone();
                    going.spawn(async move { revocations.let_go(inode, false).await });
                }
            }
            // Those that were on their way back before, too.
            match going.is_empty() {
                true => tokio::time::sleep(DRAIN_POLL_INTERVAL).await,
                false => drop(tokio::time::timeout(DRAIN_POLL_INTERVAL, going.join_next()).await),
            }
            while going.try_join_next().is_some() {}
        };
        going.detach_all();
        let (kept, moving) = (carried.kept.len(), carried.moving.len());
        tracing::info!(delegations = begun, kept, moving, %target, "a metadata server was restarted: its delegations are returned");
        carried
    }

    /// Delegations of a server that are not on their way back, and whether there are none at all.
    fn still_of(&self, target: TargetId) -> (Vec<InodeId>, bool) {
        let all = self.delegations.shards().lock_all();
        let held = all.iter().flat_map(|shard| shard.of_server(target)).collect();
        (held, !all.iter().any(|shard| shard.has_of_server(target)))
    }

    /// What is still held of an earlier run of the server is named to it; nothing if some is not on its way back, which has
    /// to come first.
    fn carry_over(&self, target: TargetId) -> Vec<Returned> {
        let mut all = self.delegations.shards().lock_all();
        if all.iter().any(|shard| !shard.of_server(target).is_empty()) {
            return Vec::new();
        }
        all.iter_mut().flat_map(|shard| shard.carry_over(target)).collect()
    }

    fn what(&self, inode: InodeId) -> Withdraw {
        // The kind is not known here; forgetting what is not kept costs nothing.
        let names =
            self.delegations.lock(inode).peek(inode).is_some_and(|cached| cached.weight() > 0 || cached.is_dir());
        let file = self.files.get(inode).is_some_and(|file| file.state.lock().is_known());
        Withdraw { attrs: true, entries: names || !file, data: file || !names }
    }

    /// Waits until nothing that was admitted is in the way.
    async fn idle(&self, inode: InodeId, file: Option<&Arc<File>>) {
        loop {
            let Some(file) = file else { return };
            let news = file.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if !self.delegations.lock(inode).is_busy(inode) {
                return;
            }
            news.await;
        }
    }

    /// Says to a layer above how a file ends, if it may take it for shorter: who is just told to forget a size may go on with an older one.
    async fn note_end(&self, listener: &dyn CacheListener, inode: InodeId, file: Option<&Arc<File>>) {
        let Some(file) = file else { return };
        let size = {
            let state = file.state.lock();
            state.is_loaded().then(|| state.size())
        };
        let Some(size) = size.filter(|size| *size > 0 && listener.lacks_end(inode, *size)) else { return };
        let end = tokio::time::timeout(INVALIDATION_TIMEOUT, self.ops.end_at(file, size)).await;
        let Ok(Ok(Some(end))) = end else { return };
        let held = self.delegations.lock(inode).holds(inode, self.ctx.now_ms());
        if matches!(held, DelegationMode::Shared | DelegationMode::Exclusive) {
            listener.note_end(inode, end);
        }
    }

    /// The layer above forgets; through the gate goes whatever it may be waiting for.
    async fn withdraw(self: &Arc<Revocations>, inode: InodeId, file: Option<&Arc<File>>) {
        let Some(listener) = self.delegations.listener() else { return };
        loop {
            self.idle(inode, file).await;
            self.note_end(&*listener, inode, file).await;
            let forgets = listener.withdraw(inode, self.what(inode));
            tokio::pin!(forgets);
            tokio::select! {
                biased;
                () = &mut forgets => {}
                () = tokio::time::sleep(INVALIDATION_TIMEOUT) => {
                    self.delegations.lock(inode).open_gate(inode);
                    self.news(inode);
                    forgets.await;
                }
            }
            if !self.delegations.lock(inode).close_gate(inode) {
                return;
            }
        }
    }

    /// Brings a delegation back that is being revoked. `tell`: the server is waiting to hear of it.
    pub(crate) async fn let_go(self: &Arc<Revocations>, inode: InodeId, tell: bool) {
        let file = self.files.acquire_known(inode);
        loop {
            let Some(keep) = self.delegations.lock(inode).keeps(inode) else { break };
            if keep == DelegationMode::None && self.delegations.lock(inode).covers(inode) {
                self.withdraw(inode, file.as_ref()).await;
            }
            self.idle(inode, file.as_ref()).await;
            if let Some(file) = &file {
                self.flush_dirty(file).await;
            }
            if self.give_up(inode, keep, file.as_ref(), tell) {
                break;
            }
        }
        if let Some(file) = file {
            self.files.release(&file);
        }
    }

    async fn flush_dirty(self: &Arc<Revocations>, file: &Arc<File>) {
        // A close on its way would undo what the return says of a file that was opened again.
        let waits = |state: &FileState| !state.is_clean() || state.open().is_reopened();
        while waits(&file.state.lock()) {
            let Ok(_gate) = file.pass_gate(&self.ctx).await else { break };
            if self.writeback.flush(file, Flush::default()).await.is_err() {
                // Kept with the file; what could not be sent is dropped or sent later by the push itself.
                break;
            }
        }
    }

    /// `false`: more is wanted meanwhile, or something was written.
    pub(super) fn give_up(
        self: &Arc<Revocations>,
        inode: InodeId,
        keep: DelegationMode,
        file: Option<&Arc<File>>,
        tell: bool,
    ) -> bool {
        let (session, id, returned, carried) = {
            let mut shard = self.delegations.lock(inode);
            if shard.keeps(inode).is_none() || shard.is_returning(inode) {
                return true;
            }
            let busy = |state: &FileState| state.commit().is_committing() || state.open().is_reopened();
            if file.is_some_and(|file| busy(&file.state.lock()))
                || shard.is_busy(inode)
                || shard.keeps(inode) != Some(keep)
            {
                return false;
            }
            let carried = shard.is_carried_over(inode);
            let Some((target, seq)) = shard.give_up(inode, keep) else { return false };
            let mut open = false;
            if let Some(file) = file
                && keep == DelegationMode::None
            {
                let mut state = file.state.lock();
                state.unload();
                open = state.open().is_implicit();
                if open {
                    state.open_mut().register();
                }
            }
            // Under the lock: the delegation is of the session as it is called now.
            let session = self.cluster.session(target);
            let id = session.id();
            (session, id, Returned { inode, keep, seq, open }, carried)
        };
        if tell || returned.open || carried {
            session.give_back(id, returned);
        } else {
            self.is_returned(inode);
        }
        true
    }

    /// The server knows.
    fn is_returned(self: &Arc<Revocations>, inode: InodeId) {
        let more = self.delegations.lock(inode).returned(inode);
        if self.delegations.delegation(inode) == DelegationMode::None {
            self.files.drop_idle(inode);
        }
        self.news(inode);
        if more {
            let revocations = self.clone();
            tokio::spawn(async move { revocations.let_go(inode, true).await });
        }
    }

    /// Tells a server, for ever, what is returned.
    pub(crate) async fn tell_returns(revocations: Weak<Revocations>, session: Arc<Session>) {
        loop {
            let (id, delegations) = session.next_returns(MAX_DELEGATIONS).await;
            let inodes: Vec<InodeId> = delegations.iter().map(|returned| returned.inode).collect();
            let op = MetaOp::DelegationReturn { delegations };
            loop {
                let Some(revocations) = revocations.upgrade().filter(|revocations| !revocations.ctx.is_stopped())
                else {
                    return;
                };
                match revocations.cluster.meta_under("return delegations", op.clone(), &session, id).await {
                    Ok(true) => break inodes.iter().for_each(|inode| revocations.is_returned(*inode)),
                    // They were lost with it.
                    Ok(false) => break,
                    Err(error) => {
                        tracing::warn!(target = %session.target, %error, "delegations could not be returned yet")
                    }
                }
                drop(revocations);
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// The session is gone, and all delegations with it: what was written under them and not sent is lost.
    pub(crate) fn lost(self: &Arc<Revocations>, session: &Session, goes_on_as: SessionId) {
        let target = session.target;
        let inodes = {
            // All of them: what is given up or granted meanwhile is of one session or the other.
            let mut all = self.delegations.shards().lock_all();
            session.go_on_as(goes_on_as);
            if !self.ctx.config.delegations {
                return;
            }
            self.cluster.sessions_lost.fetch_add(1, Ordering::AcqRel);
            all.iter_mut().flat_map(|shard| shard.remove_all_of_server(target)).collect::<Vec<InodeId>>()
        };
        let view = self.cluster.maps.view();
        for file in self.files.all() {
            if view.map.slot_target(file.inode.slot()) == Some(target) {
                self.discard(&file);
            }
        }
        for inode in &inodes {
            self.news(*inode);
            self.files.drop_idle(*inode);
        }
        self.forgotten.lock().extend(inodes);
        self.ctx.poke();
    }

    /// Drops what this client wrote and could not send while it still had the right to.
    fn discard(&self, file: &Arc<File>) {
        let mut state = file.state.lock();
        state.unload();
        state.unbind();
        if state.is_clean() {
            return;
        }
        self.writeback.with_bytes(&mut state, |state| state.discard());
        drop(state);
        file.fail(crate::error::Error::DelegationLost { inode: file.inode });
        file.changed.notify_waiters();
    }

    /// Delegations that were lost: the layer above forgets what it kept. Runs on the client's own thread.
    pub(crate) fn withdraw_forgotten(self: &Arc<Revocations>) {
        let inodes = std::mem::take(&mut *self.forgotten.lock());
        let Some(listener) = self.delegations.listener().filter(|_| !inodes.is_empty()) else { return };
        let all = Withdraw { attrs: true, entries: true, data: true };
        tokio::spawn(async move {
            let mut going = JoinSet::new();
            for inode in inodes {
                if going.len() >= MAX_CONCURRENT_RETURNS {
                    going.join_next().await;
                }
                let listener = listener.clone();
                going.spawn(async move { listener.withdraw(inode, all).await });
            }
            while going.join_next().await.is_some() {}
        });
    }
}

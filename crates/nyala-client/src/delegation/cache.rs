// SPDX-License-Identifier: Apache-2.0

//! The delegation cache: delegations held, and what is cached under them. Shared by all threads of a client.
//!
//! **Failure model.** A reply may predate a local change or a revocation: it answers the call that asked and is not cached.
//! Lock order: delegation cache, file state, table of files; what servers have acknowledged comes last.

use crate::context::Context;
use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::delegations::Delegations;
use crate::delegation::logic::generations::{Generations, Noted};
use crate::delegation::logic::open_predictor::OpenPredictor;
use crate::error::Result;
use crate::file::state::File;
use crate::file::table::Table;
use crate::rpc::cluster::Cluster;
use crate::rpc::meta::MetaAnswer;
use crate::rpc::session::Session;
use crate::types::{CacheListener, INVALIDATION_TIMEOUT};
use nyala_wire::meta::{DelegationMode, FileReply};
use nyala_wire::{Attr, FileKind, InodeId};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct CacheState {
    pub(crate) held: Delegations<CachedInode>,
    pub(crate) generations: Generations,
    /// Names cached in all directories; an upper bound, recounted when it exceeds the limit.
    pub(crate) names: usize,
    pub(crate) predictor: OpenPredictor,
}

pub(crate) struct DelegationCache {
    pub(super) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    cache: Mutex<CacheState>,
    /// An inode with several names was seen: removing a name whose inode is not known may invalidate cached state.
    pub(crate) links_seen: AtomicBool,
    listener: RwLock<Option<Arc<dyn CacheListener>>>,
}

/// The cache's generations when a request was sent; decides whether its reply may be cached.
#[derive(Clone, Copy, Default)]
pub(crate) struct Note {
    /// The inode that was asked about, if it was known.
    inode: Option<InodeId>,
    noted: Noted,
    stamp: Option<u64>,
    file_generation: Option<u64>,
    /// Reading of the eviction clock.
    evictions: u64,
}

impl DelegationCache {
    pub(crate) fn new(ctx: Arc<Context>, cluster: Arc<Cluster>, files: Arc<Table>) -> DelegationCache {
        let (cache, links_seen, listener) = (Mutex::default(), AtomicBool::new(false), RwLock::default());
        DelegationCache { ctx, cluster, files, cache, links_seen, listener }
    }

    pub(crate) fn listener(&self) -> Option<Arc<dyn CacheListener>> {
        self.listener.read().clone()
    }

    pub(crate) fn set_listener(&self, listener: Arc<dyn CacheListener>) {
        *self.listener.write() = Some(listener);
    }

    /// How long a layer above may keep things: less than the time after which a silent server's delegations are no good.
    pub(crate) fn delegation_time(&self) -> Duration {
        let shortest = self.cluster.all_sessions().iter().map(|session| session.timeout_ms()).min();
        Duration::from_millis(u64::from(shortest.unwrap_or(30_000) / 3))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.cache.lock()
    }
}

impl Note {
    /// No local change of unknown inodes was under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.noted.is_some()
    }

    fn holds_by_generation(&self, cache: &CacheState, inode: InodeId) -> bool {
        let slot = Generations::slot(inode);
        match self.inode {
            Some(known) => known == inode && cache.generations.same(slot, self.noted),
            None => cache.generations.same_unknown(slot, self.noted),
        }
    }
}

fn permits_caching(mode: DelegationMode) -> bool {
    matches!(mode, DelegationMode::Shared | DelegationMode::Exclusive)
}

impl CacheState {
    /// The cached inode, to add to: if its delegation came with this reply, or was held since the request was sent.
    pub(crate) fn cacheable(
        &mut self,
        inode: InodeId,
        stamp: Option<u64>,
        granted: bool,
        now_ms: u64,
    ) -> Option<&mut CachedInode> {
        let all_the_time = stamp.is_some() && stamp == self.held.stamp(inode);
        if granted || all_the_time { self.held.cached(inode, now_ms) } else { None }
    }

    /// Evicts names, least recently used directories first, until half the limit is left.
    pub(crate) fn bound_names(&mut self, limit: usize) {
        if self.names <= limit {
            return;
        }
        let oldest: Vec<InodeId> = self.held.oldest().collect();
        let weight = |cache: &mut CacheState, inode| cache.held.peek(inode).map_or(0, |cached| cached.weight());
        self.names = oldest.iter().map(|inode| weight(self, *inode)).sum();
        for inode in oldest {
            if self.names <= limit / 2 {
                break;
            }
            let weight = weight(self, inode);
            if let Some(cached) = self.held.peek(inode).filter(|_| weight > 0) {
                cached.drop_names();
                self.names -= weight;
            }
        }
    }
}

impl DelegationCache {
    /// Before asking about an inode.
    pub(crate) fn note(&self, inode: InodeId) -> Note {
        self.note_in(&self.lock(), inode)
    }

    pub(crate) fn note_in(&self, cache: &CacheState, inode: InodeId) -> Note {
        let (file, evictions) = self.files.note(Some(inode));
        let file_generation = file.map(|file| file.state.lock().generation());
        let noted = cache.generations.note(Generations::slot(inode));
        Note { inode: Some(inode), noted, stamp: cache.held.stamp(inode), file_generation, evictions }
    }

    /// Before asking about inodes whose numbers are not known yet.
    pub(crate) fn note_all(&self) -> Note {
        self.note_all_in(&self.lock())
    }

    pub(crate) fn note_all_in(&self, cache: &CacheState) -> Note {
        Note { noted: cache.generations.note_unknown(), evictions: self.files.note(None).1, ..Note::default() }
    }

    /// Whether no local change since the request was sent concerns the inode, and its file was not evicted meanwhile.
    fn is_true_yet(&self, note: &Note, cache: &CacheState, inode: InodeId) -> bool {
        note.holds_by_generation(cache, inode) && !self.files.evicted_since(inode, note.evictions)
    }

    /// Takes in the grant, if any, that came with a reply. A file whose delegation is a new one has to be loaded under it.
    pub(crate) fn granted(
        &self,
        cache: &mut CacheState,
        inode: InodeId,
        answer: &MetaAnswer,
        mode: DelegationMode,
    ) -> bool {
        let before = cache.held.stamp(inode);
        let same_session = answer.sessions_lost == self.cluster.sessions_lost.load(Ordering::Acquire);
        let mode = if same_session { mode } else { DelegationMode::None };
        let took = cache.held.grant(inode, answer.target, answer.boot, mode, answer.grants.seq);
        if before != cache.held.stamp(inode)
            && let Some(file) = self.files.get(inode)
        {
            file.state.lock().unload();
        }
        took
    }

    /// Caches attributes from a reply, and overlays local changes that were not sent yet.
    pub(crate) fn take_attr(&self, answer: &MetaAnswer, note: &Note, attr: &mut Attr) {
        let mut cache = self.lock();
        self.take_attr_in(&mut cache, answer, note, attr);
    }

    pub(crate) fn take_attr_in(&self, cache: &mut CacheState, answer: &MetaAnswer, note: &Note, attr: &mut Attr) {
        let now_ms = self.ctx.now_ms();
        let granted = self.granted(cache, attr.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, cache, attr.inode);
        if attr.nlink > 1 && attr.kind != FileKind::Directory {
            self.links_seen.store(true, Ordering::Relaxed);
        }
        if let Some(file) = self.files.get(attr.inode) {
            let mut state = file.state.lock();
            if state.is_known() {
                let legacy = !self.ctx.config.delegations;
                let usable = same && (legacy || permits_caching(cache.held.holds(attr.inode, now_ms)));
                // Of a listing nobody can say whether it is older than what was sent of this file.
                let generation = note.file_generation.filter(|_| usable);
                if let Some(generation) = generation {
                    let foreign = state.attrs().known().is_some_and(|old| old.mtime != attr.mtime);
                    state.install_attr(attr, generation, now_ms);
                    if legacy && foreign && state.is_inline() {
                        // The content may have changed too, and came not with this reply.
                        state.attrs_mut().invalidate();
                    }
                }
                state.overlay(attr, generation.is_some());
                return;
            }
        }
        if same && let Some(cached) = cache.cacheable(attr.inode, note.stamp, granted, now_ms) {
            cached.attr = Some(attr.clone());
        }
    }

    /// Takes in all attributes of an answer.
    pub(crate) fn take_attrs<'a>(&self, answer: &MetaAnswer, note: &Note, attrs: impl Iterator<Item = &'a mut Attr>) {
        let mut cache = self.lock();
        attrs.for_each(|attr| self.take_attr_in(&mut cache, answer, note, attr));
    }

    /// Takes in a file reply and the delegation that came with it. Returns whether the file is loaded under a delegation.
    pub(crate) fn take_file(&self, answer: &MetaAnswer, note: &Note, file: &Arc<File>, reply: &FileReply) -> bool {
        self.take_file_in(&mut self.lock(), answer, note, file, reply)
    }

    pub(crate) fn take_file_in(
        &self,
        cache: &mut CacheState,
        answer: &MetaAnswer,
        note: &Note,
        file: &Arc<File>,
        reply: &FileReply,
    ) -> bool {
        let now_ms = self.ctx.now_ms();
        let granted = self.granted(cache, file.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, cache, file.inode);
        let all_the_time = note.stamp.is_some() && note.stamp == cache.held.stamp(file.inode);
        let held = (granted || all_the_time) && permits_caching(cache.held.holds(file.inode, now_ms));
        if held && let Some(cached) = cache.held.cached(file.inode, now_ms) {
            cached.attr = None;
        }
        let mut state = file.state.lock();
        // A file that was in nobody's hands before has nothing of its own that could be older.
        let generation =
            note.file_generation.unwrap_or(if state.layout().is_none() { state.generation() } else { u64::MAX });
        let fresh = generation == state.generation();
        if !state.is_loaded() {
            self.cluster.note_reloaded(answer, file.inode);
        }
        state.install(reply, generation, now_ms);
        if held && same && fresh {
            state.note_leftovers(reply.leftovers == Some(true));
            state.load(answer.session);
        } else if !same {
            state.attrs_mut().invalidate();
        }
        state.is_loaded()
    }

    /// Attributes that are valid without asking the server.
    pub(crate) fn cached_attr(&self, inode: InodeId) -> Option<Attr> {
        if !self.ctx.config.delegations {
            return None;
        }
        let mut cache = self.lock();
        let cached = cache.held.cached(inode, self.ctx.now_ms())?;
        match self.files.get(inode) {
            Some(file) if file.state.lock().is_known() => {
                let state = file.state.lock();
                let mut attr = state.attrs().valid()?.clone();
                state.overlay(&mut attr, true);
                Some(attr)
            }
            _ => cached.attr.clone(),
        }
    }

    /// A part of a cached inode that is valid without asking the server.
    pub(crate) fn cached<T>(&self, inode: InodeId, get: impl FnOnce(&CachedInode) -> Option<T>) -> Option<T> {
        if !self.ctx.config.delegations {
            return None;
        }
        get(self.lock().held.cached(inode, self.ctx.now_ms())?)
    }

    /// Caches what a reply without grants said, if the delegation was held all the time and nothing changed locally.
    pub(crate) fn remember(&self, note: &Note, put: impl FnOnce(&mut CachedInode)) {
        let now_ms = self.ctx.now_ms();
        let mut cache = self.lock();
        if let Some(inode) = note.inode.filter(|inode| self.is_true_yet(note, &cache, *inode))
            && let Some(cached) = cache.cacheable(inode, note.stamp, false, now_ms)
        {
            put(cached);
        }
    }

    /// A local change of an inode's attributes begins or ends. The delegation cache may be locked.
    pub(crate) fn alters(&self, inode: InodeId) {
        if let Some(file) = self.files.get(inode) {
            file.state.lock().attrs_mut().alters();
        }
    }

    /// The delegation to report to callers: none while it is being returned.
    pub(crate) fn delegation(&self, inode: InodeId) -> DelegationMode {
        if !self.ctx.config.delegations {
            return DelegationMode::None;
        }
        self.lock().held.mode(inode, self.ctx.now_ms())
    }

    /// Learns the file's size, times and inline content anew.
    pub(crate) async fn file_info(self: &Arc<DelegationCache>, file: &Arc<File>) -> Result<()> {
        let generation = file.state.lock().generation();
        let reply = self.cluster.fetch_file_info(file.inode).await?;
        file.state.lock().install(&reply, generation, self.ctx.now_ms());
        Ok(())
    }

    /// The same if what is known is older than the cache time.
    pub(crate) async fn freshen(self: &Arc<DelegationCache>, file: &Arc<File>) -> Result<()> {
        let now_ms = self.ctx.now_ms();
        {
            let mut state = file.state.lock();
            if state.attrs().is_fresh(now_ms, self.ctx.cache_ms()) {
                return Ok(());
            }
            // Others that come meanwhile go on with what is known.
            state.attrs_mut().assume_fresh(now_ms);
        }
        let fresh = self.file_info(file).await;
        if fresh.is_err() {
            file.state.lock().attrs_mut().invalidate();
        }
        fresh
    }

    /// Before a write goes through an open gate: what the layer above has behind it is forgotten already, as the
    /// withdrawal may be waiting for the write itself, and the server may let others wait no longer for that.
    pub(crate) async fn withdraw_behind(&self, file: &Arc<File>, from: u64) {
        if !self.lock().held.is_gate_open(file.inode) {
            return;
        }
        let Some(listener) = self.listener() else { return };
        // why ignored: in the way is another write, which the server hears of too.
        let _ = tokio::time::timeout(INVALIDATION_TIMEOUT, listener.withdraw_behind(file.inode, from)).await;
    }

    /// The server answered under this session: it keeps its promises for a while.
    pub(crate) fn renew_delegations(&self, session: &Session) {
        if self.ctx.config.delegations {
            self.lock().held.renew(session.target, session.good_until_ms());
        }
    }

    /// Delegations of this run of the server count from now on.
    pub(crate) fn set_boot(&self, session: &Session, boot: u64) {
        self.lock().held.set_boot(session.target, boot);
        session.set_boot(boot);
    }
}

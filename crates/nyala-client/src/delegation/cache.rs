// SPDX-License-Identifier: Apache-2.0

//! The delegation cache: delegations held, and what is cached under them. Shared by all threads of a client.
//!
//! **Failure model.** A reply may predate a local change or a revocation: it answers the call that asked and is not cached.
//! Whether it does is asked, and what it says is cached, under the lock of the inode's shard and that of the generations
//! together, so that no local change begins in between. A change that has begun forgets what is cached under the shard's lock:
//! what a reply put there just before goes too.
//!
//! Lock order: shards (`delegation::shards`), generations, file state, table of files; what servers have acknowledged comes
//! last. The predictor's lock is held with no other.

use crate::context::Context;
use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::generations::{Generations, Noted};
use crate::delegation::logic::open_predictor::OpenPredictor;
use crate::delegation::logic::use_order;
use crate::delegation::shards::{Locked, Shard, Shards};
use crate::error::Result;
use crate::file::state::{File, leftovers};
use crate::file::table::Table;
use crate::listener::{CacheListener, INVALIDATION_TIMEOUT};
use crate::rpc::cluster::Cluster;
use crate::rpc::meta::MetaAnswer;
use crate::rpc::session::Session;
use nyala_wire::meta::{DelegationMode, FileReply};
use nyala_wire::{Attr, FileKind, InodeId};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct DelegationCache {
    pub(super) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    shards: Shards,
    generations: Mutex<Generations>,
    predictor: Mutex<OpenPredictor>,
    /// Names cached in all directories; an upper bound, recounted when it exceeds the limit.
    names: AtomicUsize,
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
        DelegationCache {
            ctx,
            cluster,
            files,
            shards: Shards::default(),
            generations: Mutex::default(),
            predictor: Mutex::default(),
            names: AtomicUsize::new(0),
            links_seen: AtomicBool::new(false),
            listener: RwLock::default(),
        }
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

    /// The delegations of an inode, and of some others.
    pub(crate) fn lock(&self, inode: InodeId) -> MutexGuard<'_, Shard> {
        self.shards.lock(inode)
    }

    /// The delegations of several inodes.
    pub(crate) fn lock_of(&self, inodes: impl IntoIterator<Item = InodeId>) -> Locked<'_> {
        self.shards.lock_of(inodes)
    }

    /// All shards, one after the other or at the same time, and what they share.
    pub(crate) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Local changes. Shards are locked before.
    pub(crate) fn generations(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock()
    }

    pub(crate) fn predictor(&self) -> MutexGuard<'_, OpenPredictor> {
        self.predictor.lock()
    }

    /// So many names are cached more. Their shard is locked, and [`DelegationCache::bound_names`] comes when it no longer is.
    pub(crate) fn added_names(&self, added: usize) {
        self.names.fetch_add(added, Ordering::Relaxed);
    }
}

impl Note {
    /// No local change of unknown inodes was under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.noted.is_some()
    }

    /// Noted before an inode was made that turned out to be this one: whatever is known of it here is newer.
    pub(super) fn of_new(self, inode: InodeId) -> Note {
        Note { inode: Some(inode), ..self }
    }

    /// Noted before a local change, to take in what its reply says; `noted` when it was over, or nothing if it was not the only one.
    pub(super) fn after_change(self, noted: Noted) -> Note {
        Note { noted, ..self }
    }

    fn holds_by_generation(&self, generations: &Generations, inode: InodeId) -> bool {
        let slot = Generations::slot(inode);
        match self.inode {
            Some(known) => known == inode && generations.same(slot, self.noted),
            None => generations.same_unknown(slot, self.noted),
        }
    }
}

fn permits_caching(mode: DelegationMode) -> bool {
    matches!(mode, DelegationMode::Shared | DelegationMode::Exclusive)
}

/// The cached inode, to add to: if its delegation came with this reply, or was held since the request was sent.
pub(crate) fn cacheable(
    shard: &mut Shard,
    inode: InodeId,
    stamp: Option<u64>,
    granted: bool,
    now_ms: u64,
) -> Option<&mut CachedInode> {
    let all_the_time = stamp.is_some() && stamp == shard.stamp(inode);
    if granted || all_the_time { shard.cached(inode, now_ms) } else { None }
}

/// Of too many things that are cached.
impl DelegationCache {
    /// Evicts names, least recently used directories first, until half the limit is left.
    pub(crate) fn bound_names(&self) {
        let limit = self.ctx.config.max_kept_entries;
        if self.names.load(Ordering::Relaxed) <= limit {
            return;
        }
        let mut all = self.shards.lock_all();
        let mut directories = Vec::new();
        for (at, shard) in all.iter_mut().enumerate() {
            let used: Vec<(u64, InodeId)> = shard.by_use().collect();
            let weighed = used
                .into_iter()
                .map(|(used, inode)| (used, inode, at, shard.peek(inode).map_or(0, |cached| cached.weight())));
            directories.extend(weighed.filter(|(.., weight)| *weight > 0));
        }
        directories.sort_unstable();
        let mut names = directories.iter().map(|(.., weight)| *weight).sum::<usize>();
        for (_, inode, at, weight) in directories {
            if names <= limit / 2 {
                break;
            }
            all[at].peek(inode).into_iter().for_each(CachedInode::drop_names);
            names -= weight;
        }
        // Who adds names has locked a shard.
        self.names.store(names, Ordering::Relaxed);
    }

    /// Delegations beyond `limit` that may go.
    pub(super) fn surplus(&self, limit: usize) -> Vec<InodeId> {
        let used: Vec<(u64, InodeId)> =
            self.shards.each().flat_map(|shard| shard.by_use().collect::<Vec<_>>()).collect();
        use_order::surplus(used, limit, |inode| !self.lock(inode).is_going(inode) && !self.files.is_used(inode))
    }
}

impl DelegationCache {
    /// Before asking about an inode.
    pub(crate) fn note(&self, inode: InodeId) -> Note {
        let shard = self.lock(inode);
        self.note_in(&shard, &self.generations(), inode)
    }

    pub(crate) fn note_in(&self, shard: &Shard, generations: &Generations, inode: InodeId) -> Note {
        let (file, evictions) = self.files.note(Some(inode));
        let file_generation = file.map(|file| file.state.lock().generation());
        let noted = generations.note(Generations::slot(inode));
        Note { inode: Some(inode), noted, stamp: shard.stamp(inode), file_generation, evictions }
    }

    /// Before asking about inodes whose numbers are not known yet.
    pub(crate) fn note_all(&self) -> Note {
        self.note_all_in(&self.generations())
    }

    /// When an inode begins to be made ([`Note::of_new`]).
    pub(super) fn note_unborn(&self, generations: &Generations) -> Note {
        Note { noted: generations.moment(), evictions: self.files.note(None).1, ..Note::default() }
    }

    /// Whether nothing changed here since the note. Shards are not locked.
    pub(crate) fn is_unchanged(&self, note: &Note, inode: InodeId) -> bool {
        self.is_true_yet(note, &self.generations(), inode)
    }

    pub(crate) fn note_all_in(&self, generations: &Generations) -> Note {
        Note { noted: generations.note_unknown(), evictions: self.files.note(None).1, ..Note::default() }
    }

    /// Whether no local change since the request was sent concerns the inode, and its file was not evicted meanwhile.
    pub(crate) fn is_true_yet(&self, note: &Note, generations: &Generations, inode: InodeId) -> bool {
        note.holds_by_generation(generations, inode) && !self.files.evicted_since(inode, note.evictions)
    }

    /// Takes in the grant, if any, that came with a reply. A file whose delegation is a new one has to be loaded under it.
    pub(crate) fn granted(&self, shard: &mut Shard, inode: InodeId, answer: &MetaAnswer, mode: DelegationMode) -> bool {
        let before = shard.stamp(inode);
        let same_session = answer.sessions_lost == self.cluster.sessions_lost.load(Ordering::Acquire);
        let mode = if same_session { mode } else { DelegationMode::None };
        let took = shard.grant(inode, answer.target, answer.boot, mode, answer.grants.seq);
        if before != shard.stamp(inode)
            && let Some(file) = self.files.get(inode)
        {
            file.state.lock().unload();
        }
        took
    }

    /// Caches attributes from a reply, and overlays local changes that were not sent yet.
    pub(crate) fn take_attr(&self, answer: &MetaAnswer, note: &Note, attr: &mut Attr) {
        let mut shard = self.lock(attr.inode);
        self.take_attr_in(&mut shard, &self.generations(), answer, note, attr);
    }

    pub(crate) fn take_attr_in(
        &self,
        shard: &mut Shard,
        generations: &Generations,
        answer: &MetaAnswer,
        note: &Note,
        attr: &mut Attr,
    ) {
        let now_ms = self.ctx.now_ms();
        let granted = self.granted(shard, attr.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, generations, attr.inode);
        if attr.nlink > 1 && attr.kind != FileKind::Directory {
            self.links_seen.store(true, Ordering::Relaxed);
        }
        if let Some(file) = self.files.get(attr.inode) {
            let mut state = file.state.lock();
            if state.is_known() {
                let legacy = !self.ctx.config.delegations;
                let usable = same && (legacy || permits_caching(shard.holds(attr.inode, now_ms)));
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
        if same && let Some(cached) = cacheable(shard, attr.inode, note.stamp, granted, now_ms) {
            cached.attr = Some(attr.clone());
        }
    }

    /// Takes in all attributes of an answer.
    pub(crate) fn take_attrs<'a>(&self, answer: &MetaAnswer, note: &Note, attrs: impl Iterator<Item = &'a mut Attr>) {
        attrs.for_each(|attr| self.take_attr(answer, note, attr));
    }

    /// Takes in a file reply and the delegation that came with it. Returns whether the file is loaded under a delegation.
    pub(crate) fn take_file(&self, answer: &MetaAnswer, note: &Note, file: &Arc<File>, reply: &FileReply) -> bool {
        let mut shard = self.lock(file.inode);
        self.take_file_in(&mut shard, &self.generations(), answer, note, file, reply)
    }

    pub(crate) fn take_file_in(
        &self,
        shard: &mut Shard,
        generations: &Generations,
        answer: &MetaAnswer,
        note: &Note,
        file: &Arc<File>,
        reply: &FileReply,
    ) -> bool {
        let now_ms = self.ctx.now_ms();
        let granted = self.granted(shard, file.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, generations, file.inode);
        let all_the_time = note.stamp.is_some() && note.stamp == shard.stamp(file.inode);
        let held = (granted || all_the_time) && permits_caching(shard.holds(file.inode, now_ms));
        if held && let Some(cached) = shard.cached(file.inode, now_ms) {
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
            leftovers::note(&mut state, reply.leftovers == Some(true));
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
        let mut shard = self.lock(inode);
        let cached = shard.cached(inode, self.ctx.now_ms())?;
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
        get(self.lock(inode).cached(inode, self.ctx.now_ms())?)
    }

    /// Caches what a reply without grants said, if the delegation was held all the time and nothing changed locally.
    pub(crate) fn remember(&self, note: &Note, put: impl FnOnce(&mut CachedInode)) {
        let Some(inode) = note.inode else { return };
        let (now_ms, mut shard) = (self.ctx.now_ms(), self.lock(inode));
        let generations = self.generations();
        if self.is_true_yet(note, &generations, inode)
            && let Some(cached) = cacheable(&mut shard, inode, note.stamp, false, now_ms)
        {
            put(cached);
        }
    }

    /// A local change of an inode's attributes begins or ends. The inode's shard may be locked.
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
        self.lock(inode).mode(inode, self.ctx.now_ms())
    }

    /// What a file is of which nothing is known here: opened under a delegation that lets nothing be kept, and that an earlier
    /// opening got, it was not asked about.
    pub(crate) fn learn(&self, file: &Arc<File>, reply: &FileReply) {
        let mut state = file.state.lock();
        if !state.is_known() {
            let generation = state.generation();
            state.install(reply, generation, self.ctx.now_ms());
            // The reply may predate a local change.
            state.attrs_mut().invalidate();
        }
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
        if !self.lock(file.inode).is_gate_open(file.inode) {
            return;
        }
        let Some(listener) = self.listener() else { return };
        // why ignored: in the way is another write, which the server hears of too.
        let _ = tokio::time::timeout(INVALIDATION_TIMEOUT, listener.withdraw_behind(file.inode, from)).await;
    }

    /// The server answered under this session: it keeps its promises for a while.
    pub(crate) fn renew_delegations(&self, session: &Session) {
        if self.ctx.config.delegations {
            self.shards.shared.renew(session.target, session.good_until_ms());
        }
    }

    /// Delegations of this run of the server count from now on.
    pub(crate) fn set_boot(&self, session: &Session, boot: u64) {
        self.shards.shared.set_boot(session.target, boot);
        self.shards.each().for_each(|mut shard| shard.begin_run(session.target));
        session.set_boot(boot);
    }
}

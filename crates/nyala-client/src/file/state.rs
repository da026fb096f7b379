// SPDX-License-Identifier: Apache-2.0

//! What this client knows and holds of one file, shared by all handles on it.
//!
//! **Failure model.** Replies may be late: one that was asked for before an own change was acknowledged must not undo
//! what the client knows since (`generation`). Size never goes back below an own acknowledged write.

pub(crate) mod attrs;
mod binding;
pub(crate) mod commit;
pub(crate) mod content;
pub(crate) mod failures;
pub(crate) mod leftovers;
mod location;
pub(crate) mod migration;
pub(crate) mod open;
pub(crate) mod pending_attrs;
pub(crate) mod stripe_writes;
pub(crate) mod stripes;
pub(crate) mod whole_stripes;
pub(crate) mod written;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::file::logic::leftovers::Leftovers;
use crate::file::read_cache::ReadCache;
use crate::rpc::deadline::Deadline;
use crate::writeback::logic::ranges::RangeSet;
use crate::writeback::logic::unsynced::Unsynced;
use attrs::AttrState;
use binding::Binding;
use bytes::Bytes;
use commit::CommitState;
pub(crate) use content::MAX_UNIT;
use content::{Content, ContentState};
use failures::Failures;
use migration::InlineMigration;
use nyala_wire::meta::FileReply;
use nyala_wire::{Attr, InodeId, Layout, SessionId, Time};
use open::OpenState;
use parking_lot::Mutex;
use pending_attrs::PendingAttrs;
use std::ops::Range;
use std::sync::Arc;
use whole_stripes::WholeStripes;

use tokio::sync::{MutexGuard, Notify};
use written::WrittenState;

pub(crate) struct File {
    pub(crate) inode: InodeId,
    /// Held while the file is opened, closed, pushed, truncated: one at a time, in the order of the server's view.
    pub(crate) gate: tokio::sync::Mutex<()>,
    pub(crate) state: Mutex<FileState>,
    /// Something went out or failed.
    pub(crate) changed: Notify,
    /// Something is new about the delegation, or about who works under it.
    pub(crate) news: Notify,
    /// Held while the data is moved to be encoded or written to, and while its size is set.
    pub(crate) move_lock: crate::file::move_lock::MoveLock,
    /// Held while a delegation is asked for.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// Held while bytes are added to the end.
    pub(crate) appending: tokio::sync::Mutex<()>,
    /// Held from a claim on the inline content until the server knows that it is given up.
    pub(crate) claiming: Arc<tokio::sync::Mutex<()>>,
    /// Held while targets of whole stripes are chosen.
    pub(crate) choosing: tokio::sync::Mutex<()>,
}

/// What is known of a file: who has it open, its attributes, what was written to it, what is to be committed, and its content.
pub(crate) struct FileState {
    open: OpenState,
    attrs: AttrState,
    written: WrittenState,
    pending_attrs: PendingAttrs,
    commit: CommitState,
    content: ContentState,
    failures: Failures,
    unsynced: Unsynced,
    stripes: WholeStripes,
    leftovers: Leftovers,
    cache: ReadCache,
    name: Option<String>,
    /// In the table's set of files that the client's own thread looks after.
    active: bool,
    binding: Binding,
    /// Own truncates under way; writes wait meanwhile.
    truncating: usize,
    /// Changes whenever a change of this client's was acknowledged.
    generation: u64,
    size: u64,
}

impl File {
    pub(crate) fn new(inode: InodeId) -> File {
        File {
            inode,
            gate: tokio::sync::Mutex::new(()),
            state: Mutex::new(FileState::new()),
            changed: Notify::new(),
            news: Notify::new(),
            move_lock: Default::default(),
            asking: tokio::sync::Mutex::new(()),
            appending: tokio::sync::Mutex::new(()),
            claiming: Arc::default(),
            choosing: Default::default(),
        }
    }

    /// The file's gate, waited for until the call has to end.
    pub(crate) async fn pass_gate(&self, ctx: &Context) -> Result<MutexGuard<'_, ()>> {
        match self.gate.try_lock() {
            Ok(gate) => Ok(gate),
            Err(_) => Deadline::of_call(ctx).wait("wait for a file", "another call flushes it", self.gate.lock()).await,
        }
    }

    /// Keeps a failure for every handle to report once.
    pub(crate) fn fail(&self, error: Error) {
        tracing::warn!(inode = %self.inode, %error, "written data or its size did not reach the servers");
        self.state.lock().failures_mut().add(error);
    }
}

impl FileState {
    fn new() -> FileState {
        FileState {
            open: OpenState::default(),
            attrs: AttrState::default(),
            written: WrittenState::new(MAX_UNIT),
            pending_attrs: PendingAttrs::default(),
            commit: CommitState::default(),
            content: ContentState::new(),
            failures: Failures::default(),
            unsynced: Unsynced::default(),
            stripes: WholeStripes::default(),
            leftovers: Leftovers::Clean,
            cache: ReadCache::default(),
            name: None,
            active: false,
            binding: Binding::default(),
            truncating: 0,
            generation: 0,
            size: 0,
        }
    }

    /// Attributes as this client knows them now, local changes included.
    pub(crate) fn known_attr(&self) -> Option<Attr> {
        let mut attr = self.attrs.known()?.clone();
        self.overlay(&mut attr, false);
        Some(attr)
    }

    /// Takes in what the server says; `generation` is this state's when it was asked.
    pub(crate) fn install(&mut self, reply: &FileReply, generation: u64, now_ms: u64) {
        let first = !self.is_known();
        if first {
            self.content.learn(&reply.layout, reply.inline_limit);
            self.written.restart(self.content.unit());
        }
        self.content.relocate(&reply.layout).then(|| self.unsynced.relocate());
        let (fresh, size) = (generation == self.generation && self.written.in_flight().is_empty(), self.size);
        self.install_attr(&reply.attr, generation, now_ms);
        match (&reply.inline, self.content.get()) {
            // Its server lost power, and with it what this client knows of the file and is about to add to.
            (Some(older), Content::Inline { version, .. })
                if fresh
                    && !first
                    && self.is_loaded()
                    && older.version < *version
                    && !self.written.dirty().is_empty() =>
            {
                self.size = size;
                self.content.roll_back(older.version, size);
            }
            // An older version is true where nothing was acknowledged since it was asked for: the newer one was lost.
            (Some(new), Content::Inline { version, .. }) if first || fresh || new.version > *version => {
                self.content.replace_inline(new.version, new.data.clone());
            }
            (None, Content::Inline { .. }) => self.content.set_striped(),
            _ => {} // Striped is for ever; a spill that the server does not know of is dealt with at its commit.
        }
    }

    pub(crate) fn install_attr(&mut self, attr: &Attr, generation: u64, now_ms: u64) {
        if generation != self.generation {
            // Asked before an own change was acknowledged: it can only be believed where it says more.
            self.size = self.size.max(attr.size);
            self.attrs.invalidate();
            return;
        }
        let foreign = self.attrs.known().is_some_and(|old| old.mtime != attr.mtime || old.size != attr.size);
        if foreign {
            self.cache.clear();
        }
        self.take_attr(attr, now_ms);
    }

    /// Takes in the attributes that an own change came back with.
    pub(crate) fn take_attr(&mut self, attr: &Attr, now_ms: u64) {
        self.size = attr.size.max(self.written.own_end());
        self.attrs.take(attr, now_ms);
    }

    /// Takes in the answer to something that was sent of the file in the background, after so many changes of attributes: another may have overtaken it
    /// here. The server's ctime never goes back, so it says too which is older; then neither is believed for long.
    pub(crate) fn take_sent_attr(&mut self, attr: &Attr, altered: u64, now_ms: u64) {
        if altered != self.attrs.altered() || self.attrs.known().is_some_and(|known| known.ctime > attr.ctime) {
            self.attrs.invalidate();
            return;
        }
        self.take_attr(attr, now_ms);
    }

    /// Lays own changes that the server does not know of over attributes. `taken`: the attributes were taken in here, and what is known of the size is no
    /// older than they are. Else that is so only while a delegation is held: a size that was known under one that is gone is not one.
    pub(crate) fn overlay(&self, attr: &mut Attr, taken: bool) {
        if self.is_known() {
            let size = if taken || self.is_loaded() { self.size } else { attr.size };
            attr.size = size.max(self.written.own_end());
        }
        if let Some(mtime) = self.written.own_mtime().filter(|mtime| *mtime > attr.mtime) {
            attr.mtime = mtime;
            attr.ctime = attr.ctime.max(mtime);
        }
        self.pending_attrs.overlay(attr);
    }

    /// The delegation is gone: nothing known of the content is to be used without asking.
    pub(crate) fn unload(&mut self) {
        self.binding.unload();
        self.leftovers = Leftovers::Clean;
        self.end_stripes();
        self.attrs.invalidate();
        self.size = self.written.own_end();
        self.cache.clear();
        self.unsynced.shared();
    }

    /// Forgets what was written and not sent; the budget's bytes are the caller's.
    pub(crate) fn discard(&mut self) {
        self.written.discard(self.content.unit());
        self.pending_attrs.discard();
        self.commit.discard();
        self.end_stripes();
        // Of a commit under way too: what it says is not so any more.
        self.content.discard();
        self.generation += 1;
        self.size = 0;
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.content.is_inline()
    }

    /// Nothing that a server should know of and does not, or that is on its way there.
    pub(crate) fn is_clean(&self) -> bool {
        self.written.is_clean() && self.commit.is_clean() && self.content.migration().is_none()
    }

    /// Written to, kept with the inode, and known to be so; its server knows nothing but that it is there.
    pub(crate) fn is_new_inline(&self) -> bool {
        self.has_unsent_inline() && !self.open.is_registered()
    }

    /// All that its server is to hear of is inline content, of which nothing is on its way.
    pub(crate) fn has_unsent_inline(&self) -> bool {
        let simple = self.written.in_flight().is_empty() && self.commit.is_clean();
        self.is_loaded() && self.is_inline() && !self.written.dirty().is_empty() && simple
    }

    /// How many bytes it takes to keep what is known of the file when nobody uses it; `None`: it is of no use.
    pub(crate) fn worth_keeping(&self) -> Option<usize> {
        let inline = if let Content::Inline { data, .. } = self.content.get() { data.len() } else { 0 };
        // One without names is gone now.
        let named = self.attrs.valid().is_some_and(|attr| attr.nlink > 0);
        let useful = named && self.is_loaded() && self.is_clean() && self.open.handles() == 0;
        useful.then_some(inline + size_of::<File>())
    }

    /// After a change was acknowledged: own size and time are the server's once nothing is on its way.
    pub(crate) fn settle(&mut self) {
        self.generation += 1;
        if self.is_clean() {
            self.written.forget_own();
        }
    }

    /// The file was cut to `size`: what this client wrote before counts only up to there.
    fn cut(&mut self, size: u64) {
        self.content.cut(size);
        self.commit.cut(size);
        self.cache.clear();
        self.written.cut_own(self.commit.end());
    }
}

/// The parts of a file's state that have rules of their own, as others see and change them.
macro_rules! parts {
    ($($part:ident, $part_mut:ident: $kind:ty;)*) => {
        impl FileState {$(
            pub(crate) fn $part(&self) -> &$kind {
                &self.$part
            }

            pub(crate) fn $part_mut(&mut self) -> &mut $kind {
                &mut self.$part
            }
        )*}
    };
}

parts! {
    open, open_mut: OpenState;
    attrs, attrs_mut: AttrState;
    written, written_mut: WrittenState;
    pending_attrs, pending_attrs_mut: PendingAttrs;
    commit, commit_mut: CommitState;
    failures, failures_mut: Failures;
    unsynced, unsynced_mut: Unsynced;
    stripes, stripes_mut: WholeStripes;
    cache, cache_mut: ReadCache;
}

/// What is known.
impl FileState {
    pub(crate) fn content(&self) -> &Content {
        self.content.get()
    }

    pub(crate) fn migration(&self) -> Option<&InlineMigration> {
        self.content.migration()
    }

    pub(crate) fn migration_mut(&mut self) -> Option<&mut InlineMigration> {
        self.content.migration_mut()
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn session(&self) -> SessionId {
        self.binding.session()
    }

    pub(crate) fn name(&self) -> Option<&String> {
        self.name.as_ref()
    }

    pub(crate) fn set_name(&mut self, name: String) {
        self.name = Some(name);
    }

    /// Where its chunk files are; `None`: nothing is known of the file.
    pub(crate) fn layout(&self) -> Option<&Arc<Layout>> {
        self.content.layout()
    }

    /// The data is elsewhere.
    pub(crate) fn locate(&mut self, layout: Arc<Layout>) {
        self.content.locate(layout);
        self.unsynced.relocate();
        self.cache.clear();
    }

    fn end_stripes(&mut self) {
        if let Some(before) = self.stripes.end() {
            self.locate(before);
        }
    }

    /// The server has said what the file is.
    pub(crate) fn is_known(&self) -> bool {
        self.layout().is_some()
    }

    pub(crate) fn unit(&self) -> u64 {
        self.content.unit()
    }

    pub(crate) fn inline_limit(&self) -> u64 {
        self.content.inline_limit()
    }

    /// The size that the next push of inline content has to say (`ContentState::resize`).
    pub(crate) fn resize(&self) -> Option<u64> {
        self.content.resize()
    }

    /// Size, layout and inline content are true as long as the delegation is held.
    pub(crate) fn is_loaded(&self) -> bool {
        self.binding.is_loaded()
    }

    pub(crate) fn is_truncating(&self) -> bool {
        self.truncating > 0
    }

    /// What is known came with a delegation of this session, or was asked for under it.
    pub(crate) fn load(&mut self, session: SessionId) {
        assert!(self.is_known(), "a file is loaded of which nothing is known");
        self.binding.load(session);
    }

    /// The session has ended; the delegation is gone before.
    pub(crate) fn unbind(&mut self) {
        self.binding.unbind();
    }

    /// The client's own thread is to look after the file; whether that is new, and the table has to be told.
    pub(crate) fn activate(&mut self) -> bool {
        !std::mem::replace(&mut self.active, true)
    }

    /// There is nothing to look after. The table may have been told late that there was, so this may come twice.
    pub(crate) fn deactivate(&mut self) {
        self.active = false;
    }

    pub(crate) fn begin_truncate(&mut self) {
        self.truncating += 1;
    }

    pub(crate) fn end_truncate(&mut self) {
        assert!(self.truncating > 0, "a truncate ends that did not begin");
        self.truncating -= 1;
    }

    pub(crate) fn leftovers(&self) -> Leftovers {
        self.leftovers
    }

    /// This client wrote `range`, at `mtime`: the file may have grown, and have a hole now.
    pub(crate) fn note_write(&mut self, range: Range<u64>, mtime: Time) {
        assert!(range.start <= range.end, "a write ends before it begins");
        self.cache.remove(range.clone());
        self.commit.note_usage(range.start > self.size);
        self.size = self.size.max(range.end);
        self.written.note_write_to(range.end, mtime);
    }

    /// Inline content moves to storage, beneath what is dirty.
    pub(crate) fn begin_migration(&mut self) {
        let mut own = RangeSet::default();
        self.written.dirty().iter().for_each(|extent| own.insert(extent.range()));
        self.content.begin_migration(own);
    }

    /// The server has no copy of the moved content any more.
    pub(crate) fn end_migration(&mut self) {
        self.content.end_migration();
    }

    /// The server has the inline content that was pushed, as this version.
    pub(crate) fn pushed_inline(&mut self, version: u64, data: Bytes) {
        self.content.pushed(version, data);
    }

    /// The server has cut or extended the file to `size`, and says what its attributes are since. `undisturbed`: nothing else was acknowledged meanwhile.
    pub(crate) fn truncated(&mut self, size: u64, attr: &Attr, undisturbed: bool, now_ms: u64) {
        self.generation += 1;
        self.commit.note_usage(size > self.size);
        // Bytes that were written while we waited count as written after the truncate: they stay.
        self.cut(size);
        self.take_attr(attr, now_ms);
        if let Content::Inline { version, .. } = self.content.get() {
            // As servers count; if not, the next push finds out.
            self.content.set_version(version + 1);
            if !undisturbed || !self.is_loaded() {
                self.attrs.invalidate();
                self.binding.unload();
            }
        }
    }

    /// A hole was punched; the attributes since, asked for at `generation` and `altered` ([`FileState::take_sent_attr`]): writes may be acknowledged since.
    pub(crate) fn punched(&mut self, attr: &Attr, generation: u64, altered: u64, now_ms: u64) {
        self.take_sent_attr(attr, if generation == self.generation { altered } else { u64::MAX }, now_ms);
        self.generation += 1;
    }

    /// This client changed the file without keeping anything: what is known of it is old.
    pub(crate) fn changed_direct(&mut self) {
        self.unload();
        self.generation += 1;
    }
}

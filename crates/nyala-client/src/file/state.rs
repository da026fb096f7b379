// SPDX-License-Identifier: Apache-2.0

//! What this client knows and holds of one file, shared by all handles on it.
//!
//! **Failure model.** Replies may be late: one that was asked for before an own change was acknowledged must not undo
//! what the client knows since (`generation`). Size never goes back below an own acknowledged write.

pub(crate) mod attrs;
pub(crate) mod commit;
pub(crate) mod failures;
pub(crate) mod open;
pub(crate) mod written;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::file::logic::leftovers::Leftovers;
use crate::file::read_cache::ReadCache;
use crate::rpc::bound::UNBOUND;
use crate::rpc::deadline::Deadline;
use crate::writeback::logic::ranges::RangeSet;
use crate::writeback::logic::unsynced::Unsynced;
use attrs::AttrState;
use bytes::Bytes;
use commit::CommitState;
use failures::Failures;
use nyala_wire::meta::FileReply;
use nyala_wire::{Attr, InodeId, Layout, SessionId};
use open::OpenState;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::{MutexGuard, Notify};
use written::WrittenState;

/// Largest piece of a chunk that is one storage write or one read-ahead segment.
pub(crate) const MAX_UNIT: u64 = 1 << 20;

pub(crate) struct File {
    pub(crate) inode: InodeId,
    /// Held while the file is opened, closed, pushed, truncated: one at a time, in the order of the server's view.
    pub(crate) gate: tokio::sync::Mutex<()>,
    pub(crate) state: Mutex<FileState>,
    /// Something went out or failed.
    pub(crate) changed: Notify,
    /// Something is new about the delegation, or about who works under it.
    pub(crate) news: Notify,
    /// Held while a delegation is asked for.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// Held while bytes are added to the end.
    pub(crate) appending: tokio::sync::Mutex<()>,
    /// Held from a claim on the inline content until the server knows that it is given up.
    pub(crate) claiming: Arc<tokio::sync::Mutex<()>>,
}

/// Where a file's content is.
pub(crate) enum Content {
    /// With the inode.
    Inline { version: u64, data: Bytes },
    /// On storage targets.
    Striped,
}

/// Inline content on its way to storage: the server forgets its copy with the next commit.
pub(crate) struct InlineMigration {
    pub(crate) version: u64,
    pub(crate) base_len: u64,
    /// Written by this client since, or before and not part of the base.
    pub(crate) own: RangeSet,
    /// A part of the content could not be written there: it stays where it is.
    pub(crate) failed: bool,
}

/// What is known of a file: who has it open, its attributes, what was written to it, what is to be committed, and its content.
pub(crate) struct FileState {
    pub(crate) open: OpenState,
    pub(crate) attrs: AttrState,
    pub(crate) written: WrittenState,
    pub(crate) commit: CommitState,
    pub(crate) failures: Failures,
    pub(crate) name: Option<String>,
    /// In the table's set of files that need looking after.
    pub(crate) active: bool,
    /// Size, layout and inline content are true as long as the delegation is held.
    pub(crate) loaded: bool,
    /// Whose delegation it was loaded under. What is unsent was accepted under it: when the session ends it is dropped,
    /// and this is `UNBOUND` until the file is loaded under the next one.
    pub(crate) session: SessionId,
    /// Own truncates under way; writes wait meanwhile.
    pub(crate) truncating: usize,
    pub(crate) layout: Option<Arc<Layout>>,
    pub(crate) unit: u64,
    pub(crate) inline_limit: u64,
    pub(crate) content: Content,
    pub(crate) generation: u64,
    pub(crate) size: u64,
    /// The server has lost changes of inline content that this client knows, its size among them: the next push says this one.
    pub(crate) resize: Option<u64>,
    pub(crate) unsynced: Unsynced,
    pub(crate) migration: Option<InlineMigration>,
    pub(crate) leftovers: Leftovers,
    pub(crate) cache: ReadCache,
}

impl File {
    pub(crate) fn new(inode: InodeId) -> File {
        File {
            inode,
            gate: tokio::sync::Mutex::new(()),
            state: Mutex::new(FileState::new()),
            changed: Notify::new(),
            news: Notify::new(),
            asking: tokio::sync::Mutex::new(()),
            appending: tokio::sync::Mutex::new(()),
            claiming: Arc::default(),
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
        self.state.lock().failures.add(error);
    }
}

impl FileState {
    fn new() -> FileState {
        FileState {
            open: OpenState::default(),
            attrs: AttrState::default(),
            written: WrittenState::new(MAX_UNIT),
            commit: CommitState::default(),
            failures: Failures::default(),
            name: None,
            active: false,
            loaded: false,
            session: UNBOUND,
            truncating: 0,
            layout: None,
            unit: MAX_UNIT,
            inline_limit: 0,
            content: Content::Striped,
            generation: 0,
            size: 0,
            resize: None,
            unsynced: Unsynced::default(),
            migration: None,
            leftovers: Leftovers::Clean,
            cache: ReadCache::default(),
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
        let first = self.layout.is_none();
        if first {
            self.layout = Some(Arc::new(reply.layout.clone()));
            self.unit = u64::from(reply.layout.chunk_bytes).clamp(1, MAX_UNIT);
            self.written.restart(self.unit);
            self.inline_limit = u64::from(reply.inline_limit);
            self.content = Content::Inline { version: 0, data: Bytes::new() };
        }
        let fresh = generation == self.generation && self.written.in_flight().is_empty();
        let size = self.size;
        self.install_attr(&reply.attr, generation, now_ms);
        match (&reply.inline, &mut self.content) {
            // Its server lost power, and with it what this client knows of the file and is about to add to.
            (Some(older), Content::Inline { version, .. })
                if fresh && !first && self.loaded && older.version < *version && !self.written.dirty().is_empty() =>
            {
                *version = older.version;
                self.size = size;
                self.resize = Some(size);
            }
            // An older version is true where nothing was acknowledged since it was asked for: the newer one was lost.
            (Some(new), Content::Inline { version, .. }) if first || fresh || new.version > *version => {
                self.content = Content::Inline { version: new.version, data: new.data.clone() };
            }
            (None, Content::Inline { .. }) => self.content = Content::Striped,
            // Striped is for ever; a spill that the server does not know of yet is dealt with at its commit.
            _ => {}
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

    /// Takes in the answer to something that was sent of the file in the background, after so many changes of attributes:
    /// another may have overtaken it here. The server's ctime never goes back, so it says too which is older; then neither is
    /// believed for long.
    pub(crate) fn take_sent_attr(&mut self, attr: &Attr, altered: u64, now_ms: u64) {
        if altered != self.attrs.altered() || self.attrs.known().is_some_and(|known| known.ctime > attr.ctime) {
            self.attrs.invalidate();
            return;
        }
        self.take_attr(attr, now_ms);
    }

    /// Lays own changes that the server does not know of over attributes. `taken`: the attributes were taken in here, and
    /// what is known of the size is no older than they are. Else that is so only while a delegation is held: a size that was
    /// known under one that is gone is not one.
    pub(crate) fn overlay(&self, attr: &mut Attr, taken: bool) {
        if self.layout.is_some() {
            let size = if taken || self.loaded { self.size } else { attr.size };
            attr.size = size.max(self.written.own_end());
        }
        if let Some(mtime) = self.written.own_mtime().filter(|mtime| *mtime > attr.mtime) {
            attr.mtime = mtime;
            attr.ctime = attr.ctime.max(mtime);
        }
    }

    /// The delegation is gone: nothing known of the content is to be used without asking.
    pub(crate) fn unload(&mut self) {
        self.loaded = false;
        self.leftovers = Leftovers::Clean;
        self.attrs.invalidate();
        self.size = self.written.own_end();
        self.cache.clear();
        self.unsynced.shared();
    }

    /// Forgets what was written and not sent; the budget's bytes are the caller's.
    pub(crate) fn discard(&mut self) {
        self.written.discard(self.unit);
        self.commit.discard();
        if self.migration.take().is_some() {
            // What the content is, only the server can say.
            self.layout = None;
        }
        // Of a commit under way too: what it says is not so any more.
        self.resize = None;
        self.generation += 1;
        self.size = 0;
    }

    /// Its server says whether there may be something. What this client has not committed is not in doubt.
    pub(crate) fn note_leftovers(&mut self, leftovers: bool) {
        match (leftovers, self.leftovers) {
            (true, Leftovers::Clean) if self.is_clean() => self.leftovers = Leftovers::Unknown,
            (false, Leftovers::Unknown) if !self.loaded => self.leftovers = Leftovers::Clean,
            _ => {}
        }
    }

    /// From where on chunk files have to be cut before a range is written, in bytes of the file.
    pub(crate) fn leftovers_from(&self, range: &Range<u64>) -> Option<u64> {
        match self.leftovers {
            Leftovers::Clean => None,
            _ if self.is_inline() => (range.end > self.inline_limit).then_some(0),
            Leftovers::Cutting => Some(self.size),
            Leftovers::Unknown => (range.start > self.size).then_some(self.size),
        }
    }

    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.content, Content::Inline { .. })
    }

    /// Nothing that a server should know of and does not, or that is still on its way there.
    pub(crate) fn is_clean(&self) -> bool {
        self.written.is_clean() && self.commit.is_clean() && self.migration.is_none()
    }

    /// Written to, kept with the inode, and known to be so; its server knows nothing but that it is there.
    pub(crate) fn is_new_inline(&self) -> bool {
        let simple = self.written.in_flight().is_empty() && self.commit.is_clean() && self.migration.is_none();
        self.loaded && !self.open.is_registered() && self.is_inline() && !self.written.dirty().is_empty() && simple
    }

    /// How many bytes it takes to keep what is known of the file when nobody uses it; `None`: it is of no use.
    pub(crate) fn worth_keeping(&self) -> Option<usize> {
        let inline = if let Content::Inline { data, .. } = &self.content { data.len() } else { 0 };
        // One without names is gone now.
        let named = self.attrs.valid().is_some_and(|attr| attr.nlink > 0);
        let useful = named && self.loaded && self.is_clean() && self.open.handles() == 0;
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
    pub(crate) fn cut(&mut self, size: u64) {
        if let Content::Inline { data, .. } = &mut self.content {
            data.truncate(size as usize);
        }
        self.commit.cut(size);
        self.cache.clear();
        self.written.cut_own(self.commit.end());
    }
}

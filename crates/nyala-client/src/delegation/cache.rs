// SPDX-License-Identifier: Apache-2.0

//! Leases and what is kept under them, shared by all threads of a client.
//!
//! **Failure model.** A reply may be older than a change of this client's own, or than a revocation: it is used for the
//! call that asked and not kept. Locks are taken in the order hub, file's state, table of files.

use crate::core::Core;
use crate::delegation::logic::cached_inode::Kept;
use crate::delegation::logic::delegations::Leases;
use crate::delegation::logic::generations::{Epochs, Noted};
use crate::delegation::logic::open_predictor::Habits;
use crate::file::state::File;
use crate::rpc::meta::Answer;
use nyala_wire::meta::{FileReply, LeaseMode, Want};
use nyala_wire::{Attr, FileKind, InodeId};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) leases: Leases<Kept>,
    pub(crate) epochs: Epochs,
    /// Names kept, of all directories together; counted anew when it looks like too many.
    pub(crate) names: usize,
    pub(crate) habits: Habits,
}

#[derive(Default)]
pub(crate) struct Hub {
    inner: Mutex<Inner>,
    /// An inode with several names was seen: removing a name whose inode is not known may concern what is kept.
    pub(crate) links_seen: AtomicBool,
    /// Sessions lost so far, each counted before its leases go: what was granted under one, and comes later, is nothing.
    pub(crate) losses: AtomicU64,
}

/// How things stood before a question was asked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Note {
    /// The inode that was asked about, if it was known.
    inode: Option<InodeId>,
    noted: Noted,
    stamp: Option<u64>,
    file_epoch: Option<u64>,
    /// Which files had been known and forgotten.
    left: u64,
}

impl Hub {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Note {
    /// Nothing is being changed that is not known.
    pub(crate) fn is_quiet(&self) -> bool {
        self.noted.is_some()
    }

    fn holds_by_epochs(&self, inner: &Inner, inode: InodeId) -> bool {
        let slot = Epochs::slot(inode);
        match self.inode {
            Some(known) => known == inode && inner.epochs.same(slot, self.noted),
            None => inner.epochs.same_unknown(slot, self.noted),
        }
    }
}

fn keeps(mode: LeaseMode) -> bool {
    matches!(mode, LeaseMode::Shared | LeaseMode::Exclusive)
}

impl Inner {
    /// What is kept of an inode, to add to it: if its lease came with this answer, or was there all the time.
    pub(crate) fn keep(&mut self, inode: InodeId, stamp: Option<u64>, granted: bool, now_ms: u64) -> Option<&mut Kept> {
        let all_the_time = stamp.is_some() && stamp == self.leases.stamp(inode);
        if granted || all_the_time { self.leases.kept(inode, now_ms) } else { None }
    }

    /// Stays within the limit on names.
    pub(crate) fn bound_names(&mut self, limit: usize) {
        if self.names <= limit {
            return;
        }
        let oldest: Vec<InodeId> = self.leases.oldest().collect();
        let weight = |inner: &mut Inner, inode| inner.leases.peek(inode).map_or(0, |kept| kept.weight());
        self.names = oldest.iter().map(|inode| weight(self, *inode)).sum();
        for inode in oldest {
            if self.names <= limit / 2 {
                break;
            }
            let weight = weight(self, inode);
            if let Some(kept) = self.leases.peek(inode).filter(|_| weight > 0) {
                kept.drop_names();
                self.names -= weight;
            }
        }
    }
}

impl Core {
    /// Leases that questions ask for.
    pub(crate) fn want(&self) -> Want {
        if self.config.leases { Want::LEASES } else { Want::NOTHING }
    }

    /// Before asking about an inode.
    pub(crate) fn note(&self, inode: InodeId) -> Note {
        self.note_in(&self.hub.lock(), inode)
    }

    pub(crate) fn note_in(&self, inner: &Inner, inode: InodeId) -> Note {
        let (file, left) = self.files.note(Some(inode));
        let file_epoch = file.map(|file| file.state.lock().epoch);
        let noted = inner.epochs.note(Epochs::slot(inode));
        Note { inode: Some(inode), noted, stamp: inner.leases.stamp(inode), file_epoch, left }
    }

    /// Before asking about inodes whose numbers are not known yet.
    pub(crate) fn note_all(&self) -> Note {
        self.note_all_in(&self.hub.lock())
    }

    pub(crate) fn note_all_in(&self, inner: &Inner) -> Note {
        Note { noted: inner.epochs.note_unknown(), left: self.files.note(None).1, ..Note::default() }
    }

    /// Nothing that this client did can have made an answer old, to a file that it has forgotten since neither.
    fn is_true_yet(&self, note: &Note, inner: &Inner, inode: InodeId) -> bool {
        note.holds_by_epochs(inner, inode) && !self.files.has_left(inode, note.left)
    }

    /// A lease on an inode came, or not, with an answer. A file that it is new to has to be loaded under it.
    pub(crate) fn granted(&self, inner: &mut Inner, inode: InodeId, answer: &Answer, mode: LeaseMode) -> bool {
        let before = inner.leases.stamp(inode);
        let same_session = answer.losses == self.hub.losses.load(Ordering::Acquire);
        let mode = if same_session { mode } else { LeaseMode::None };
        let took = inner.leases.grant(inode, answer.target, answer.boot, mode, answer.grants.seq);
        if before != inner.leases.stamp(inode)
            && let Some(file) = self.files.get(inode)
        {
            file.state.lock().unload();
        }
        took
    }

    /// Takes attributes in that an answer shows; own unsent changes are laid over them.
    pub(crate) fn take_attr(&self, answer: &Answer, note: &Note, attr: &mut Attr) {
        let mut inner = self.hub.lock();
        self.take_attr_in(&mut inner, answer, note, attr);
    }

    pub(crate) fn take_attr_in(&self, inner: &mut Inner, answer: &Answer, note: &Note, attr: &mut Attr) {
        let now_ms = self.now_ms();
        let granted = self.granted(inner, attr.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, inner, attr.inode);
        if attr.nlink > 1 && attr.kind != FileKind::Directory {
            self.hub.links_seen.store(true, Ordering::Relaxed);
        }
        if let Some(file) = self.files.get(attr.inode) {
            let mut state = file.state.lock();
            if state.layout.is_some() {
                let legacy = !self.config.leases;
                let usable = same && (legacy || keeps(inner.leases.holds(attr.inode, now_ms)));
                // Of a listing nobody can say whether it is older than what was sent of this file.
                let epoch = note.file_epoch.filter(|_| usable);
                if let Some(epoch) = epoch {
                    let foreign = state.attr.as_ref().is_some_and(|old| old.mtime != attr.mtime);
                    state.install_attr(attr, epoch, now_ms);
                    if legacy && foreign && state.is_inline() {
                        // The content may have changed too, and came not with this reply.
                        state.attr_ms = 0;
                    }
                }
                state.overlay(attr, epoch.is_some());
                return;
            }
        }
        if same && let Some(kept) = inner.keep(attr.inode, note.stamp, granted, now_ms) {
            kept.attr = Some(attr.clone());
        }
    }

    /// Takes in all attributes of an answer.
    pub(crate) fn take_attrs<'a>(&self, answer: &Answer, note: &Note, attrs: impl Iterator<Item = &'a mut Attr>) {
        let mut inner = self.hub.lock();
        attrs.for_each(|attr| self.take_attr_in(&mut inner, answer, note, attr));
    }

    /// Takes in what a server says of a file, and the lease that came with it. Whether the file is loaded under a lease.
    pub(crate) fn take_file(&self, answer: &Answer, note: &Note, file: &Arc<File>, reply: &FileReply) -> bool {
        self.take_file_in(&mut self.hub.lock(), answer, note, file, reply)
    }

    pub(crate) fn take_file_in(
        &self,
        inner: &mut Inner,
        answer: &Answer,
        note: &Note,
        file: &Arc<File>,
        reply: &FileReply,
    ) -> bool {
        let now_ms = self.now_ms();
        let granted = self.granted(inner, file.inode, answer, answer.grants.inodes);
        let same = self.is_true_yet(note, inner, file.inode);
        let all_the_time = note.stamp.is_some() && note.stamp == inner.leases.stamp(file.inode);
        let held = (granted || all_the_time) && keeps(inner.leases.holds(file.inode, now_ms));
        if held && let Some(kept) = inner.leases.kept(file.inode, now_ms) {
            kept.attr = None;
        }
        let mut state = file.state.lock();
        // A file that was in nobody's hands before has nothing of its own that could be older.
        let epoch = note.file_epoch.unwrap_or(if state.layout.is_none() { state.epoch } else { u64::MAX });
        let fresh = epoch == state.epoch;
        state.install(reply, epoch, now_ms);
        if held && same && fresh {
            state.is_told_of(reply.leftovers == Some(true));
            state.loaded = true;
            state.session = answer.session;
        } else if !same {
            state.attr_ms = 0;
        }
        state.loaded
    }

    /// Attributes that may be used without asking.
    pub(crate) fn kept_attr(&self, inode: InodeId) -> Option<Attr> {
        if !self.config.leases {
            return None;
        }
        let mut inner = self.hub.lock();
        let kept = inner.leases.kept(inode, self.now_ms())?;
        match self.files.get(inode) {
            Some(file) if file.state.lock().layout.is_some() => {
                let state = file.state.lock();
                let mut attr = state.attr.clone().filter(|_| state.attr_ms > 0)?;
                state.overlay(&mut attr, true);
                Some(attr)
            }
            _ => kept.attr.clone(),
        }
    }

    /// Something kept that may be used without asking.
    pub(crate) fn kept<T>(&self, inode: InodeId, get: impl FnOnce(&Kept) -> Option<T>) -> Option<T> {
        if !self.config.leases {
            return None;
        }
        get(self.hub.lock().leases.kept(inode, self.now_ms())?)
    }

    /// Keeps something that an answer without grants said, if the lease was there all the time and nothing changed.
    pub(crate) fn keep(&self, note: &Note, put: impl FnOnce(&mut Kept)) {
        let now_ms = self.now_ms();
        let mut inner = self.hub.lock();
        if let Some(inode) = note.inode.filter(|inode| self.is_true_yet(note, &inner, *inode))
            && let Some(kept) = inner.keep(inode, note.stamp, false, now_ms)
        {
            put(kept);
        }
    }

    /// A change of an inode's attributes begins here, or ends; the hub may be locked.
    pub(crate) fn alters(&self, inode: InodeId) {
        if let Some(file) = self.files.get(inode) {
            file.state.lock().alters();
        }
    }

    /// What others may be told of a lease.
    pub(crate) fn leased(&self, inode: InodeId) -> LeaseMode {
        if !self.config.leases {
            return LeaseMode::None;
        }
        self.hub.lock().leases.mode(inode, self.now_ms())
    }
}

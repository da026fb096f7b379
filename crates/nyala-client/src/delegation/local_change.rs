// SPDX-License-Identifier: Apache-2.0

//! Local mutations invalidate cached state when they start and repopulate it once the outcome is known.
//!
//! Replies to requests that were sent meanwhile are not cached (`delegation::logic::generations`).
//!
//! **Failure model.** The reply says how things were when its server made the change. What this client wrote may have been sent, stored and acknowledged
//! since, before the reply was read: so the reply is believed as one is that was asked for when the change began.

use crate::delegation::cache::{DelegationCache, Note, cacheable};
use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::generations::{Generations, Noted};
use crate::delegation::shards::Locked;
use crate::rpc::meta::MetaAnswer;
use nyala_wire::{Attr, InodeId};
use std::sync::Arc;

/// A mutation under way; over when dropped.
pub(crate) struct LocalChange {
    pub(super) delegations: Arc<DelegationCache>,
    pub(super) inodes: Vec<ChangedInode>,
    pub(super) names: Vec<ChangedName>,
    /// The directories among the inodes, as they are after it.
    pub(super) dirs: Vec<Attr>,
    /// It may concern inodes that are not known here.
    pub(super) unknown: bool,
    /// Of inodes that it makes.
    pub(super) began: Note,
}

/// An inode that is changed.
pub(super) struct ChangedInode {
    pub(super) inode: InodeId,
    pub(super) begun: Noted,
    /// Before it began.
    pub(super) before: Note,
}

/// A name that is changed.
pub(super) struct ChangedName {
    pub(super) dir: InodeId,
    pub(super) name: Vec<u8>,
    pub(super) begun: Noted,
    /// Stamp of the directory's delegation when the mutation began.
    pub(super) stamp: Option<u64>,
    /// What the name pointed to then, if that was cached.
    pub(super) was: Option<Option<InodeId>>,
    /// What it points to afterwards, if the mutation succeeded and that is certain.
    pub(super) outcome: Option<Option<InodeId>>,
}

impl LocalChange {
    /// It succeeded; this is the answer.
    pub(crate) fn answered(&mut self, answer: &MetaAnswer) {
        self.dirs.clone_from(&answer.dirs);
    }

    /// It succeeded; `attr` is what the reply says the inode's attributes are.
    pub(crate) fn done(mut self, answer: &MetaAnswer, attr: &mut Attr) {
        self.answered(answer);
        self.end(Some((answer, attr)));
    }

    fn end(&mut self, result: Option<(&MetaAnswer, &mut Attr)>) {
        let delegations = self.delegations.clone();
        let inodes = self.names.iter().map(|one| one.dir).chain(result.as_ref().map(|(_, attr)| attr.inode));
        let (now_ms, mut shards) = (delegations.ctx.now_ms(), delegations.lock_of(inodes));
        let mut generations = delegations.generations();
        if std::mem::take(&mut self.unknown) {
            generations.end_unknown();
        }
        let answered = result.as_ref().map(|(_, attr)| attr.inode);
        let mut note = answered.map_or(self.began, |inode| self.began.of_new(inode));
        for ChangedInode { inode, begun, before } in std::mem::take(&mut self.inodes) {
            delegations.alters(inode);
            let slot = Generations::slot(inode);
            let alone = generations.end(slot, begun);
            if answered == Some(inode) {
                note = before.after_change(if alone { generations.note(slot) } else { None });
            }
            if !alone {
                self.dirs.retain(|dir| dir.inode != inode);
            }
        }
        let names = std::mem::take(&mut self.names);
        // The outcome of one name may depend on another, so all delegations must have been held throughout.
        let held = names.iter().all(|one| cacheable(shards.of(one.dir), one.dir, one.stamp, false, now_ms).is_some());
        self.learn_dirs(&names, &mut shards, now_ms);
        for ChangedName { dir, name, begun, outcome, .. } in names {
            let alone = generations.end(Generations::slot((dir, name.as_slice())), begun);
            if let Some(is) = outcome.filter(|_| alone && held)
                && let Some(cached) = shards.of(dir).cached(dir, now_ms)
            {
                cached.put_entry(name, is);
                delegations.added_names(1);
            }
        }
        if let Some((answer, attr)) = result {
            delegations.take_attr_in(shards.of(attr.inode), &generations, answer, &note, attr);
        }
        drop((generations, shards));
        delegations.bound_names();
    }

    /// Caches what the answer says of directories that nobody changed meanwhile: here, or elsewhere, as their delegations were held throughout.
    fn learn_dirs(&mut self, names: &[ChangedName], shards: &mut Locked<'_>, now_ms: u64) {
        for attr in self.dirs.drain(..) {
            if let Some(stamp) = names.iter().find(|one| one.dir == attr.inode).map(|one| one.stamp)
                && let Some(cached) = cacheable(shards.of(attr.inode), attr.inode, stamp, false, now_ms)
            {
                cached.attr = Some(attr);
            }
        }
    }

    /// After success, what a name is: an inode's, or nothing.
    pub(crate) fn outcome(&mut self, number: usize, inode: Option<InodeId>) {
        if let Some(name) = self.names.get_mut(number) {
            name.outcome = Some(inode);
        }
    }

    /// To take in what the reply says of an inode that the change made.
    pub(crate) fn note_of_new(&self, inode: InodeId) -> Note {
        self.began.of_new(inode)
    }

    /// What a name was when the change began, if that was known for certain.
    pub(crate) fn was(&self, number: usize) -> Option<Option<InodeId>> {
        self.names.get(number).and_then(|name| name.was)
    }

    pub(super) fn forget(&self) {
        for ChangedInode { inode, .. } in &self.inodes {
            self.delegations.lock(*inode).peek(*inode).into_iter().for_each(CachedInode::directory_changed);
            self.delegations.alters(*inode);
        }
        for ChangedName { dir, name, .. } in &self.names {
            self.delegations.lock(*dir).peek(*dir).into_iter().for_each(|cached| cached.forget_entry(name));
        }
    }
}

impl Drop for LocalChange {
    fn drop(&mut self) {
        self.end(None);
    }
}

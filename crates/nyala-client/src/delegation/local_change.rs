// SPDX-License-Identifier: Apache-2.0

//! Local mutations invalidate cached state when they start and repopulate it once the outcome is known.
//!
//! Replies to requests that were sent meanwhile are not cached (`delegation::logic::generations`).

use crate::delegation::cache::{DelegationCache, Note, cacheable};
use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::generations::{Generations, Noted};
use crate::rpc::meta::MetaAnswer;
use nyala_wire::{Attr, InodeId};
use std::sync::Arc;

/// A mutation under way; over when dropped.
pub(crate) struct LocalChange {
    delegations: Arc<DelegationCache>,
    inodes: Vec<(InodeId, Noted)>,
    names: Vec<ChangedName>,
    /// The directories among the inodes, as they are after it.
    dirs: Vec<Attr>,
    /// It may concern inodes that are not known here.
    unknown: bool,
}

/// A directory, and a name in it.
type Entry<'a> = (InodeId, &'a [u8]);

/// A name that is changed.
struct ChangedName {
    dir: InodeId,
    name: Vec<u8>,
    begun: Noted,
    /// Stamp of the directory's delegation when the mutation began.
    stamp: Option<u64>,
    /// What the name pointed to then, if that was cached.
    was: Option<Option<InodeId>>,
    /// What it points to afterwards, if the mutation succeeded and that is certain.
    outcome: Option<Option<InodeId>>,
}

impl DelegationCache {
    /// Begins a mutation of inodes (directories whose entries change included), names, and the inodes they point to.
    pub(crate) fn begin_change(self: &Arc<DelegationCache>, inodes: &[InodeId], names: &[Entry<'_>]) -> LocalChange {
        self.start_change(inodes, names, !names.is_empty())
    }

    /// The same for an entry that is added: of what exists only the directory changes.
    pub(crate) fn begin_insertion(self: &Arc<DelegationCache>, dir: InodeId, name: &[u8]) -> LocalChange {
        self.start_change(&[dir], &[(dir, name)], false)
    }

    fn start_change(self: &Arc<Self>, inodes: &[InodeId], names: &[Entry<'_>], unknown: bool) -> LocalChange {
        let mut change =
            LocalChange { delegations: self.clone(), inodes: Vec::new(), names: Vec::new(), dirs: Vec::new(), unknown };
        if !self.ctx.config.delegations {
            return change;
        }
        let (now_ms, mut shards) = (self.ctx.now_ms(), self.lock_of(names.iter().map(|(dir, _)| *dir)));
        let mut generations = self.generations();
        if unknown {
            generations.begin_unknown();
        }
        for &inode in inodes {
            change.inodes.push((inode, generations.begin(Generations::slot(inode))));
        }
        for &(dir, name) in names {
            let begun = generations.begin(Generations::slot((dir, name)));
            let shard = shards.of(dir);
            let was = shard.cached(dir, now_ms).and_then(|cached| cached.entry(name));
            let stamp = shard.stamp(dir);
            change.names.push(ChangedName { dir, name: name.to_vec(), begun, stamp, was, outcome: None });
        }
        drop((generations, shards));
        change.forget();
        change
    }
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
        if !delegations.ctx.config.delegations {
            if let Some((answer, attr)) = result {
                delegations.take_attr(answer, &delegations.note(attr.inode), attr);
            }
            return;
        }
        let inodes = self.names.iter().map(|one| one.dir).chain(result.as_ref().map(|(_, attr)| attr.inode));
        let (now_ms, mut shards) = (delegations.ctx.now_ms(), delegations.lock_of(inodes));
        let mut generations = delegations.generations();
        if std::mem::take(&mut self.unknown) {
            generations.end_unknown();
        }
        let mut known = result.as_ref().is_some_and(|(_, attr)| !self.inodes.iter().any(|(one, _)| *one == attr.inode));
        for (inode, begun) in std::mem::take(&mut self.inodes) {
            delegations.alters(inode);
            let alone = generations.end(Generations::slot(inode), begun);
            known |= alone && result.as_ref().is_some_and(|(_, attr)| attr.inode == inode);
            if !alone {
                self.dirs.retain(|dir| dir.inode != inode);
            }
        }
        let names = std::mem::take(&mut self.names);
        // The outcome of one name may depend on another, so all delegations must have been held throughout.
        let held = names.iter().all(|one| cacheable(shards.of(one.dir), one.dir, one.stamp, false, now_ms).is_some());
        for attr in std::mem::take(&mut self.dirs) {
            // Nobody else changed it either, as its delegation was held throughout.
            if let Some(stamp) = names.iter().find(|one| one.dir == attr.inode).map(|one| one.stamp)
                && let Some(cached) = cacheable(shards.of(attr.inode), attr.inode, stamp, false, now_ms)
            {
                cached.attr = Some(attr);
            }
        }
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
            let shard = shards.of(attr.inode);
            let note = if known { delegations.note_in(shard, &generations, attr.inode) } else { Note::default() };
            delegations.take_attr_in(shard, &generations, answer, &note, attr);
        }
        drop((generations, shards));
        delegations.bound_names();
    }

    /// After success, what a name is: an inode's, or nothing.
    pub(crate) fn outcome(&mut self, number: usize, inode: Option<InodeId>) {
        if let Some(name) = self.names.get_mut(number) {
            name.outcome = Some(inode);
        }
    }

    /// What a name was when the change began, if that was known for certain.
    pub(crate) fn was(&self, number: usize) -> Option<Option<InodeId>> {
        self.names.get(number).and_then(|name| name.was)
    }

    fn forget(&self) {
        for (inode, _) in &self.inodes {
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

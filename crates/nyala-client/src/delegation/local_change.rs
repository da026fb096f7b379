// SPDX-License-Identifier: Apache-2.0

//! Local mutations invalidate cached state when they start and repopulate it once the outcome is known.
//!
//! Replies to requests that were sent meanwhile are not cached (`delegation::logic::generations`).

use crate::delegation::cache::{DelegationCache, Note};
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

    fn start_change(
        self: &Arc<DelegationCache>,
        inodes: &[InodeId],
        names: &[Entry<'_>],
        unknown: bool,
    ) -> LocalChange {
        let mut change = LocalChange { delegations: self.clone(), inodes: Vec::new(), names: Vec::new(), unknown };
        if !self.ctx.config.delegations {
            return change;
        }
        let (now_ms, mut cache) = (self.ctx.now_ms(), self.lock());
        if unknown {
            cache.generations.begin_unknown();
        }
        for &inode in inodes {
            change.inodes.push((inode, cache.generations.begin(Generations::slot(inode))));
        }
        for &(dir, name) in names {
            let begun = cache.generations.begin(Generations::slot((dir, name)));
            let was = cache.held.cached(dir, now_ms).and_then(|cached| cached.entries.get(name).copied());
            let (name, stamp) = (name.to_vec(), cache.held.stamp(dir));
            change.names.push(ChangedName { dir, name, begun, stamp, was, outcome: None });
        }
        drop(cache);
        change.forget();
        change
    }
}

impl LocalChange {
    /// It succeeded; `attr` is what the reply says the inode's attributes are.
    pub(crate) fn done(mut self, answer: &MetaAnswer, attr: &mut Attr) {
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
        let (now_ms, mut cache) = (delegations.ctx.now_ms(), delegations.lock());
        if std::mem::take(&mut self.unknown) {
            cache.generations.end_unknown();
        }
        let mut known = result.as_ref().is_some_and(|(_, attr)| !self.inodes.iter().any(|(one, _)| *one == attr.inode));
        for (inode, begun) in std::mem::take(&mut self.inodes) {
            delegations.alters(inode);
            let alone = cache.generations.end(Generations::slot(inode), begun);
            known |= alone && result.as_ref().is_some_and(|(_, attr)| attr.inode == inode);
        }
        let names = std::mem::take(&mut self.names);
        // The outcome of one name may depend on another, so all delegations must have been held throughout.
        let held = names.iter().all(|one| cache.cacheable(one.dir, one.stamp, false, now_ms).is_some());
        for ChangedName { dir, name, begun, outcome, .. } in names {
            let alone = cache.generations.end(Generations::slot((dir, name.as_slice())), begun);
            if let Some(is) = outcome.filter(|_| alone && held)
                && let Some(cached) = cache.held.cached(dir, now_ms)
            {
                cached.entries.insert(name, is);
                cache.names += 1;
            }
        }
        cache.bound_names(delegations.ctx.config.max_kept_entries);
        if let Some((answer, attr)) = result {
            let note = if known { delegations.note_in(&cache, attr.inode) } else { Note::default() };
            delegations.take_attr_in(&mut cache, answer, &note, attr);
        }
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
        let mut cache = self.delegations.lock();
        for (inode, _) in &self.inodes {
            cache.held.peek(*inode).into_iter().for_each(CachedInode::directory_changed);
            self.delegations.alters(*inode);
        }
        for ChangedName { dir, name, .. } in &self.names {
            cache.held.peek(*dir).map(|cached| cached.entries.remove(name));
        }
    }
}

impl Drop for LocalChange {
    fn drop(&mut self) {
        self.end(None);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Own changes of what is kept: forgotten when they begin, and known anew where the outcome is certain.
//!
//! Answers to questions that were asked meanwhile are not kept (`delegation::logic::generations`).

use crate::core::Core;
use crate::delegation::cache::Note;
use crate::delegation::logic::generations::{Epochs, Noted};
use crate::rpc::meta::Answer;
use nyala_wire::{Attr, InodeId};
use std::sync::Arc;

/// A change under way; over when dropped.
pub(crate) struct Change {
    core: Arc<Core>,
    inodes: Vec<(InodeId, Noted)>,
    names: Vec<Changing>,
    /// It may concern inodes that are not named.
    unknown: bool,
}

/// A name that is changed.
struct Changing {
    dir: InodeId,
    name: Vec<u8>,
    begun: Noted,
    /// The directory's lease when the change began.
    stamp: Option<u64>,
    /// What the name was under that lease, if that was known.
    was: Option<Option<InodeId>>,
    /// What it is afterwards, if it worked and that is certain.
    outcome: Option<Option<InodeId>>,
}

impl Core {
    /// Begins a change of inodes (directories whose entries change among them), of names, and of what is behind them.
    pub(crate) fn change(self: &Arc<Core>, inodes: &[InodeId], names: &[(InodeId, &[u8])]) -> Change {
        self.begin(inodes, names, !names.is_empty())
    }

    /// The same for a name that is made: nothing that was there before changes but its directory.
    pub(crate) fn adding(self: &Arc<Core>, dir: InodeId, name: &[u8]) -> Change {
        self.begin(&[dir], &[(dir, name)], false)
    }

    fn begin(self: &Arc<Core>, inodes: &[InodeId], names: &[(InodeId, &[u8])], unknown: bool) -> Change {
        let mut change = Change { core: self.clone(), inodes: Vec::new(), names: Vec::new(), unknown };
        if !self.config.leases {
            return change;
        }
        let mut inner = self.hub.lock();
        if unknown {
            inner.epochs.begin_unknown();
        }
        for &inode in inodes {
            change.inodes.push((inode, inner.epochs.begin(Epochs::slot(inode))));
        }
        let now_ms = self.now_ms();
        for &(dir, name) in names {
            let begun = inner.epochs.begin(Epochs::slot((dir, name)));
            let was = inner.leases.kept(dir, now_ms).and_then(|kept| kept.entries.get(name).copied());
            let stamp = inner.leases.stamp(dir);
            change.names.push(Changing { dir, name: name.to_vec(), begun, stamp, was, outcome: None });
        }
        drop(inner);
        change.forget();
        change
    }
}

impl Change {
    /// It worked, and these are an inode's attributes now.
    pub(crate) fn done(mut self, answer: &Answer, attr: &mut Attr) {
        self.end(Some((answer, attr)));
    }

    fn end(&mut self, result: Option<(&Answer, &mut Attr)>) {
        let core = self.core.clone();
        if !core.config.leases {
            if let Some((answer, attr)) = result {
                core.take_attr(answer, &core.note(attr.inode), attr);
            }
            return;
        }
        let (now_ms, mut inner) = (core.now_ms(), core.hub.lock());
        if std::mem::take(&mut self.unknown) {
            inner.epochs.end_unknown();
        }
        let mut known = result.as_ref().is_some_and(|(_, attr)| !self.inodes.iter().any(|(one, _)| *one == attr.inode));
        for (inode, begun) in std::mem::take(&mut self.inodes) {
            core.alters(inode);
            let alone = inner.epochs.end(Epochs::slot(inode), begun);
            known |= alone && result.as_ref().is_some_and(|(_, attr)| attr.inode == inode);
        }
        let names = std::mem::take(&mut self.names);
        // One name's outcome may rest on what another one was, so that all leases have to have been there all the time.
        let held = names.iter().all(|one| inner.keep(one.dir, one.stamp, false, now_ms).is_some());
        for Changing { dir, name, begun, outcome, .. } in names {
            let alone = inner.epochs.end(Epochs::slot((dir, name.as_slice())), begun);
            if let Some(is) = outcome.filter(|_| alone && held)
                && let Some(kept) = inner.leases.kept(dir, now_ms)
            {
                kept.entries.insert(name, is);
                inner.names += 1;
            }
        }
        inner.bound_names(core.config.max_kept_entries);
        if let Some((answer, attr)) = result {
            let note = if known { core.note_in(&inner, attr.inode) } else { Note::default() };
            core.take_attr_in(&mut inner, answer, &note, attr);
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
        let mut inner = self.core.hub.lock();
        for (inode, _) in &self.inodes {
            if let Some(kept) = inner.leases.peek(*inode) {
                kept.changed();
                kept.listings.clear();
            }
            self.core.alters(*inode);
        }
        for one in &self.names {
            if let Some(kept) = inner.leases.peek(one.dir) {
                kept.entries.remove(&one.name);
            }
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        self.end(None);
    }
}

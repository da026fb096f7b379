// SPDX-License-Identifier: Apache-2.0

//! Own changes of what is kept: forgotten when they begin, and known anew where the outcome is certain.
//!
//! Answers to questions that were asked meanwhile are not kept (`logic::epochs`).

use crate::core::Core;
use crate::hub::Note;
use crate::logic::epochs::{Epochs, Noted};
use crate::router::Answer;
use nyala_wire::{Attr, InodeId};
use std::sync::Arc;

/// A change under way; over when dropped.
pub(crate) struct Change {
    core: Arc<Core>,
    inodes: Vec<(InodeId, Noted)>,
    names: Vec<(InodeId, Vec<u8>, Noted)>,
    /// What the names are afterwards, if it worked.
    outcome: Vec<Option<Option<InodeId>>>,
}

impl Core {
    /// Begins a change of inodes (directories whose entries change among them) and of names in directories.
    pub(crate) fn change(self: &Arc<Core>, inodes: &[InodeId], names: &[(InodeId, &[u8])]) -> Change {
        let mut change = Change { core: self.clone(), inodes: Vec::new(), names: Vec::new(), outcome: Vec::new() };
        if !self.config.leases {
            return change;
        }
        let mut inner = self.hub.lock();
        for &inode in inodes {
            change.inodes.push((inode, inner.epochs.begin(Epochs::slot(inode))));
        }
        for &(dir, name) in names {
            change.names.push((dir, name.to_vec(), inner.epochs.begin(Epochs::slot((dir, name)))));
        }
        drop(inner);
        change.outcome = vec![None; change.names.len()];
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
        let now_ms = core.now_ms();
        let mut inner = core.hub.lock();
        let mut known = result.as_ref().is_some_and(|(_, attr)| !self.inodes.iter().any(|(one, _)| *one == attr.inode));
        for (inode, begun) in std::mem::take(&mut self.inodes) {
            let alone = inner.epochs.end(Epochs::slot(inode), begun);
            known |= alone && result.as_ref().is_some_and(|(_, attr)| attr.inode == inode);
        }
        let outcomes = std::mem::take(&mut self.outcome);
        for ((dir, name, begun), outcome) in std::mem::take(&mut self.names).into_iter().zip(outcomes) {
            let alone = inner.epochs.end(Epochs::slot((dir, name.as_slice())), begun);
            if let Some(is) = outcome.filter(|_| alone)
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
        if let Some(outcome) = self.outcome.get_mut(number) {
            *outcome = Some(inode);
        }
    }

    fn forget(&self) {
        let mut inner = self.core.hub.lock();
        for (inode, _) in &self.inodes {
            if let Some(kept) = inner.leases.peek(*inode) {
                kept.changed();
                kept.listings.clear();
            }
            if let Some(file) = self.core.files.get(*inode) {
                file.state.lock().attr_ms = 0;
            }
        }
        for (dir, name, _) in &self.names {
            if let Some(kept) = inner.leases.peek(*dir) {
                kept.entries.remove(name);
            }
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        self.end(None);
    }
}

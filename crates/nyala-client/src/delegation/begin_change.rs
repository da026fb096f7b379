// SPDX-License-Identifier: Apache-2.0

//! A local mutation begins: what is cached of all that it may concern is forgotten.

use crate::delegation::cache::DelegationCache;
use crate::delegation::local_change::{ChangedInode, ChangedName, LocalChange};
use crate::delegation::logic::generations::Generations;
use nyala_wire::InodeId;
use std::sync::Arc;

/// A directory, and a name in it.
type Entry<'a> = (InodeId, &'a [u8]);

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
        let dirs = names.iter().map(|(dir, _)| *dir);
        let (now_ms, mut shards) = (self.ctx.now_ms(), self.lock_of(dirs.chain(inodes.iter().copied())));
        let mut generations = self.generations();
        if unknown {
            generations.begin_unknown();
        }
        let mut begin_inode = |inode: InodeId| {
            let before = self.note_in(shards.of(inode), &generations, inode);
            ChangedInode { inode, begun: generations.begin(Generations::slot(inode)), before }
        };
        let inodes = inodes.iter().map(|inode| begin_inode(*inode)).collect();
        let mut begin_name = |(dir, name): Entry<'_>| {
            let begun = generations.begin(Generations::slot((dir, name)));
            let shard = shards.of(dir);
            let was = shard.cached(dir, now_ms).and_then(|cached| cached.entry(name));
            ChangedName { dir, name: name.to_vec(), begun, stamp: shard.stamp(dir), was, outcome: None }
        };
        let names = names.iter().map(|name| begin_name(*name)).collect();
        let began = self.note_unborn(&generations);
        let change = LocalChange { delegations: self.clone(), inodes, names, dirs: Vec::new(), unknown, began };
        drop((generations, shards));
        change.forget();
        change
    }
}

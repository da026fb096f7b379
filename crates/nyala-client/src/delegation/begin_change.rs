// SPDX-License-Identifier: Apache-2.0

//! A local mutation begins: what is cached of all that it may concern is forgotten.

use crate::delegation::cache::DelegationCache;
use crate::delegation::local_change::{ChangedName, LocalChange};
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

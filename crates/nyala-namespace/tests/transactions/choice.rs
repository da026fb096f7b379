// SPDX-License-Identifier: Apache-2.0

//! What clients do: mostly move their own file, which nobody else touches, and fight over shared names and directories.

use crate::check::inodes;
use crate::world::{CLIENTS, SERVERS, World, base, name};
use nyala_wire::meta::*;
use nyala_wire::*;

impl World {
    pub fn choose(&mut self, n: usize) -> MetaOp {
        match self.rng.index(10) {
            0..4 => self.move_own(n),
            4 | 5 => self.own_dir(n),
            _ => self.fight(),
        }
    }

    fn base(&mut self) -> InodeId {
        base(self.rng.index(usize::from(SERVERS) + 1) as u16)
    }

    pub fn move_own(&mut self, n: usize) -> MetaOp {
        let (from_parent, from_name) = self.clients[n].file.clone();
        let to_name = name(&format!("own{}", n as u64 + CLIENTS * self.rng.index(3) as u64));
        let to_parent = self.base();
        MetaOp::Rename(Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange: false })
    }

    fn own_dir(&mut self, n: usize) -> MetaOp {
        match self.clients[n].dir.clone() {
            Some((parent, name)) => MetaOp::Rmdir { parent, name },
            None => {
                let name = name(&format!("mine {n} {}", self.clients[n].done));
                MetaOp::Mkdir { entry: NewEntry { parent: self.base(), name, perm: 0o755, umask: 0 } }
            }
        }
    }

    /// Any directory that exists, or the base.
    fn any_dir(&mut self) -> InodeId {
        let dirs: Vec<InodeId> = inodes(self)
            .into_iter()
            .filter(|(_, record)| record.dir.as_ref().is_some_and(|part| part.range.is_none()))
            .map(|(inode, _)| inode)
            .collect();
        if self.rng.percent(40) || dirs.is_empty() { self.base() } else { dirs[self.rng.index(dirs.len())] }
    }

    fn fight(&mut self) -> MetaOp {
        // Enough to fill a directory that is to be split.
        let names = if self.faults.split_above > 0 { 10 } else { 3 };
        let shared = |world: &mut World| name(&format!("shared{}", world.rng.index(names)));
        let (parent, one) = (self.any_dir(), shared(self));
        let (to_parent, to_name) = (self.any_dir(), shared(self));
        let entry = NewEntry { parent, name: one.clone(), perm: 0o755, umask: 0 };
        match self.rng.index(12) {
            0 | 1 => MetaOp::Mkdir { entry },
            2 => MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: None },
            3 => MetaOp::Unlink { parent, name: one },
            4 => MetaOp::Rmdir { parent, name: one },
            5 => {
                let files = inodes(self).into_iter().filter(|(_, record)| record.dir.is_none());
                let files: Vec<InodeId> = files.map(|(inode, _)| inode).collect();
                let at = self.rng.index(files.len().max(1));
                let inode = files.get(at).copied().unwrap_or(InodeId(5));
                MetaOp::Link { inode, parent, name: one }
            }
            _ => MetaOp::Rename(Rename {
                from_parent: parent,
                from_name: one,
                to_parent,
                to_name,
                no_replace: self.rng.percent(10),
                exchange: self.rng.percent(30),
            }),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What was stated, on its way to be sorted by inode.

use crate::locations::ChunkAt;
use crate::loops::{Loops, Pairs};
use crate::sort::{Scratch, Sorted, Sorter};
use crate::stated::Stated;
use nyala_wire::check::Fact;
use nyala_wire::{FileKind, InodeId, TargetId};
use std::collections::BTreeSet;
use std::io;

/// Facts and directories, in memory up to a limit and else in files.
pub struct Sorting {
    scratch: Box<dyn Scratch>,
    sorter: Sorter,
    pairs: Pairs,
    only: Option<BTreeSet<InodeId>>,
}

impl Sorting {
    /// Of all inodes, or of some only. `limit`: bytes in memory.
    pub fn new(scratch: Box<dyn Scratch>, limit: usize, only: Option<BTreeSet<InodeId>>) -> Sorting {
        Sorting { scratch, sorter: Sorter::new(limit / 2), pairs: Pairs::new(limit / 2), only }
    }

    /// Bytes in memory now.
    pub fn in_memory(&self) -> usize {
        self.sorter.in_memory() + self.pairs.in_memory()
    }

    /// Whether it is of some inodes only.
    pub fn is_partial(&self) -> bool {
        self.only.is_some()
    }

    /// Keeps what a metadata target states of an inode, if that counts.
    pub fn meta(&mut self, target: TargetId, inode: InodeId, fact: Fact) -> io::Result<()> {
        if !self.is_wanted(inode) {
            return Ok(());
        }
        if let Fact::Inode(record) = &fact
            && let (FileKind::Directory, Some(parent)) = (record.kind, record.parent)
        {
            self.pairs.push(&mut *self.scratch, inode, parent)?;
        }
        self.sorter.push(&mut *self.scratch, &Stated::Meta(target, fact).record(inode))
    }

    /// Keeps a chunk file of an inode, if that counts.
    pub fn chunk(&mut self, inode: InodeId, chunk: ChunkAt) -> io::Result<()> {
        match self.is_wanted(inode) {
            true => self.sorter.push(&mut *self.scratch, &Stated::Chunk(chunk).record(inode)),
            false => Ok(()),
        }
    }

    fn is_wanted(&self, inode: InodeId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&inode))
    }

    /// The loops of directories, and all that was stated in the order of inodes.
    pub fn finish(mut self) -> io::Result<(Loops, Sorted)> {
        Ok((self.pairs.loops(&mut *self.scratch)?, self.sorter.finish(&mut *self.scratch)?))
    }
}

// SPDX-License-Identifier: Apache-2.0

//! One pass over what all servers say: facts go in, are sorted by inode, and each inode is shown to every class.
//!
//! Memory: the sorted facts ([`crate::sort`]), what is kept of servers ([`crate::servers`]), the findings up to a limit, one inode at
//! a time. None of it grows with the number of names.

use crate::compare::{compare, compare_servers};
use crate::looked::{Counts, Looked};
use crate::loops::{Loops, Pairs};
use crate::object::ChunkAt;
use crate::report::{Findings, Scope};
use crate::servers::Servers;
use crate::sort::{Scratch, Sorter};
use crate::stated::Stated;
use nyala_wire::check::{Fact, ServerFact};
use nyala_wire::map::ClusterMap;
use nyala_wire::storage::ListedFile;
use nyala_wire::{FileKind, InodeId, TargetId};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A pass that takes facts.
pub struct Pass {
    scope: Scope,
    scratch: Box<dyn Scratch>,
    only: Option<BTreeSet<InodeId>>,
    sorter: Sorter,
    pairs: Pairs,
    servers: Servers,
    counts: Counts,
}

impl Pass {
    /// Over everything. `limit`: bytes in memory.
    pub fn new(map: Arc<ClusterMap>, scratch: Box<dyn Scratch>, limit: usize) -> Pass {
        let scope = Scope { map, all_names: true, listed: BTreeSet::new(), loops: Loops::default() };
        let (sorter, pairs) = (Sorter::new(limit / 2), Pairs::new(limit / 2));
        let (servers, counts) = (Servers::new(), Counts::default());
        Pass { scope, scratch, only: None, sorter, pairs, servers, counts }
    }

    /// Over some inodes only. `before`: what servers said in the pass over everything.
    pub fn again(
        map: Arc<ClusterMap>,
        scratch: Box<dyn Scratch>,
        limit: usize,
        only: BTreeSet<InodeId>,
        before: &Servers,
    ) -> Pass {
        let mut pass = Pass { only: Some(only), ..Pass::new(map, scratch, limit) };
        for (target, server) in before {
            pass.servers.entry(*target).or_default().highest.clone_from(&server.highest);
        }
        pass
    }

    /// Bytes of facts in memory now.
    pub fn in_memory(&self) -> usize {
        self.sorter.in_memory() + self.pairs.in_memory()
    }

    /// What was looked at so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A metadata target was read at a log position.
    pub fn read_at(&mut self, target: TargetId, position: u64) {
        self.servers.entry(target).or_default().read_at(position);
    }

    /// Takes what a metadata target says of inodes that it was asked about: all of it, at one moment.
    pub fn of_inodes(&mut self, target: TargetId, fact: Fact) -> io::Result<()> {
        match fact {
            Fact::Server(fact) => self.of_server(target, fact),
            fact => fact.inode().map_or(Ok(()), |inode| self.keep(target, inode, fact))?,
        }
        Ok(())
    }

    /// Takes what a page of a metadata target says. In a pass over some inodes only their names count, and
    /// locks, whose rows are those of sessions: the rest of them is asked for.
    pub fn meta(&mut self, target: TargetId, fact: Fact) -> io::Result<()> {
        let fact = match fact {
            Fact::Server(fact) => {
                self.of_server(target, fact);
                return Ok(());
            }
            fact => fact,
        };
        let Some(inode) = fact.inode() else { return Ok(()) };
        match &fact {
            Fact::Name { .. } => self.counts.names += 1,
            Fact::Inode(_) => {
                self.counts.inodes += 1;
                self.servers.entry(target).or_default().see(inode);
            }
            _ => {}
        }
        match &self.only {
            Some(_) if !matches!(fact, Fact::Name { .. } | Fact::StrayLock { .. }) => Ok(()),
            _ => self.keep(target, inode, fact),
        }
    }

    fn of_server(&mut self, target: TargetId, fact: ServerFact) {
        // It may be a name, an inode or a queue of removals: what was not found may be there.
        if matches!(fact, ServerFact::Unreadable { .. }) {
            self.incomplete();
        }
        self.servers.entry(target).or_default().take(fact);
    }

    fn keep(&mut self, target: TargetId, inode: InodeId, fact: Fact) -> io::Result<()> {
        if !self.is_wanted(inode) {
            return Ok(());
        }
        if let Fact::Inode(record) = &fact
            && let (FileKind::Directory, Some(parent)) = (record.kind, record.parent)
        {
            self.pairs.push(&mut *self.scratch, inode, parent)?;
        }
        self.push(inode, &Stated::Meta(target, fact))
    }

    /// Takes a chunk file of a storage target.
    pub fn chunk(&mut self, target: TargetId, listed: &ListedFile) -> io::Result<()> {
        let (inode, index) = (listed.file.inode, listed.file.index);
        self.counts.chunks += 1;
        if self.is_wanted(inode) {
            self.push(inode, &Stated::Chunk(ChunkAt { target, index, len: listed.len, least: listed.least }))?;
        }
        Ok(())
    }

    /// A storage target was listed to the end.
    pub fn listed(&mut self, target: TargetId) {
        self.scope.listed.insert(target);
    }

    /// A metadata target could not be asked to the end.
    pub fn incomplete(&mut self) {
        self.scope.all_names = false;
    }

    fn is_wanted(&self, inode: InodeId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&inode))
    }

    fn push(&mut self, inode: InodeId, stated: &Stated) -> io::Result<()> {
        self.sorter.push(&mut *self.scratch, &stated.record(inode))
    }

    /// Compares everything. `most`: findings to keep.
    pub fn finish(mut self, most: usize) -> io::Result<Looked> {
        self.scope.loops = self.pairs.loops(&mut *self.scratch)?;
        let mut found = Findings::new(self.scope, most);
        compare(self.sorter.finish(&mut *self.scratch)?, &mut found)?;
        compare_servers(&self.servers, &mut found);
        Ok(Looked { findings: found.kept, more: found.more, counts: self.counts, servers: self.servers })
    }
}

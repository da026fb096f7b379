// SPDX-License-Identifier: Apache-2.0

//! One pass over what all servers say: facts go in, are sorted by inode, and each inode is shown to every class.
//!
//! Memory: the sorted facts ([`crate::sort`]), what is kept of servers ([`crate::servers`]), the findings up to a limit, one inode at
//! a time. None of it grows with the number of names.

use crate::compare::{compare, compare_servers};
use crate::locations::ChunkAt;
use crate::looked::{Counts, Looked};
use crate::loops::Loops;
use crate::report::{Findings, Scope};
use crate::servers::Servers;
use crate::sort::Scratch;
use crate::sorting::Sorting;
use nyala_wire::check::{Fact, ServerFact};
use nyala_wire::map::ClusterMap;
use nyala_wire::storage::ListedFile;
use nyala_wire::{InodeId, TargetId};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A pass that takes facts.
pub struct Pass {
    scope: Scope,
    sorting: Sorting,
    servers: Servers,
    counts: Counts,
}

impl Pass {
    /// Over everything. `limit`: bytes in memory.
    pub fn new(map: Arc<ClusterMap>, scratch: Box<dyn Scratch>, limit: usize) -> Pass {
        Pass::of(map, Sorting::new(scratch, limit, None))
    }

    fn of(map: Arc<ClusterMap>, sorting: Sorting) -> Pass {
        let scope = Scope { map, all_names: true, listed: BTreeSet::new(), loops: Loops::default() };
        Pass { scope, sorting, servers: Servers::new(), counts: Counts::default() }
    }

    /// Over some inodes only. `before`: what servers said in the pass over everything.
    pub fn again(
        map: Arc<ClusterMap>,
        scratch: Box<dyn Scratch>,
        limit: usize,
        only: BTreeSet<InodeId>,
        before: &Servers,
    ) -> Pass {
        let mut pass = Pass::of(map, Sorting::new(scratch, limit, Some(only)));
        for (target, server) in before {
            pass.servers.entry(*target).or_default().highest.clone_from(&server.highest);
        }
        pass
    }

    /// Bytes of facts in memory now.
    pub fn in_memory(&self) -> usize {
        self.sorting.in_memory()
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
            fact => fact.inode().map_or(Ok(()), |inode| self.sorting.meta(target, inode, fact))?,
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
        match self.sorting.is_partial() && !matches!(fact, Fact::Name { .. } | Fact::StrayLock { .. }) {
            true => Ok(()),
            false => self.sorting.meta(target, inode, fact),
        }
    }

    fn of_server(&mut self, target: TargetId, fact: ServerFact) {
        // It may be a name, an inode or a queue of removals: what was not found may be there.
        if matches!(fact, ServerFact::Unreadable { .. }) {
            self.incomplete();
        }
        self.servers.entry(target).or_default().take(fact);
    }

    /// Takes a chunk file of a storage target.
    pub fn chunk(&mut self, target: TargetId, listed: &ListedFile) -> io::Result<()> {
        let (inode, index) = (listed.file.inode, listed.file.index);
        self.counts.chunks += 1;
        self.sorting.chunk(inode, ChunkAt { target, index, len: listed.len, least: listed.least })
    }

    /// A storage target was listed to the end.
    pub fn listed(&mut self, target: TargetId) {
        self.scope.listed.insert(target);
    }

    /// A metadata target could not be asked to the end.
    pub fn incomplete(&mut self) {
        self.scope.all_names = false;
    }

    /// Compares everything. `most`: findings to keep.
    pub fn finish(mut self, most: usize) -> io::Result<Looked> {
        let (loops, sorted) = self.sorting.finish()?;
        self.scope.loops = loops;
        let mut found = Findings::new(self.scope, most);
        compare(sorted, &mut found)?;
        compare_servers(&self.servers, &mut found);
        Ok(Looked { findings: found.kept, more: found.more, counts: self.counts, servers: self.servers })
    }
}

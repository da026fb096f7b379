// SPDX-License-Identifier: Apache-2.0

//! A small file system, as what its servers say: the root, a directory with another one in it, an inline file and a striped one.

#![allow(dead_code, reason = "each test program uses its own part")]

use nyala_fsck::finding::Finding;
use nyala_fsck::pass::Pass;
use nyala_fsck::sort::MemScratch;
use nyala_wire::check::{Fact, InodeFact};
use nyala_wire::map::*;
use nyala_wire::storage::{ChunkFileId, ListedFile};
use nyala_wire::*;
use std::sync::Arc;

pub const ME: TargetId = TargetId(1);
pub const OTHER: TargetId = TargetId(2);
pub const DIR: InodeId = InodeId(16);
pub const INNER: InodeId = InodeId(17);
pub const SMALL: InodeId = InodeId(18);
pub const STRIPED: InodeId = InodeId(19);
const SIZE: u64 = 100_000;

pub fn inode(slot: u16, sequence: u64) -> InodeId {
    InodeId::new(Slot(slot), sequence).unwrap()
}

pub fn map() -> ClusterMap {
    let target = |id: u16, kind| Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind,
        node: NodeId(1),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let mut targets = vec![target(1, TargetKind::Meta), target(2, TargetKind::Meta)];
    targets.extend((101..104).map(|id| target(id, TargetKind::Storage)));
    let slots = |first, target| SlotRange { first: Slot(first), count: 64, target };
    ClusterMap { version: MapVersion(1), targets, slots: vec![slots(0, ME), slots(64, OTHER)], ..ClusterMap::default() }
}

pub fn record(inode: InodeId, kind: FileKind) -> InodeFact {
    InodeFact {
        inode,
        kind,
        nlink: 1,
        size: 0,
        ctime: Time { seconds: 5, nanos: 6 },
        parent: None,
        entries: None,
        layout: None,
        inline_version: None,
        xattr_bytes: None,
        allocated: None,
        range: None,
    }
}

pub fn dir(inode: InodeId, parent: InodeId, entries: u64, subdirs: u32) -> InodeFact {
    let (parent, entries) = (Some(parent), Some(entries));
    InodeFact { parent, entries, nlink: 2 + subdirs, ..record(inode, FileKind::Directory) }
}

pub fn listed(inode: InodeId, index: u16, len: u64, least: u64) -> ListedFile {
    ListedFile { file: ChunkFileId { inode, index }, len, least }
}

/// What servers say.
pub struct World {
    pub facts: Vec<(TargetId, Fact)>,
    pub chunks: Vec<(TargetId, ListedFile)>,
    /// Nothing changes while they are asked.
    pub steady: bool,
    /// All could be asked.
    pub all: bool,
}

impl World {
    pub fn new() -> World {
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: 1 << 16,
            targets: vec![TargetId(101), TargetId(102)],
            moves: 0,
            code: None,
        };
        let file = |inode| InodeFact { layout: Some(layout.clone()), ..record(inode, FileKind::File) };
        let records = [
            dir(InodeId::ROOT, InodeId::ROOT, 2, 1),
            dir(DIR, InodeId::ROOT, 2, 1),
            dir(INNER, DIR, 0, 0),
            InodeFact { size: 6, inline_version: Some(2), ..file(SMALL) },
            InodeFact { size: SIZE, ..file(STRIPED) },
        ];
        let mut facts: Vec<(TargetId, Fact)> =
            records.into_iter().map(|record| (ME, Fact::Inode(Box::new(record)))).collect();
        facts.push((ME, Fact::Content { inode: SMALL, bytes: 6 }));
        facts.push((ME, Fact::Listed { dir: InodeId::ROOT, entries: 1, subdirs: 1 }));
        // In two pages.
        facts.push((ME, Fact::Listed { dir: InodeId::ROOT, entries: 1, subdirs: 0 }));
        facts.push((ME, Fact::Listed { dir: DIR, entries: 2, subdirs: 1 }));
        let chunks = [(101, 0), (102, 1)].map(|(target, index)| {
            let len = layout.chunk_file_len(index, SIZE);
            (TargetId(target), listed(STRIPED, index, len, (len - 1) / 4096 * 4096 + 1))
        });
        let mut world = World { facts, chunks: chunks.to_vec(), steady: true, all: true };
        for (dir, inode, kind, cookie) in [
            (InodeId::ROOT, DIR, FileKind::Directory, 256),
            (InodeId::ROOT, STRIPED, FileKind::File, 512),
            (DIR, SMALL, FileKind::File, 256),
            (DIR, INNER, FileKind::Directory, 512),
        ] {
            let misplaced = false;
            world.facts.push((ME, Fact::Name { inode, dir, cookie, kind, misplaced, of: None }));
        }
        world
    }

    pub fn remove(&mut self, which: impl Fn(&Fact) -> bool) {
        let before = self.facts.len();
        self.facts.retain(|(_, fact)| !which(fact));
        assert!(self.facts.len() < before, "it was there");
    }

    pub fn record(&mut self, inode: InodeId) -> &mut InodeFact {
        let records = self.facts.iter_mut().filter_map(|(_, fact)| match fact {
            Fact::Inode(record) if record.inode == inode => Some(&mut **record),
            _ => None,
        });
        records.last().expect("it is there")
    }

    /// Directory, cookie and kind of a name.
    pub fn name(&mut self, of: InodeId, inode: InodeId) -> (&mut InodeId, &mut u64, &mut FileKind) {
        let names = self.facts.iter_mut().filter_map(|(_, fact)| match fact {
            Fact::Name { inode: named, dir, cookie, kind, .. } if *named == inode && *dir == of => {
                Some((dir, cookie, kind))
            }
            _ => None,
        });
        names.last().expect("it is there")
    }

    /// A further name, which its directory counts.
    pub fn add_name(&mut self, dir: InodeId, inode: InodeId, kind: FileKind, cookie: u64) {
        self.facts.push((ME, Fact::Name { inode, dir, cookie, kind, misplaced: false, of: None }));
        let subdirs = u64::from(kind == FileKind::Directory);
        self.facts.push((ME, Fact::Listed { dir, entries: 1, subdirs }));
        let record = self.record(dir);
        record.entries = record.entries.map(|entries| entries + 1);
        record.nlink += subdirs as u32;
    }

    /// A pass that has heard all of it.
    pub fn pass(&self, limit: usize) -> Pass {
        let mut pass = Pass::new(Arc::new(map()), Box::<MemScratch>::default(), limit);
        for (at, (target, fact)) in self.facts.iter().enumerate() {
            pass.read_at(*target, if self.steady { 7 } else { at as u64 });
            pass.meta(*target, fact.clone()).unwrap();
        }
        self.chunks.iter().for_each(|(target, chunk)| pass.chunk(*target, chunk).unwrap());
        (101..104).for_each(|target| pass.listed(TargetId(target)));
        if !self.all {
            pass.incomplete();
        }
        pass
    }

    /// What a first look finds, whether facts are sorted in memory or not.
    pub fn look(&self) -> Vec<Finding> {
        let findings = self.pass(1 << 30).finish(1000).unwrap().findings;
        assert_eq!(self.pass(0).finish(1000).unwrap().findings, findings);
        findings
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Memory does not grow with the number of names. `make fsck-memory` checks ten million (`NYALA_FSCK_NAMES`), made up row by row and not
//! as files; the default is for every run.

mod world;

use nyala_fsck::pass::Pass;
use nyala_fsck::sort::{Scratch, ScratchFile};
use nyala_wire::check::{Fact, InodeFact};
use nyala_wire::{FileKind, InodeId, Layout, Pattern, TargetId};
use std::io;
use std::sync::Arc;
use std::time::Instant;
use world::{dir, inode, listed, map, record};

/// Memory for facts, bytes.
const LIMIT: usize = 16 << 20;
/// Files of one directory.
const IN_ONE: u64 = 1000;

struct Files;

impl Scratch for Files {
    fn file(&mut self) -> io::Result<Box<dyn ScratchFile>> {
        Ok(Box::new(tempfile::tempfile_in("/var/tmp")?))
    }
}

/// Bytes that this process has had in memory at most.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// The server of an inode's slot.
fn server_of(inode: InodeId) -> TargetId {
    map().slot_target(inode.slot()).unwrap()
}

fn directory(pass: &mut Pass, number: u64, files: u64) {
    // Directories hang from each other, ten from each.
    let of = |number: u64| if number == 0 { InodeId::ROOT } else { inode((number % 128) as u16, 1_000_000 + number) };
    let (this, above) = (of(number), of(number.saturating_sub(1) / 10));
    let meta = server_of(this);
    pass.meta(server_of(above), Fact::Listed { dir: above, entries: 1, subdirs: 1 }).unwrap();
    let (kind, misplaced) = (FileKind::Directory, false);
    pass.meta(server_of(above), Fact::Name { inode: this, dir: above, cookie: number << 8, kind, misplaced, of: None })
        .unwrap();
    let mut own = dir(this, above, files, 0);
    let children = (number * 10 + 1..=number * 10 + 10).filter(|child| *child < pass_directories()).count() as u64;
    own.entries = Some(files + children);
    own.nlink = 2 + children as u32;
    pass.meta(meta, Fact::Inode(Box::new(own))).unwrap();
    pass.meta(meta, Fact::Listed { dir: this, entries: files, subdirs: 0 }).unwrap();
    let layout =
        Layout { pattern: Pattern::Raid0, chunk_bytes: 1 << 16, targets: vec![TargetId(101)], moves: 0, code: None };
    for file in 0..files {
        let inode = inode(this.slot().0, 1_000_000_000 + number * IN_ONE + file);
        let (kind, cookie) = (FileKind::File, file << 8);
        pass.meta(meta, Fact::Name { inode, dir: this, cookie, kind, misplaced, of: None }).unwrap();
        let fact = InodeFact { size: 5000, layout: Some(layout.clone()), ..record(inode, kind) };
        pass.meta(meta, Fact::Inode(Box::new(fact))).unwrap();
        // One file of every tenth directory has lost what it had.
        if file != 77 || number % 10 != 3 {
            pass.chunk(TargetId(101), &listed(inode, 0, 5000, 4097)).unwrap();
        }
        assert!(pass.in_memory() <= LIMIT, "{}", pass.in_memory());
    }
}

fn pass_directories() -> u64 {
    let names: u64 = std::env::var("NYALA_FSCK_NAMES").map_or(200_000, |names| names.parse().unwrap());
    (names / IN_ONE).max(20)
}

#[test]
fn memory_does_not_grow_with_names() {
    let (directories, began, before) = (pass_directories(), Instant::now(), peak());
    let mut pass = Pass::new(Arc::new(map()), Box::new(Files), LIMIT);
    pass.meta(server_of(InodeId::ROOT), Fact::Inode(Box::new(dir(InodeId::ROOT, InodeId::ROOT, 10, 10)))).unwrap();
    // The root's own, which `directory` makes for 0, is this one.
    (1..directories).for_each(|number| directory(&mut pass, number, IN_ONE));
    pass.listed(TargetId(101));
    let looked = pass.finish(10_000).unwrap();
    let grown = peak() - before;
    let wrong = looked.findings.iter().filter(|finding| finding.class == "chunk-missing").count() as u64;
    assert_eq!(wrong + looked.more, (1..directories).filter(|number| number % 10 == 3).count() as u64);
    let other: Vec<_> = looked.findings.iter().filter(|finding| finding.class != "chunk-missing").take(3).collect();
    assert!(other.is_empty(), "{other:?}");
    println!("{:?}: {} MiB more memory, {:?}", looked.counts, grown >> 20, began.elapsed());
    assert!(grown < 3 * LIMIT as u64 + (32 << 20), "{} MiB", grown >> 20);
}

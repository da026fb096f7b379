// SPDX-License-Identifier: Apache-2.0

//! A small file system as facts: whole, no class finds anything; with one thing wrong, the class for it does, and no other.

mod world;

use nyala_fsck::classes::CLASSES;
use nyala_fsck::compare::compare_mirrors;
use nyala_fsck::finding::{Finding, Fix, Subject};
use nyala_fsck::mirrors::{ChunkDiffers, Mirrors, TablesDiffer};
use nyala_fsck::pass::Pass;
use nyala_fsck::sort::MemScratch;
use nyala_fsck::suspects::Suspects;
use nyala_wire::check::{Fact, InodeFact, ServerFact};
use nyala_wire::fragments::CookieRange;
use nyala_wire::map::{Group, MemberState, TargetKind};
use nyala_wire::meta::{FragmentRepair, Repair, ServerRepair};
use nyala_wire::meta_tx::TxId;
use nyala_wire::storage::{ChunkFileId, ListedFile};
use nyala_wire::{ErasureCode, FileKind, GroupId, InodeId, Layout, MapVersion, Pattern, SessionId, Slot, TargetId};
use std::collections::BTreeSet;
use std::sync::Arc;
use world::*;

/// What is found, by class.
fn classes(world: &World) -> Vec<&'static str> {
    let found: BTreeSet<&str> = world.look().iter().map(|finding| finding.class).collect();
    found.into_iter().collect()
}

fn only(world: &World, class: &'static str) -> Finding {
    assert_eq!(classes(world), [class]);
    world.look().remove(0)
}

#[test]
fn nothing_is_wrong_with_a_whole_file_system() {
    assert_eq!(World::new().look(), []);
}

#[test]
fn names_and_directories() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Inode(record) if record.inode == SMALL));
    world.remove(|fact| matches!(fact, Fact::Content { inode: SMALL, .. }));
    let dangling = only(&world, "name-dangling");
    let remove = Repair::RemoveName { dir: DIR, cookie: 256, inode: SMALL };
    assert_eq!(dangling.fixes, [Fix::Meta(remove)]);

    let mut world = World::new();
    *world.name(DIR, SMALL).2 = FileKind::Fifo;
    only(&world, "name-kind");

    let mut world = World::new();
    world.facts.iter_mut().for_each(|(_, fact)| {
        if let Fact::Name { inode: STRIPED, misplaced, .. } = fact {
            *misplaced = true;
        }
    });
    only(&world, "name-misplaced");

    let mut world = World::new();
    world.facts.push((ME, Fact::Listed { dir: inode(9, 99), entries: 3, subdirs: 0 }));
    only(&world, "names-without-directory");

    let mut world = World::new();
    world.record(DIR).entries = Some(7);
    only(&world, "directory-count");
    let mut world = World::new();
    world.record(DIR).nlink = 9;
    only(&world, "directory-count");

    let mut world = World::new();
    world.record(INNER).parent = Some(InodeId::ROOT);
    let parent = only(&world, "directory-parent");
    assert_eq!(parent.fixes, [Fix::Meta(Repair::SetParent { dir: INNER, from: InodeId::ROOT, to: DIR })]);

    let mut world = World::new();
    world.add_name(InodeId::ROOT, INNER, FileKind::Directory, 2560);
    let names = only(&world, "directory-names");
    assert_eq!(names.fixes, [Fix::Meta(Repair::RemoveName { dir: InodeId::ROOT, cookie: 2560, inode: INNER })]);

    // DIR is in INNER, which is in DIR.
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Name { inode: DIR, .. }));
    world.record(InodeId::ROOT).entries = Some(1);
    world.record(InodeId::ROOT).nlink = 2;
    world.remove(|fact| matches!(fact, Fact::Listed { dir: InodeId::ROOT, .. }));
    world.facts.push((ME, Fact::Listed { dir: InodeId::ROOT, entries: 1, subdirs: 0 }));
    world.add_name(INNER, DIR, FileKind::Directory, 256);
    world.record(INNER).entries = Some(1);
    world.record(INNER).nlink = 3;
    world.record(DIR).parent = Some(INNER);
    let found = only(&world, "directory-loop");
    assert_eq!(found.involves, [DIR, INNER]);
    assert!(matches!(
        found.fixes[..],
        [Fix::Meta(Repair::RemoveName { dir: INNER, .. }), Fix::Adopt { inode: DIR, .. }]
    ));
}

/// DIR is split: what was in it is in a fragment at another server.
fn split() -> (World, InodeId) {
    let (mut world, fragment, range) = (World::new(), inode(70, 9), CookieRange { from: 0, upto: 1 << 62 });
    for (from, fact) in &mut world.facts {
        match fact {
            Fact::Name { dir, of, .. } if *dir == DIR => (*from, *dir, *of) = (OTHER, fragment, Some(DIR)),
            Fact::Listed { dir, .. } if *dir == DIR => (*from, *dir) = (OTHER, fragment),
            _ => {}
        }
    }
    (world.record(DIR).entries, world.record(DIR).nlink) = (Some(0), 2);
    let record = InodeFact { range: Some(range), ..dir(fragment, DIR, 2, 1) };
    world.facts.push((OTHER, Fact::Inode(Box::new(record))));
    world.facts.push((ME, Fact::Fragment { inode: fragment, dir: DIR, range }));
    (world, fragment)
}

#[test]
fn split_directories() {
    assert_eq!(split().0.look(), []);

    let (mut world, fragment) = split();
    world.remove(|fact| matches!(fact, Fact::Fragment { .. }));
    let stray = only(&world, "fragment-stray");
    assert_eq!(stray.fixes, [Fix::Meta(Repair::Fragment(FragmentRepair::Remove(fragment)))]);
    assert_eq!(stray.involves, [fragment, DIR]);
    let (mut world, fragment) = split();
    world.record(fragment).range = Some(CookieRange { from: 0, upto: 1 << 61 });
    only(&world, "fragment-stray");

    let (mut world, fragment) = split();
    world.remove(|fact| matches!(fact, Fact::Inode(record) if record.inode == fragment));
    let range = CookieRange { from: 0, upto: 1 << 62 };
    let make = Repair::Fragment(FragmentRepair::Make { inode: fragment, dir: DIR, range });
    let missing = only(&world, "fragment-missing");
    assert_eq!(missing.fixes, [Fix::Meta(make), Fix::Meta(Repair::CountNames(fragment))], "its names are there");

    let (mut world, fragment) = split();
    world.record(INNER).parent = Some(fragment);
    let parent = only(&world, "directory-parent");
    assert_eq!(parent.fixes, [Fix::Meta(Repair::SetParent { dir: INNER, from: fragment, to: DIR })]);
}

#[test]
fn inodes() {
    let mut world = World::new();
    world.record(SMALL).nlink = 4;
    assert_eq!(only(&world, "link-count").fixes, [Fix::Meta(Repair::SetLinks { inode: SMALL, from: 4, to: 1 })]);

    for lost in [SMALL, INNER] {
        let mut world = World::new();
        world.remove(|fact| matches!(fact, Fact::Name { inode, .. } if *inode == lost));
        assert!(matches!(only(&world, "inode-orphan").fixes[..], [Fix::Adopt { inode, .. }] if inode == lost));
    }

    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Name { inode: SMALL, .. }));
    world.record(SMALL).nlink = 0;
    only(&world, "inode-unlinked");
    world.facts.push((ME, Fact::Open { inode: SMALL, session: SessionId(5), known: true }));
    assert_eq!(classes(&world), [] as [&str; 0], "it is open");

    let mut world = World::new();
    world.record(SMALL).xattr_bytes = Some(3);
    only(&world, "xattr-count");

    let mut world = World::new();
    world.facts.push((OTHER, Fact::Garbage { inode: STRIPED, moved: None }));
    only(&world, "row-foreign");
    world.facts.pop();
    world.facts.push((ME, Fact::Garbage { inode: STRIPED, moved: None }));
    only(&world, "garbage-of-living");
}

#[test]
fn content_sessions_and_locks() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Content { inode: SMALL, .. }));
    only(&world, "content-lost");
    for fact in [
        Fact::Content { inode: STRIPED, bytes: 9 },
        Fact::Content { inode: inode(9, 99), bytes: 9 },
        Fact::Xattrs { inode: inode(9, 99), bytes: 9 },
    ] {
        let mut world = World::new();
        world.facts.push((ME, fact));
        only(&world, "content-stray");
    }
    let session = SessionId(5);
    for (class, fact) in [
        ("open-stray", Fact::Open { inode: SMALL, session, known: false }),
        ("lock-stray", Fact::StrayLock { inode: SMALL, session }),
        ("replies-stray", Fact::Server(ServerFact::StrayReplies { session })),
        ("prepared-stuck", Fact::Server(ServerFact::Prepared { tx: TxId { coordinator: OTHER, number: 7 } })),
        ("committed-stuck", Fact::Server(ServerFact::Committed { number: 7, waits_for: vec![OTHER] })),
        ("row-unreadable", Fact::Server(ServerFact::Unreadable { key: b"I123".to_vec().into() })),
    ] {
        let mut world = World::new();
        world.facts.push((ME, fact));
        only(&world, class);
    }
}

#[test]
fn numbers() {
    let mut world = World::new();
    world.facts.push((ME, Fact::Server(ServerFact::NextSequence { slot: Slot(0), next: SMALL.sequence() })));
    let found = only(&world, "slot-sequence");
    assert_eq!(found.fixes, [Fix::MetaAt(ME, ServerRepair::RaiseSequence { slot: Slot(0), to: 1 << 24 })]);
    let mut world = World::new();
    world.facts.push((ME, Fact::Server(ServerFact::NextSequence { slot: Slot(0), next: 1 << 20 })));
    assert_eq!(classes(&world), [] as [&str; 0]);
    world.facts.push((ME, Fact::Server(ServerFact::Count { inodes: 12 })));
    only(&world, "inode-count");
    world.steady = false;
    assert_eq!(classes(&world), [] as [&str; 0], "it may have changed between two pages");
}

#[test]
fn chunk_files() {
    let chunk = |target, inode, index, len| (TargetId(target), listed(inode, index, len, len.min(1)));
    for (class, more) in [
        ("chunk-orphan", chunk(101, inode(9, 99), 0, 50)),
        ("chunk-beside-inline", chunk(101, SMALL, 0, 50)),
        ("chunk-unexpected", chunk(101, STRIPED, 2, 50)),
        ("chunk-unexpected", chunk(103, STRIPED, 1, 50)),
    ] {
        let mut world = World::new();
        world.chunks.push(more);
        only(&world, class);
    }
    let mut world = World::new();
    world.facts.push((ME, Fact::Garbage { inode: inode(9, 99), moved: None }));
    world.chunks.push(chunk(101, inode(9, 99), 0, 50));
    assert_eq!(classes(&world), [] as [&str; 0], "it is about to be removed");

    let mut world = World::new();
    world.chunks[0].1.len = 5;
    assert_eq!(only(&world, "chunk-lost").fixes, [], "it is not mirrored");
    let mut world = World::new();
    world.chunks[1].1.len += 1;
    assert_eq!(only(&world, "chunk-excess").fixes, [Fix::CutBehindEnd(STRIPED)]);
    world.facts.push((ME, Fact::Truncation { inode: STRIPED }));
    assert_eq!(classes(&world), [] as [&str; 0], "it is about to be cut");
    let mut world = World::new();
    world.chunks.remove(0);
    only(&world, "chunk-missing");
    world.record(STRIPED).allocated = Some(9);
    assert_eq!(classes(&world), [] as [&str; 0], "a hole");
    let mut world = World::new();
    world.record(STRIPED).layout.as_mut().unwrap().targets[1] = TargetId(999);
    assert_eq!(classes(&world), ["chunk-unexpected", "target-missing"]);
}

/// Only where a file has all that its layout says, what lies elsewhere is of no use.
#[test]
fn an_unexpected_chunk_file_goes_only_beside_a_whole_file() {
    let mut world = World::new();
    world.chunks.push((TargetId(103), listed(STRIPED, 1, 50, 1)));
    let file = ChunkFileId { inode: STRIPED, index: 1 };
    assert_eq!(only(&world, "chunk-unexpected").fixes, [Fix::RemoveChunk(TargetId(103), file)]);
    let mut shorter = World::new();
    shorter.chunks = world.chunks.clone();
    shorter.chunks[1].1.len -= 1;
    assert_eq!(only(&shorter, "chunk-unexpected").fixes, []);
    world.chunks.remove(1);
    let found = world.look();
    assert!(found.iter().all(|finding| finding.fixes.is_empty()), "it may be where its data is: {found:?}");
}

/// The members of a group that a file's data is on.
#[test]
fn a_mirrored_chunk_file_is_copied_from_another_member() {
    let mut map = map();
    map.groups = vec![group()];
    let mut world = World::new();
    let layout =
        Layout { pattern: Pattern::Mirror, chunk_bytes: 1 << 16, targets: vec![TargetId(7)], moves: 0, code: None };
    world.record(STRIPED).layout = Some(layout);
    let of = |target, len| (TargetId(target), listed(STRIPED, 0, len, 98_305));
    world.chunks = vec![of(101, 100_000), of(102, 10_000)];
    let mut pass = Pass::new(Arc::new(map), Box::<MemScratch>::default(), 0);
    world.facts.iter().for_each(|(target, fact)| pass.meta(*target, fact.clone()).unwrap());
    world.chunks.iter().for_each(|(target, chunk)| pass.chunk(*target, chunk).unwrap());
    let found = pass.finish(10).unwrap().findings;
    let (target, file) = (TargetId(102), ChunkFileId { inode: STRIPED, index: 0 });
    let fix = Fix::CopyFromMirror { group: GroupId(7), target, file, range: 8192..98_305 };
    assert_eq!((found.len(), found[0].class, &found[0].fixes), (1, "chunk-lost", &vec![fix]));
}

fn group() -> Group {
    Group {
        id: GroupId(7),
        kind: TargetKind::Storage,
        epoch: 3,
        members: vec![TargetId(101), TargetId(102)],
        states: vec![MemberState::Good; 2],
        term: 1,
        since: MapVersion(1),
        fencing: Vec::new(),
        resync_stopped: false,
        full: Vec::new(),
        losses: 0,
        serves: None,
    }
}

#[test]
fn mirrors_that_differ() {
    let (group, primary, member) = (GroupId(7), TargetId(101), TargetId(102));
    let file = ChunkFileId { inode: STRIPED, index: 0 };
    let keys = vec![b"E\x01".to_vec()];
    let mut mirrors = Mirrors::default();
    assert_eq!(compare_mirrors(Arc::new(map()), &mirrors, 10), (vec![], 0));
    mirrors.tables.push(TablesDiffer { group, primary, member, ranges: 2, keys });
    let ranges = vec![0..4096, 8192..12_288];
    mirrors.chunks.push(ChunkDiffers { group, primary, member, file, ranges: ranges.clone() });
    let (found, more) = compare_mirrors(Arc::new(map()), &mirrors, 10);
    let classes: Vec<&str> = found.iter().map(|finding| finding.class).collect();
    assert_eq!((classes, more), (vec!["mirror-tables", "mirror-chunk"], 0));
    assert_eq!(found[0].fixes, [Fix::Refill { group, primary, member }]);
    assert_eq!(found[1].fixes, [Fix::CopyFromPrimary { group, primary, member, file, ranges }]);
    assert!(found[0].detail.contains("E\\x01") && found[1].detail.contains("8192 bytes"), "{found:?}");
    assert_eq!(compare_mirrors(Arc::new(map()), &mirrors, 1).1, 1);
}

#[test]
fn a_row_that_cannot_be_read_is_set_aside_where_nothing_hangs_from_it() {
    for (key, fixed) in [(&b"E1234"[..], true), (b"X1234", true), (b"G1234", true), (b"I1234", false), (b"N12", false)]
    {
        let mut world = World::new();
        world.facts.push((ME, Fact::Server(ServerFact::Unreadable { key: key.to_vec().into() })));
        let aside = Fix::MetaAt(ME, ServerRepair::SetAside { key: key.to_vec().into() });
        let wanted = if fixed { vec![aside] } else { vec![] };
        assert_eq!(only(&world, "row-unreadable").fixes, wanted);
    }
}

#[test]
fn every_class_has_an_id_and_words_of_its_own() {
    let ids: BTreeSet<&str> = CLASSES.iter().map(|class| class.id()).collect();
    let meanings: BTreeSet<&str> = CLASSES.iter().map(|class| class.meaning()).collect();
    assert_eq!((ids.len(), meanings.len()), (CLASSES.len(), CLASSES.len()));
    let tests = include_str!("classes.rs");
    ids.iter().for_each(|id| assert!(tests.contains(&format!("\"{id}\"")), "no test finds {id}"));
}

#[test]
fn what_is_missing_is_nothing_while_a_server_is_away() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Name { .. }));
    assert!(classes(&world).contains(&"inode-orphan"));
    world.all = false;
    assert_eq!(classes(&world), [] as [&str; 0]);
}

#[test]
fn what_is_missing_is_nothing_while_a_row_cannot_be_read_or_is_elsewhere() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Inode(record) if record.inode == SMALL));
    world.remove(|fact| matches!(fact, Fact::Content { inode: SMALL, .. }));
    world.facts.push((ME, Fact::Server(ServerFact::Unreadable { key: b"I\0\0\0\0\0\0\0\x12".to_vec().into() })));
    only(&world, "row-unreadable");
    let mut world = World::new();
    let name = world.facts.iter_mut().find(|(_, fact)| matches!(fact, Fact::Name { inode: SMALL, .. })).unwrap();
    name.0 = OTHER;
    only(&world, "row-foreign");
}

/// A pass over what is suspected, as servers are asked the second time.
fn again(world: &World, suspects: &mut Suspects) {
    let inodes = suspects.inodes();
    let mut pass = Pass::again(Arc::new(map()), Box::<MemScratch>::default(), 0, inodes.clone(), &Default::default());
    for (target, fact) in &world.facts {
        pass.meta(*target, fact.clone()).unwrap();
        if fact.inode().is_some_and(|inode| inodes.contains(&inode)) && !matches!(fact, Fact::Name { .. }) {
            pass.of_inodes(*target, fact.clone()).unwrap();
        }
    }
    world.chunks.iter().for_each(|(target, chunk)| pass.chunk(*target, chunk).unwrap());
    (101..104).for_each(|target| pass.listed(TargetId(target)));
    suspects.again(&pass.finish(100).unwrap());
}

#[test]
fn what_is_right_at_the_second_look_is_no_finding() {
    let mut moving = World::new();
    moving.remove(|fact| matches!(fact, Fact::Name { inode: SMALL, .. }));
    let mut suspects = Suspects::of(&moving.look());
    again(&World::new(), &mut suspects);
    assert!(suspects.is_empty());
    assert_eq!(suspects.end(), (vec![], vec![]));
}

#[test]
fn what_changed_between_two_looks_is_looked_at_again() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Name { inode: SMALL, .. }));
    world.record(DIR).entries = Some(9);
    let mut suspects = Suspects::of(&world.look());
    world.record(SMALL).ctime.nanos += 1;
    again(&world, &mut suspects);
    let classes = |findings: &[Finding]| findings.iter().map(|finding| finding.class).collect::<Vec<_>>();
    assert_eq!(suspects.inodes(), BTreeSet::from([SMALL]), "counts are compared at one moment");
    again(&world, &mut suspects);
    let (confirmed, unsettled) = suspects.end();
    assert_eq!((classes(&confirmed), classes(&unsettled)), (vec!["directory-count", "inode-orphan"], vec![]));
    assert_eq!(confirmed[1].subject, Subject::Inode(SMALL));
}

#[test]
fn a_loop_is_confirmed_by_its_members() {
    let mut world = World::new();
    world.remove(|fact| matches!(fact, Fact::Name { inode: DIR, .. }));
    world.add_name(INNER, DIR, FileKind::Directory, 256);
    world.record(DIR).parent = Some(INNER);
    let mut suspects = Suspects::of(&world.look());
    again(&world, &mut suspects);
    assert!(suspects.end().0.iter().any(|finding| finding.class == "directory-loop"));
}

#[test]
fn locks_are_seen_again_among_the_rows_of_sessions() {
    let mut world = World::new();
    world.facts.push((ME, Fact::StrayLock { inode: SMALL, session: SessionId(5) }));
    let mut suspects = Suspects::of(&world.look());
    let inodes = suspects.inodes();
    let mut pass = Pass::again(Arc::new(map()), Box::<MemScratch>::default(), 0, inodes, &Default::default());
    // What a server says of the inode itself has no rows of sessions.
    for (target, fact) in &world.facts {
        pass.meta(*target, fact.clone()).unwrap();
        if matches!(fact, Fact::Inode(_) | Fact::Content { .. }) {
            pass.of_inodes(*target, fact.clone()).unwrap();
        }
    }
    suspects.again(&pass.finish(100).unwrap());
    assert_eq!(suspects.end().0.iter().map(|found| found.class).collect::<Vec<_>>(), ["lock-stray"]);
}

#[test]
fn what_has_just_begun_is_left_to_the_next_check() {
    let mut world = World::new();
    world.facts.push((ME, Fact::Server(ServerFact::Committed { number: 7, waits_for: vec![OTHER] })));
    let mut suspects = Suspects::of(&world.look());
    world.facts.pop();
    world.facts.push((ME, Fact::Server(ServerFact::Committed { number: 8, waits_for: vec![OTHER] })));
    again(&world, &mut suspects);
    assert_eq!((suspects.is_empty(), suspects.end()), (true, (vec![], vec![])));
}

#[test]
fn findings_are_bounded_and_the_rest_is_counted() {
    let mut world = World::new();
    world.chunks.extend((0..50).map(|n| (TargetId(101), listed(inode(9, 100 + n), 0, 5, 5))));
    let looked = world.pass(0).finish(20).unwrap();
    assert_eq!((looked.findings.len(), looked.more), (20, 30));
    let file = ChunkFileId { inode: inode(9, 100), index: 0 };
    assert_eq!(looked.findings[0].subject, Subject::Chunk(TargetId(101), file));
    let _: &ListedFile = &world.chunks[0].1;
}

/// The file of the world's chunks, encoded as 2+1.
fn encoded() -> World {
    let mut world = World::new();
    let record = world.record(STRIPED);
    let layout = record.layout.as_mut().unwrap();
    layout.pattern = Pattern::Ec;
    layout.code = Some(ErasureCode { data: 2, parity: 1 });
    layout.targets.push(TargetId(103));
    let (layout, size) = (layout.clone(), record.size);
    let len = layout.chunk_file_len(2, size);
    assert_eq!(len, layout.chunk_file_len(0, size), "parity is as long as the first of the data");
    world.chunks.push((TargetId(103), listed(STRIPED, 2, len, 1)));
    world
}

#[test]
fn an_encoded_file_has_all_of_every_part() {
    assert_eq!(classes(&encoded()), [] as [&str; 0]);
    for part in 0..3 {
        let mut gone = encoded();
        gone.chunks.remove(part);
        let found = only(&gone, "part-lost");
        assert!(found.fixes.is_empty() && !found.detail.contains("too many"), "{found:?}");
    }
    let mut short = encoded();
    short.chunks[2].1.len -= 1;
    only(&short, "part-lost");
    short.chunks.remove(0);
    assert!(only(&short, "part-lost").detail.contains("too many"));
    let mut longer = encoded();
    longer.chunks[2].1.len += 1;
    only(&longer, "chunk-excess");
}

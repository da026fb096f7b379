// SPDX-License-Identifier: Apache-2.0

//! Files whose data is moved to other targets.

use crate::server::{Server, entry};
use nyala_namespace::keys;
use nyala_namespace::records::GarbageRecord;
use nyala_namespace::view::View;
use nyala_wire::meta::*;
use nyala_wire::*;

fn striped(server: &mut Server) -> (InodeId, Layout) {
    let pattern = StripePattern { num_targets: 2, inline_bytes: 0, ..StripePattern::default() };
    let entry = entry(InodeId::ROOT, "f", 0o600);
    let inode = server.made(MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: Some(pattern) }).inode;
    (inode, layout(server, inode))
}

fn layout(server: &mut Server, inode: InodeId) -> Layout {
    match server.run(MetaOp::EntryInfo { inode }).unwrap() {
        MetaReply::EntryInfo(info) => info.layout.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn elsewhere(server: &mut Server, inode: InodeId, num_targets: u16, avoid: &[TargetId]) -> Result<Layout, ErrorCode> {
    let pattern = StripePattern { num_targets, chunk_bytes: 1 << 20, ..StripePattern::default() };
    match server.run(MetaOp::MoveTargets { inode, pattern, avoid: avoid.to_vec() })? {
        MetaReply::Layout(layout) => Ok(layout),
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_goes_where_it_is_not_to_stay_and_its_chunk_files_of_before_are_removed() {
    let mut server = Server::new();
    let (inode, old) = striped(&mut server);
    let before = server.attr(inode);
    let new = elsewhere(&mut server, inode, 2, &old.targets).unwrap();
    assert!(new.targets.len() == 2 && !new.targets.iter().any(|target| old.targets.contains(target)), "{new:?}");
    assert_eq!((new.chunk_bytes, new.moves), (old.chunk_bytes, 1), "the chunk size is the file's");
    assert_eq!(elsewhere(&mut server, inode, 9, &old.targets).unwrap().targets.len(), 2, "there are no more");
    let all: Vec<TargetId> = (101..105).map(TargetId).collect();
    assert_eq!(elsewhere(&mut server, inode, 1, &all), Err(ErrorCode::NO_SPACE));
    assert_eq!(server.run(MetaOp::MoveData { inode, layout: new.clone() }), Ok(MetaReply::Done));
    assert_eq!(layout(&mut server, inode), new);
    assert_eq!(server.attr(inode), before, "nothing but its place has changed");
    let row = View::get(&server.view, &keys::moved_garbage(inode, &old)).unwrap().unwrap();
    assert!(View::get(&server.view, &keys::garbage(inode)).unwrap().is_none(), "the file is no garbage");
    assert_eq!(codec::decode::<GarbageRecord>(&row).unwrap().layout().targets, old.targets);
    // What is there now is removed with the file, and the other one still is.
    let (parent, name) = (InodeId::ROOT, crate::server::name("f"));
    server.run(MetaOp::Unlink { parent, name }).unwrap();
    let row = View::get(&server.view, &keys::garbage(inode)).unwrap().unwrap();
    let removed = codec::decode::<GarbageRecord>(&row).unwrap().layout();
    assert_eq!((removed.targets, removed.moves), (new.targets, 1));
    assert!(View::get(&server.view, &keys::moved_garbage(inode, &old)).unwrap().is_some());
}

/// Somebody may have sent data beside it, and died.
#[test]
fn chunk_files_beside_inline_content_are_removed_too() {
    let mut server = Server::new();
    let entry = entry(InodeId::ROOT, "f", 0o600);
    let pattern = StripePattern { num_targets: 2, inline_bytes: 4096, ..StripePattern::default() };
    let inode = server.made(MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: Some(pattern) }).inode;
    let old = layout(&mut server, inode);
    let new = elsewhere(&mut server, inode, 1, &old.targets).unwrap();
    assert_eq!(server.run(MetaOp::MoveData { inode, layout: new }), Ok(MetaReply::Done));
    assert!(View::get(&server.view, &keys::moved_garbage(inode, &old)).unwrap().is_some());
}

#[test]
fn what_is_open_elsewhere_or_was_moved_meanwhile_is_not_moved() {
    let mut server = Server::new();
    let (inode, old) = striped(&mut server);
    let new = elsewhere(&mut server, inode, 2, &old.targets).unwrap();
    let moved = |layout: &Layout| MetaOp::MoveData { inode, layout: layout.clone() };
    server.run(MetaOp::Open { inode }).unwrap();
    server.as_session(2, MetaOp::Open { inode }).unwrap();
    assert_eq!(server.run(moved(&new)), Err(ErrorCode::AGAIN));
    assert_eq!(elsewhere(&mut server, inode, 1, &[]), Err(ErrorCode::AGAIN), "not even begun");
    server.as_session(2, MetaOp::Close { inode }).unwrap();
    for wrong in [
        Layout { moves: 0, ..new.clone() },
        Layout { moves: Layout::NAMES, ..new.clone() },
        Layout { chunk_bytes: 2 * new.chunk_bytes, ..new.clone() },
    ] {
        assert_eq!(server.run(moved(&wrong)), Err(ErrorCode::STALE), "{wrong:?}");
    }
    for targets in [vec![TargetId(1)], vec![TargetId(999)], vec![]] {
        assert_eq!(server.run(moved(&Layout { targets, ..new.clone() })), Err(ErrorCode::INVALID));
    }
    assert_eq!(server.run(moved(&new)), Ok(MetaReply::Done), "its own opening is in nobody's way");
    assert_eq!(server.run(moved(&new)), Err(ErrorCode::STALE), "done once");
    // Back, under names that are still to be removed.
    let back = Layout { moves: Layout::NAMES, ..old.clone() };
    let row = codec::encode(&GarbageRecord::of(back.clone()));
    let mut batch = nyala_kv::Batch::new();
    batch.put(keys::moved_garbage(inode, &back), row);
    server.view.apply(&batch);
    assert_eq!(server.run(moved(&back)), Err(ErrorCode::BUSY));
    assert_eq!(server.run(moved(&Layout { moves: 2, ..old })), Ok(MetaReply::Done));
    let dir = server.dir("d");
    assert_eq!(elsewhere(&mut server, dir, 1, &[]), Err(ErrorCode::INVALID));
}

const CODE: ErasureCode = ErasureCode { data: 2, parity: 2 };

/// A file of a directory whose files are to be encoded: striped over targets here, as the map has no mirror groups.
fn to_encode(server: &mut Server, inline_bytes: u32) -> InodeId {
    let pattern = StripePattern { num_targets: 2, inline_bytes, ..StripePattern::default() };
    let entry = entry(InodeId::ROOT, "f", 0o600);
    server.made(MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: Some(pattern) }).inode
}

fn encoded(server: &mut Server, inode: InodeId, avoid: &[TargetId]) -> Result<Layout, ErrorCode> {
    let pattern = StripePattern { pattern: Pattern::Ec, code: Some(CODE), ..StripePattern::default() };
    match server.run(MetaOp::MoveTargets { inode, pattern, avoid: avoid.to_vec() })? {
        MetaReply::Layout(layout) => Ok(layout),
        other => panic!("{other:?}"),
    }
}

#[test]
fn encoded_data_has_a_target_for_each_part_and_its_size_stays() {
    let mut server = Server::new();
    let inode = to_encode(&mut server, 0);
    assert_eq!(encoded(&mut server, inode, &[TargetId(101)]), Err(ErrorCode::NO_SPACE), "four are there");
    let new = encoded(&mut server, inode, &[]).unwrap();
    assert!(new.check().is_ok() && new.encoded() == Some(CODE) && new.moves == 1, "{new:?}");
    let twice = Layout { targets: vec![new.targets[0]; 4], ..new.clone() };
    let short = Layout { targets: new.targets[..3].to_vec(), ..new.clone() };
    for wrong in [twice, short, Layout { code: None, ..new.clone() }] {
        assert_eq!(server.run(MetaOp::MoveData { inode, layout: wrong }), Err(ErrorCode::INVALID));
    }
    server.as_session(2, MetaOp::Open { inode }).unwrap();
    let done = MetaOp::MoveData { inode, layout: new.clone() };
    assert_eq!(server.run(done.clone()), Err(ErrorCode::AGAIN), "who has it open may write to it");
    server.as_session(2, MetaOp::Close { inode }).unwrap();
    assert_eq!(server.run(done), Ok(MetaReply::Done));
    assert_eq!(layout(&mut server, inode), new);
    let size = |size| MetaOp::SetAttr { inode, set: SetAttr { size: Some(size), ..SetAttr::default() } };
    assert_eq!(server.run(size(0)), Err(ErrorCode::NOT_SUPPORTED));
    let commit = Commit {
        inode,
        end: Some(1),
        mtime: None,
        spilled: None,
        sync: false,
        close: false,
        allocated: None,
        encoded: None,
    };
    assert_eq!(server.run(MetaOp::Commit(commit)), Err(ErrorCode::STALE), "nobody writes to it");
    // Readers have it open: it is encoded anew, and moved back, under their eyes.
    server.as_session(2, MetaOp::Open { inode }).unwrap();
    let old = new;
    let new = encoded(&mut server, inode, &[]).unwrap();
    assert_eq!(server.run(MetaOp::MoveData { inode, layout: new.clone() }), Ok(MetaReply::Done));
    assert!(View::get(&server.view, &keys::moved_garbage(inode, &old)).unwrap().is_some());
    let back = elsewhere(&mut server, inode, 2, &[]).unwrap();
    assert_eq!(server.run(MetaOp::MoveData { inode, layout: back }), Ok(MetaReply::Done));
    assert!(server.run(size(0)).is_ok());
    let row = View::get(&server.view, &keys::moved_garbage(inode, &new)).unwrap().unwrap();
    let garbage = codec::decode::<GarbageRecord>(&row).unwrap().layout();
    assert_eq!(garbage.targets, new.targets, "parity goes too");
    assert!(garbage.indices().eq(new.indices()));
}

#[test]
fn an_encoded_file_is_cut_to_nothing_in_one_change() {
    let mut server = Server::new();
    let inode = to_encode(&mut server, 0);
    let plain = layout(&mut server, inode);
    let old = encoded(&mut server, inode, &[]).unwrap();
    let cut = |size, layout: &Layout| {
        let set = SetAttr { size: Some(size), emptied: Some(Box::new(layout.clone())), ..SetAttr::default() };
        MetaOp::SetAttr { inode, set }
    };
    let new = Layout { moves: 2, ..plain };
    assert_eq!(server.run(cut(0, &new)).map(drop), Err(ErrorCode::STALE), "it is not encoded");
    let end = Some(100_000);
    let commit =
        Commit { inode, end, mtime: None, spilled: None, sync: false, close: false, allocated: None, encoded: None };
    server.run(MetaOp::Commit(commit)).unwrap();
    assert_eq!(server.run(MetaOp::MoveData { inode, layout: old.clone() }), Ok(MetaReply::Done));
    assert_eq!(server.run(cut(1, &new)).map(drop), Err(ErrorCode::INVALID), "its data would be lost");
    let again = Layout { moves: 2, ..old.clone() };
    assert_eq!(server.run(cut(0, &again)).map(drop), Err(ErrorCode::INVALID), "it could not be written to");
    assert_eq!(server.run(cut(0, &Layout { moves: 1, ..new.clone() })).map(drop), Err(ErrorCode::STALE));
    assert_eq!((server.attr(inode).size, layout(&mut server, inode)), (100_000, old.clone()));
    let Ok(MetaReply::Attr(attr)) = server.run(cut(0, &new)) else { panic!() };
    assert_eq!((attr.size, layout(&mut server, inode)), (0, new));
    let row = View::get(&server.view, &keys::moved_garbage(inode, &old)).unwrap().unwrap();
    assert_eq!(codec::decode::<GarbageRecord>(&row).unwrap().layout().targets, old.targets);
}

#[test]
fn content_that_lies_with_its_inode_is_not_encoded() {
    let mut server = Server::new();
    let inode = to_encode(&mut server, 4096);
    let layout = encoded(&mut server, inode, &[]).unwrap();
    assert_eq!(server.run(MetaOp::MoveData { inode, layout }), Err(ErrorCode::INVALID), "nothing, but inline");
    let size = SetAttr { size: Some(7), ..SetAttr::default() };
    server.run(MetaOp::SetAttr { inode, set: size }).unwrap();
    assert_eq!(encoded(&mut server, inode, &[]), Err(ErrorCode::INVALID));
}

#[test]
fn a_new_file_that_was_written_encoded_grows_by_whole_stripes_until_it_ends_within_one() {
    for inline_bytes in [0, 4096] {
        let mut server = Server::new();
        let inode = to_encode(&mut server, inline_bytes);
        let to = encoded(&mut server, inode, &[]).unwrap();
        let stripe = u64::from(to.chunk_bytes) * to.width();
        let commit = |end, layout: &Layout, spilled| {
            let encoded = Some(Box::new(EncodedData { layout: layout.clone(), end }));
            let (sync, close, allocated) = (false, false, None);
            MetaOp::Commit(Commit { inode, end: None, mtime: None, spilled, sync, close, allocated, encoded })
        };
        let spilled = (inline_bytes > 0).then_some(0);
        let size = |server: &mut Server| (server.attr(inode).size, layout(server, inode).encoded().is_some());
        let mirrored = Layout { moves: 1, ..layout(&mut server, inode) };
        assert_eq!(server.run(commit(stripe, &mirrored, spilled)).map(drop), Err(ErrorCode::STALE), "not encoded");
        if inline_bytes > 0 {
            assert_eq!(server.run(commit(stripe, &to, None)).map(drop), Err(ErrorCode::INVALID));
        }
        server.as_session(2, MetaOp::Open { inode }).unwrap();
        assert_eq!(server.run(commit(stripe, &to, spilled)).map(drop), Err(ErrorCode::AGAIN), "it is open elsewhere");
        server.as_session(2, MetaOp::Close { inode }).unwrap();
        assert_eq!(size(&mut server), (0, false));
        server.run(commit(stripe, &to, spilled)).unwrap();
        assert_eq!(size(&mut server), (stripe, true));
        server.run(commit(3 * stripe, &to, None)).unwrap();
        server.run(commit(2 * stripe, &to, None)).unwrap();
        assert_eq!(size(&mut server), (3 * stripe, true), "it never becomes shorter");
        let other = Layout { moves: 2, ..to.clone() };
        assert_eq!(server.run(commit(4 * stripe, &other, None)).map(drop), Err(ErrorCode::STALE));
        server.run(commit(3 * stripe + 1, &to, None)).unwrap();
        assert_eq!(server.run(commit(4 * stripe, &to, None)).map(drop), Err(ErrorCode::STALE), "half a stripe");
        assert_eq!(size(&mut server), (3 * stripe + 1, true));
    }
    let mut server = Server::new();
    let inode = to_encode(&mut server, 0);
    let to = encoded(&mut server, inode, &[]).unwrap();
    let (sync, close, allocated, spilled) = (false, false, None, None);
    let commit = |end, encoded| Commit { inode, end, mtime: None, spilled, sync, close, allocated, encoded };
    server.run(MetaOp::Commit(commit(Some(5), None))).unwrap();
    let data = Some(Box::new(EncodedData { layout: to, end: 1 << 20 }));
    assert_eq!(server.run(MetaOp::Commit(commit(None, data))).map(drop), Err(ErrorCode::STALE), "it has data");
}

#[test]
fn a_directory_gives_mirrored_layouts_that_are_to_be_encoded() {
    let mut server = Server::new();
    let dir = server.dir("d");
    let set = |code, pattern| MetaOp::SetPattern {
        dir,
        pattern: StripePattern { pattern, code, ..StripePattern::default() },
    };
    for (code, pattern) in [
        (None, Pattern::Ec),
        (Some(ErasureCode { data: 1, parity: 1 }), Pattern::Ec),
        (Some(ErasureCode { data: 4, parity: 5 }), Pattern::Ec),
        (Some(CODE), Pattern::Raid0),
    ] {
        assert_eq!(server.run(set(code, pattern)), Err(ErrorCode::INVALID), "{code:?}");
    }
    assert_eq!(server.run(set(Some(CODE), Pattern::Ec)), Ok(MetaReply::Done));
    let make = |server: &mut Server, name: &str| {
        let entry = entry(dir, name, 0o600);
        server.run(MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: None })
    };
    assert_eq!(make(&mut server, "none").map(drop), Err(ErrorCode::NO_SPACE), "there are no mirror groups");
}

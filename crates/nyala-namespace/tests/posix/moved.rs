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

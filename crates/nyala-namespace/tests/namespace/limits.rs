// SPDX-License-Identifier: Apache-2.0

//! Limits, and what hostile or unlucky requests run into: a typed refusal, never a panic, never a reply too long to send.

use crate::support::{Server, entry};
use nyala_namespace::view::{MemView, View};
use nyala_namespace::{keys, replies};
use nyala_wire::frame::MAX_BODY;
use nyala_wire::meta::*;
use nyala_wire::*;
use proptest::prelude::*;
use std::ops::ControlFlow;

impl Server {
    fn rows(&self, tag: u8) -> usize {
        let mut rows = 0;
        let mut visit = |_: &[u8], _: &[u8]| {
            rows += 1;
            ControlFlow::Continue(())
        };
        self.view.scan(&[tag], &[tag + 1], &mut visit).unwrap();
        rows
    }
}

fn fits(reply: &MetaReply) {
    let bytes = codec::encode(reply).len();
    assert!(bytes <= MAX_BODY, "{bytes} bytes");
}

#[test]
fn numbers_come_from_the_range_that_was_handed_out_and_wait_for_the_next() {
    use nyala_namespace::sequences::go_on_with;
    let mut server = Server::new();
    let go_on = |server: &mut Server, range: u64| {
        let batch = go_on_with(&server.view, range).unwrap();
        server.view.apply(&batch);
    };
    assert_eq!(server.file("of no range").sequence(), 2);
    go_on(&mut server, 3);
    assert_eq!(server.file("first").sequence(), 2 << 24);
    let last: u64 = (3 << 24) - 1;
    server.view.0.insert(keys::next_sequence(Slot(0)), last.to_le_bytes().to_vec());
    assert_eq!(server.file("last").sequence(), last);
    let more = MetaOp::Mknod { entry: entry("more"), kind: FileKind::File, rdev: 0, pattern: None };
    assert_eq!(server.run(more.clone()).unwrap_err().code, ErrorCode::NOT_READY);
    go_on(&mut server, 7);
    assert_eq!(server.file("more").sequence(), 6 << 24);
    go_on(&mut server, u64::from(nyala_wire::mgmt::MAX_RANGE));
    server.view.0.insert(keys::next_sequence(Slot(0)), InodeId::MAX_SEQUENCE.to_le_bytes().to_vec());
    assert_eq!(server.file("the very last").sequence(), InodeId::MAX_SEQUENCE);
    assert!(
        server.run(MetaOp::Mknod { entry: entry("too many"), kind: FileKind::File, rdev: 0, pattern: None }).is_err()
    );
}

/// Around the length from which the last bytes are with the inode's record, and that up to which they are.
#[test]
fn inline_content_of_every_length_is_what_was_put() {
    let mut server = Server::new();
    let inode = server.file("f");
    let content = |server: &mut Server| match server.run(MetaOp::FileInfo { inode }).unwrap() {
        MetaReply::Opened(file) => file.inline.map(|inline| (inline.version, inline.data.to_vec())),
        other => panic!("{other:?}"),
    };
    let mut version = 0;
    let page = nyala_kv::ONE_PAGE_VALUE_BYTES;
    for length in [0, 1, page - 1, page, page + 1, 4096, page, page + 2, 100, 4096, 4095] {
        let data: Vec<u8> = (0..length).map(|at| (at % 251) as u8 ^ version as u8).collect();
        let put = PutInline {
            inode,
            base_version: version,
            data: data.clone().into(),
            mtime: Time::default(),
            sync: false,
            close: false,
            size: None,
            set: None,
        };
        server.run(MetaOp::PutInline(put)).unwrap();
        version += 1;
        assert_eq!(content(&mut server), Some((version, data.clone())), "{length} bytes");
        let row = server.view.get(&keys::data(inode)).unwrap().unwrap();
        assert!(row.len() <= page && data.starts_with(&row), "{length} bytes: a row of {}", row.len());
        let mut left = length;
        // Cut, in the tail or before it, or made longer by a hole, which is not kept.
        for size in [length.saturating_sub(1), length.saturating_sub(30), length + 5] {
            let set = SetAttr { size: Some(size as u64), ..SetAttr::default() };
            server.run(MetaOp::SetAttr { inode, set }).unwrap();
            version += 1;
            left = left.min(size);
            assert_eq!(content(&mut server), Some((version, data[..left].to_vec())), "{length} cut to {size}");
        }
    }
    let commit = Commit {
        inode,
        end: Some(1),
        mtime: None,
        spilled: Some(version),
        sync: false,
        close: false,
        allocated: None,
        encoded: None,
    };
    server.run(MetaOp::Commit(commit)).unwrap();
    assert_eq!(content(&mut server), None);
    assert!(server.view.get(&keys::data(inode)).unwrap().is_none());
}

#[test]
fn extended_attributes_up_to_their_limit() {
    let mut server = Server::new();
    let inode = server.file("f");
    let mut set = 0_u32;
    let refused = loop {
        // The shortest names make the longest list.
        let name = [b"user.", &(set + 0x1_0101).to_le_bytes()[..3]].concat();
        match server.set_xattr(inode, &name, vec![7]) {
            Ok(_) => set += 1,
            Err(error) => break error,
        }
        if set % 256 == 254 {
            set += 2; // A name holds no NUL.
        }
    };
    assert_eq!(refused.code, ErrorCode::NO_SPACE);
    let names = server.run(MetaOp::ListXattr { inode }).unwrap();
    fits(&names);
    let MetaReply::Names(names) = names else { panic!() };
    assert_eq!(names.len(), 65_536 / 9);
    // Changing one needs no room; removing one makes some.
    server.set_xattr(inode, &names[5], vec![1; MAX_XATTR_BYTES]).unwrap();
    fits(&server.run(MetaOp::GetXattr { inode, name: names[5].clone() }).unwrap());
    assert_eq!(server.set_xattr(inode, &names[5], vec![1; MAX_XATTR_BYTES + 1]).unwrap_err().code, ErrorCode::TOO_BIG);
    server.run(MetaOp::RemoveXattr { inode, name: names[0].clone() }).unwrap();
    server.set_xattr(inode, b"user.a", vec![1]).unwrap();
    let start = std::time::Instant::now();
    server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: entry("f").name }).unwrap();
    assert_eq!(server.rows(keys::XATTR), 0);
    assert!(start.elapsed().as_secs() < 2, "removing many is not quadratic");
}

#[test]
fn the_last_extended_attribute_leaves_an_inode_as_if_it_never_had_one() {
    let mut server = Server::new();
    let (inode, name) = (server.file("f"), b"user.a".to_vec());
    for _ in 0..2 {
        let none = server.run(MetaOp::GetXattr { inode, name: name.clone().into() }).unwrap_err();
        assert_eq!(none.code, ErrorCode::NO_DATA);
        assert_eq!(server.run(MetaOp::ListXattr { inode }).unwrap(), MetaReply::Names(Vec::new()));
        server.set_xattr(inode, &name, vec![1]).unwrap();
        server.set_xattr(inode, &name, vec![2]).unwrap();
        let value = server.run(MetaOp::GetXattr { inode, name: name.clone().into() }).unwrap();
        assert_eq!(value, MetaReply::Bytes(vec![2].into()));
        server.run(MetaOp::RemoveXattr { inode, name: name.clone().into() }).unwrap();
    }
}

#[test]
fn the_longest_listing_fits_a_frame() {
    let mut server = Server::new();
    for n in 0..5_000 {
        let name = format!("{n:0>255}");
        server.file(&name);
    }
    let (mut after, mut seen) = (0, 0);
    loop {
        let op = MetaOp::ReadDir { dir: InodeId::ROOT, after, max_entries: u32::MAX, plus: true };
        let reply = server.run(op).unwrap();
        fits(&reply);
        let MetaReply::Listing(listing) = reply else { panic!() };
        seen += listing.entries.len();
        if listing.end {
            break;
        }
        after = listing.entries.last().unwrap().cookie;
    }
    assert_eq!(seen, 5_000);
    let inodes = (2..2 + MAX_GET_ATTRS as u64).map(InodeId).collect();
    fits(&server.run(MetaOp::GetAttrs { inodes }).unwrap());
    let end = MetaOp::ReadDir { dir: InodeId::ROOT, after: u64::MAX, max_entries: 0, plus: false };
    assert_eq!(server.run(end).unwrap(), MetaReply::Listing(Listing { entries: Vec::new(), end: true, next: None }));
}

#[test]
fn sizes_up_to_the_largest() {
    let mut server = Server::new();
    let inode = server.file("f");
    let size = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    let too_big = server.run(MetaOp::SetAttr { inode, set: size(MAX_FILE_BYTES + 1) }).unwrap_err();
    assert_eq!(too_big.code, ErrorCode::FILE_TOO_BIG);
    server.run(MetaOp::SetAttr { inode, set: size(MAX_FILE_BYTES) }).unwrap();
    let commit = |end, spilled| Commit {
        inode,
        end: Some(end),
        mtime: None,
        spilled,
        sync: false,
        close: false,
        allocated: None,
        encoded: None,
    };
    assert_eq!(server.run(MetaOp::Commit(commit(u64::MAX, Some(1)))).unwrap_err().code, ErrorCode::FILE_TOO_BIG);
    server.run(MetaOp::Commit(commit(MAX_FILE_BYTES, Some(1)))).unwrap();
    server.run(MetaOp::SetAttr { inode, set: size(0) }).unwrap();
    server.run(MetaOp::SetAttr { inode, set: size(MAX_FILE_BYTES) }).unwrap();
    let MetaReply::Opened(file) = server.run(MetaOp::FileInfo { inode }).unwrap() else { panic!() };
    let lengths = file.layout.indices().map(|index| file.layout.chunk_file_len(index, MAX_FILE_BYTES));
    assert_eq!(lengths.sum::<u64>(), MAX_FILE_BYTES);
}

#[test]
fn an_open_file_is_known_to_be_open_until_its_last_session_closes_it() {
    let mut server = Server::new();
    let inode = server.file("f");
    let mut open = |session, op: MetaOp| {
        let (reply, batch) = server.logic.run(&server.view, session, &op).unwrap();
        server.view.apply(&batch);
        (reply, batch.len())
    };
    open(1, MetaOp::Open { inode });
    assert_eq!(open(1, MetaOp::Open { inode }).1, 0, "again: nothing to log");
    open(2, MetaOp::Open { inode });
    open(1, MetaOp::Unlink { parent: InodeId::ROOT, name: entry("f").name });
    open(1, MetaOp::Close { inode });
    open(1, MetaOp::Close { inode });
    open(2, MetaOp::GetAttr { inode });
    open(2, MetaOp::Close { inode });
    assert_eq!(server.run(MetaOp::GetAttr { inode }).unwrap_err().code, ErrorCode::STALE);
    assert_eq!(server.rows(keys::OPEN), 0);
}

#[test]
fn replies_are_kept_and_found_by_their_number() {
    let (mut view, locks) = (MemView::default(), nyala_namespace::locks::Locks::default());
    let request = |sequence, op| MetaRequest {
        session: SessionId(5),
        sequence,
        acked_below: 0,
        owner: Owner::default(),
        now: Time::default(),
        op,
        want: Want::NOTHING,
        caller: None,
        user: None,
    };
    let close = |sequence| request(sequence, MetaOp::Close { inode: InodeId::ROOT });
    let change = |view: &MemView, request: &MetaRequest| {
        let mut change = nyala_namespace::change::Change::new(view, &locks, None);
        replies::keep(&mut change, request, b"reply");
        change.finish()
    };
    let kept = |view: &MemView, sequence| {
        replies::find(&nyala_namespace::change::Change::new(view, &locks, None), &close(sequence)).map_err(|_| ())
    };
    view.apply(&change(&view, &close(300)));
    assert_eq!(kept(&view, 300), Ok(Some(b"reply".to_vec())));
    assert_eq!(kept(&view, 301), Ok(None));
    assert_eq!(kept(&view, 300 + keys::REPLY_WINDOW), Ok(None), "a new request in the same place");
    assert_eq!(kept(&view, 300 - keys::REPLY_WINDOW), Err(()), "an old one must not be done again");
    // An Open is the same when done twice, and its reply may be long.
    assert!(change(&view, &request(302, MetaOp::Open { inode: InodeId::ROOT })).is_empty());
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, Just(u64::MAX), Just(1 << 63), Just((1 << 48) - 1), any::<u64>()]
}

fn hostile() -> impl Strategy<Value = MetaOp> {
    let inode = || prop_oneof![Just(InodeId::ROOT), number().prop_map(InodeId)];
    let name = || any::<u8>().prop_map(|n| Name::new(&[b'a' + n % 3]).unwrap());
    let time = || (any::<i64>(), any::<u32>()).prop_map(|(seconds, nanos)| Time { seconds, nanos });
    let bytes = || proptest::collection::vec(any::<u8>(), 0..300);
    let entry = move || {
        (inode(), name(), any::<u16>()).prop_map(|(parent, name, perm)| NewEntry { parent, name, perm, umask: 0 })
    };
    prop_oneof![
        entry().prop_map(|entry| MetaOp::Create { entry, exclusive: false }),
        (entry(), bytes()).prop_map(|(entry, target)| MetaOp::Symlink { entry, target: target.into() }),
        (inode(), number(), any::<u32>(), any::<bool>()).prop_map(|(dir, after, max_entries, plus)| MetaOp::ReadDir {
            dir,
            after,
            max_entries,
            plus
        }),
        (inode(), number(), any::<u16>(), time()).prop_map(|(inode, size, perm, at)| {
            let time = Some(SetTime::At(at));
            let set =
                SetAttr { size: Some(size), perm: Some(perm), atime: time, ctime: Some(at), ..Default::default() };
            MetaOp::SetAttr { inode, set }
        }),
        (inode(), number(), number(), time(), any::<bool>()).prop_map(|(inode, end, spilled, at, spill)| {
            let (mtime, spilled) = (Some(at), spill.then_some(spilled));
            MetaOp::Commit(Commit {
                inode,
                end: Some(end),
                mtime,
                spilled,
                sync: false,
                close: true,
                allocated: None,
                encoded: None,
            })
        }),
        (inode(), number(), bytes(), time()).prop_map(|(inode, base_version, data, mtime)| {
            MetaOp::PutInline(PutInline {
                inode,
                base_version,
                data: data.into(),
                mtime,
                sync: false,
                close: false,
                size: (base_version % 3 == 0).then_some(base_version),
                set: None,
            })
        }),
        (inode(), bytes(), bytes()).prop_map(|(inode, name, value)| {
            MetaOp::SetXattr {
                inode,
                name: name.into(),
                value: value.into(),
                create: false,
                replace: false,
                kill_sgid: false,
            }
        }),
        (inode(), bytes()).prop_map(|(inode, name)| MetaOp::GetXattr { inode, name: name.into() }),
        proptest::collection::vec(number().prop_map(InodeId), 0..9).prop_map(|inodes| MetaOp::GetAttrs { inodes }),
        inode().prop_map(|inode| MetaOp::Close { inode }),
        (inode(), name()).prop_map(|(parent, name)| MetaOp::Unlink { parent, name }),
    ]
}

proptest! {
    #[test]
    fn hostile_requests_never_panic(ops in proptest::collection::vec(hostile(), 1..60)) {
        let mut server = Server::new();
        for mut op in ops {
            // Most inodes of hostile requests do not exist; some do, so that there is something to spoil.
            if let MetaOp::SetAttr { inode, .. } | MetaOp::Commit(Commit { inode, .. }) = &mut op
                && inode.0 & 1 == 0
            {
                *inode = InodeId(2);
            }
            // A server answers only for its own slots (`service::execute`); here all that exist are its own.
            if op.routing_inode().is_none_or(|inode| inode.slot().0 < 64)
                && let Ok(reply) = server.run(op)
            {
                fits(&reply);
            }
        }
    }
}

#[test]
fn files_wait_for_targets_that_are_away_and_not_for_those_that_are_not_there() {
    let mut server = Server::new();
    let create = |text| MetaOp::Create { entry: entry(text), exclusive: true };
    let mut map = server.logic.map.clone();
    map.targets.iter_mut().for_each(|target| target.reachability = nyala_wire::map::Reachability::Offline);
    server.logic.set_map(map.clone());
    assert_eq!(server.run(create("away")).unwrap_err().code, ErrorCode::NOT_READY);
    map.targets.retain(|target| target.kind == nyala_wire::map::TargetKind::Meta);
    server.logic.set_map(map);
    assert_eq!(server.run(create("none")).unwrap_err().code, ErrorCode::NO_SPACE);
}

#[test]
fn mirrored_files_wait_for_groups_that_are_away_and_not_for_those_that_are_lost_or_not_there() {
    use nyala_wire::map::{Consistency, Group, MemberState, Reachability, TargetKind};
    let mut server = Server::new();
    let create = |text| MetaOp::Create { entry: entry(text), exclusive: true };
    let mut map = server.logic.map.clone();
    map.settings.default_pattern.pattern = Pattern::Mirror;
    let pool = map.settings.default_pattern.pool;
    let storage = |target: &&mut nyala_wire::map::Target| target.kind == TargetKind::Storage;
    map.targets.iter_mut().filter(storage).for_each(|target| target.reachability = Reachability::Offline);
    map.targets.iter_mut().filter(storage).for_each(|target| target.pool = pool);
    server.logic.set_map(map.clone());
    assert_eq!(server.run(create("no-group")).unwrap_err().code, ErrorCode::NO_SPACE, "operators make groups");
    map.groups.push(Group {
        id: GroupId(1),
        kind: TargetKind::Storage,
        epoch: 1,
        members: vec![TargetId(101), TargetId(102)],
        states: vec![MemberState::Good, MemberState::NeedsResync],
        term: 1,
        since: map.version,
        fencing: Vec::new(),
        resync_stopped: false,
        full: Vec::new(),
        losses: 0,
        serves: None,
    });
    server.logic.set_map(map.clone());
    assert_eq!(server.run(create("away")).unwrap_err().code, ErrorCode::NOT_READY, "the group comes back");
    let mut back = map.clone();
    back.targets.iter_mut().for_each(|target| target.reachability = Reachability::Online);
    server.logic.set_map(back);
    server.run(create("back")).unwrap();
    let mut lost = map.clone();
    let good = lost.targets.iter_mut().find(|target| target.id == TargetId(101)).unwrap();
    good.consistency = Consistency::Bad;
    server.logic.set_map(lost);
    assert_eq!(server.run(create("lost")).unwrap_err().code, ErrorCode::NO_SPACE, "no member can serve again");
    map.settings.default_pattern.pool = PoolId(pool.0 + 1);
    server.logic.set_map(map);
    assert_eq!(server.run(create("other")).unwrap_err().code, ErrorCode::NO_SPACE, "a group of another pool");
}

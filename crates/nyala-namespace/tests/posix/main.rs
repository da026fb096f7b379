// SPDX-License-Identifier: Apache-2.0

//! What POSIX and XFS say of single operations: times, permission bits, access control lists, extended attributes, files
//! without names, locks.

mod acl;
mod moved;
mod near;
mod server;
#[path = "../support/mod.rs"]
mod support;

use nyala_namespace::ns;
use nyala_wire::meta::*;
use nyala_wire::*;
use server::{Server, chmod, entry, name};

#[test]
fn directories_give_their_group_on() {
    let mut server = Server::new();
    let dir = server.dir("d");
    server.set(dir, SetAttr { gid: Some(55), perm: Some(0o2755), ..SetAttr::default() });
    let below = server.made(MetaOp::Mkdir { entry: entry(dir, "d", 0o700) });
    assert_eq!((below.gid, below.perm), (55, 0o2700));
    let file = server.made(MetaOp::Create { entry: entry(dir, "f", 0o600), exclusive: true });
    assert_eq!((file.gid, file.perm, file.uid), (55, 0o600, 1000));
}

#[test]
fn setuid_goes_with_the_owner() {
    let mut server = Server::new();
    let (inode, dir) = (server.file("f"), server.dir("d"));
    let to = |uid, perm| SetAttr { uid: Some(uid), perm, ..SetAttr::default() };
    server.set(inode, chmod(0o6755));
    server.set_xattr(inode, b"security.capability", b"x").unwrap();
    assert_eq!(server.set(inode, to(5, None)).perm, 0o755);
    assert_eq!(server.xattr(inode, b"security.capability"), Err(ErrorCode::NO_DATA));
    server.set(inode, chmod(0o6745));
    assert_eq!(server.set(inode, to(6, None)).perm, 0o2745, "setgid without group execute is something else");
    assert_eq!(server.set(inode, to(7, Some(0o6755))).perm, 0o6755, "what is asked for along with it stays");
    server.set_xattr(inode, b"security.capability", b"x").unwrap();
    let cut = SetAttr { size: Some(0), kill_suidgid: true, ..SetAttr::default() };
    assert_eq!((server.set(inode, cut).perm, server.xattrs(inode).len()), (0o755, 0));
    let write = SetAttr { kill_suidgid: true, ..SetAttr::default() };
    server.set(inode, chmod(0o6745));
    assert_eq!(server.set(inode, write.clone()).perm, 0o2745, "by somebody of the group");
    assert_eq!(server.set(inode, SetAttr { outside_group: Some(true), ..write }).perm, 0o745);
    server.set(dir, chmod(0o6755));
    assert_eq!(server.set(dir, to(5, None)).perm, 0o6755, "directories keep theirs");
}

#[test]
fn name_spaces_of_extended_attributes() {
    let mut server = Server::new();
    let inode = server.file("f");
    for name in [&b"user.a"[..], b"trusted.a", b"security.a", b"user.\xff"] {
        assert_eq!(server.set_xattr(inode, name, b"1"), Ok(()));
        assert_eq!(server.xattr(inode, name).unwrap(), b"1");
    }
    assert_eq!(server.xattrs(inode).len(), 4);
    for name in [&b"system.a"[..], b"a", b"users.a", b"system.posix_acl", b"system.posix_acl_access2", b"USER.a"] {
        assert_eq!(server.set_xattr(inode, name, b"1"), Err(ErrorCode::NOT_SUPPORTED));
        assert_eq!(server.xattr(inode, name), Err(ErrorCode::NOT_SUPPORTED));
        assert_eq!(server.remove_xattr(inode, name), Err(ErrorCode::NOT_SUPPORTED));
    }
    assert_eq!(server.set_xattr(inode, b"user.", b"1"), Err(ErrorCode::INVALID));
    assert_eq!(server.set_xattr(inode, b"", b"1"), Err(ErrorCode::RANGE));
    let longest = [&b"user."[..], &[b'x'; 250]].concat();
    assert_eq!(server.set_xattr(inode, &longest, b"1"), Ok(()));
    assert_eq!(server.set_xattr(inode, &[&longest[..], b"x"].concat(), b"1"), Err(ErrorCode::RANGE));
    assert_eq!(server.remove_xattr(inode, b"user.none"), Err(ErrorCode::NO_DATA));
}

#[test]
fn who_is_stamped() {
    let mut server = Server::new();
    let (dir, other, inode) = (server.dir("d"), server.dir("e"), server.file("f"));
    let root = InodeId::ROOT;
    let rename = |from: (InodeId, &str), to: (InodeId, &str), exchange| {
        let (from_parent, from_name, to_parent, to_name) = (from.0, name(from.1), to.0, name(to.1));
        MetaOp::Rename(Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange })
    };
    let xattr = |set| match set {
        true => {
            let (name, value) = (b"user.a".to_vec().into(), b"".to_vec().into());
            MetaOp::SetXattr { inode, name, value, create: false, replace: false, kill_sgid: false }
        }
        false => MetaOp::RemoveXattr { inode, name: b"user.a".to_vec().into() },
    };
    let set = |set| MetaOp::SetAttr { inode, set };
    let lock = FileLock { owner: 1, pid: 1, kind: LockKind::Write, flock: false, start: 0, end: 9 };
    // What changes content, and what only attributes.
    let cases: Vec<(MetaOp, Vec<InodeId>, Vec<InodeId>)> = vec![
        (MetaOp::Link { inode, parent: dir, name: name("g") }, vec![dir], vec![inode]),
        (rename((dir, "g"), (dir, "h"), false), vec![dir], vec![inode]),
        (rename((dir, "h"), (other, "h"), false), vec![dir, other], vec![inode]),
        (rename((root, "d"), (root, "dd"), false), vec![root], vec![dir]),
        (rename((root, "dd"), (other, "d"), false), vec![root, other], vec![dir]),
        (rename((other, "d"), (root, "f"), true), vec![root, other], vec![dir, inode]),
        (rename((root, "f"), (root, "d"), false), vec![root], vec![dir]),
        (MetaOp::Mkdir { entry: entry(dir, "sub", 0o755) }, vec![dir], vec![]),
        (MetaOp::Rmdir { parent: dir, name: name("sub") }, vec![dir], vec![]),
        (MetaOp::Tmpfile { entry: entry(dir, "-", 0o600) }, vec![], vec![]),
        (MetaOp::Create { entry: entry(dir, "new", 0o600), exclusive: false }, vec![dir], vec![]),
        (MetaOp::Create { entry: entry(dir, "new", 0o600), exclusive: false }, vec![], vec![]),
        (MetaOp::Unlink { parent: other, name: name("h") }, vec![other], vec![inode]),
        (xattr(true), vec![], vec![inode]),
        (xattr(false), vec![], vec![inode]),
        (set(chmod(0o600)), vec![], vec![inode]),
        (set(SetAttr { uid: Some(1), ..SetAttr::default() }), vec![], vec![inode]),
        (set(SetAttr { atime: Some(SetTime::Now), ..SetAttr::default() }), vec![], vec![inode]),
        (set(SetAttr { size: Some(0), ..SetAttr::default() }), vec![inode], vec![]),
        (set(SetAttr { size: Some(9), ..SetAttr::default() }), vec![inode], vec![]),
        (MetaOp::SetLock { inode, lock }, vec![], vec![]),
        (MetaOp::Open { inode }, vec![], vec![]),
        (MetaOp::Close { inode }, vec![], vec![]),
    ];
    let all = [root, dir, other, inode];
    for (op, content, attributes) in cases {
        let before = all.map(|inode| server.attr(inode));
        server.run(op.clone()).unwrap();
        for before in before {
            let after = server.attr(before.inode);
            let changed = (after.mtime > before.mtime, after.ctime > before.ctime);
            let is_content = content.contains(&before.inode);
            let expected = (is_content, is_content || attributes.contains(&before.inode));
            assert_eq!(changed, expected, "{op:?}: {:?}", before.inode);
            let only_atime = matches!(&op, MetaOp::SetAttr { set, .. } if set.atime.is_some());
            assert_eq!(after.atime > before.atime, only_atime && before.inode == inode);
            assert_eq!(after.btime, before.btime);
        }
    }
}

#[test]
fn ctime_never_goes_back_and_times_are_valid() {
    let mut server = Server::new();
    let (inode, dir) = (server.file("f"), server.dir("d"));
    let ahead = Time { seconds: 5_000_000, nanos: 999_999_999 };
    for it in [inode, dir] {
        server.forge(it, |record| record.ctime = ahead);
    }
    assert_eq!(server.set(inode, chmod(0o600)).ctime, ahead);
    server.set_xattr(inode, b"user.a", b"").unwrap();
    server.run(MetaOp::Link { inode, parent: dir, name: name("g") }).unwrap();
    server.run(MetaOp::Unlink { parent: dir, name: name("g") }).unwrap();
    let early = Time { seconds: 1, nanos: 0 };
    let put = |mtime| {
        let (base_version, data) = (0, b"x".to_vec().into());
        MetaOp::PutInline(PutInline {
            inode,
            base_version,
            data,
            mtime,
            sync: false,
            close: false,
            size: None,
            set: None,
        })
    };
    server.run(put(early)).unwrap();
    let attr = server.attr(inode);
    assert_eq!((attr.ctime, attr.mtime), (ahead, early), "a time that is set is kept");
    let attr = server.attr(dir);
    assert_eq!((attr.ctime, attr.mtime), (ahead, ahead), "a directory changes later than it did before");
    let bad = Time { seconds: 1, nanos: 1_000_000_000 };
    let to = |set| MetaOp::SetAttr { inode, set };
    let (base, at) = (SetAttr::default(), Some(SetTime::At(bad)));
    let commit = Commit {
        inode,
        end: None,
        mtime: Some(bad),
        spilled: None,
        sync: false,
        close: false,
        allocated: None,
        encoded: None,
    };
    for op in [
        to(SetAttr { atime: at, ..base.clone() }),
        to(SetAttr { mtime: at, ..base.clone() }),
        to(SetAttr { ctime: Some(bad), ..base }),
        MetaOp::Commit(commit),
        put(bad),
    ] {
        assert_eq!(server.run(op), Err(ErrorCode::INVALID));
    }
}

#[test]
fn content_brings_its_size_where_a_truncation_was_lost() {
    let mut server = Server::new();
    let inode = server.file("f");
    let put = |base_version, data: &[u8], size| {
        let (data, mtime) = (data.to_vec().into(), Time::default());
        MetaOp::PutInline(PutInline { inode, base_version, data, mtime, sync: false, close: false, size, set: None })
    };
    server.run(put(0, b"longer", None)).unwrap();
    server.run(put(1, b"as", None)).unwrap();
    assert_eq!(server.attr(inode).size, 6, "it only grows");
    server.run(put(2, b"as", Some(2))).unwrap();
    assert_eq!(server.attr(inode).size, 2);
    server.run(put(3, b"as", Some(9))).unwrap();
    assert_eq!(server.attr(inode).size, 9, "zeros follow");
    for size in [1, u64::MAX] {
        assert_eq!(server.run(put(4, b"as", Some(size))), Err(ErrorCode::INVALID));
    }
}

#[test]
fn of_many_contents_each_is_taken_or_refused_for_itself() {
    let mut server = Server::new();
    let files: Vec<InodeId> = (0..4).map(|number| server.file(&format!("f{number}"))).collect();
    let dir = server.dir("d");
    let put = |inode, base_version, seconds| {
        let (data, mtime) = (b"content".to_vec().into(), Time { seconds, nanos: 0 });
        PutInline { inode, base_version, data, mtime, sync: false, close: false, size: None, set: None }
    };
    server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: name("f3") }).unwrap();
    let elsewhere = InodeId::new(Slot(4000), 7).unwrap();
    let long = PutInline { data: vec![1; 100_000].into(), ..put(files[2], 0, 5) };
    let late = Time { seconds: 5, nanos: 1_000_000_000 };
    let invalid = PutInline { mtime: late, ..put(files[2], 0, 5) };
    let puts = vec![
        put(files[0], 0, 5),
        put(files[1], 7, 5),
        put(files[3], 0, 5),
        put(dir, 0, 5),
        put(elsewhere, 0, 5),
        long,
        invalid,
        put(files[2], 0, 6),
        put(files[0], 1, 7),
        put(files[0], 1, 8),
    ];
    let MetaReply::Inlines(outcomes) = server.run(MetaOp::PutInlines { puts }).unwrap() else { panic!() };
    let said: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            PutOutcome::Taken { attr, version } => Ok((attr.size, attr.mtime.seconds, version)),
            PutOutcome::Refused(error) => Err(error.code),
        })
        .collect();
    let conflict = Err(ErrorCode::INLINE_CONFLICT);
    let [gone, not_a_file, away] = [ErrorCode::STALE, ErrorCode::INVALID, ErrorCode::WRONG_SERVER].map(Err);
    let [long, invalid] = [ErrorCode::TOO_BIG, ErrorCode::INVALID].map(Err);
    let (third, again) = (Ok((7, 6, 1)), Ok((7, 7, 2)));
    assert_eq!(said, [Ok((7, 5, 1)), conflict, gone, not_a_file, away, long, invalid, third, again, conflict]);
    assert_eq!(server.attr(files[1]).size, 0);
    let many = (0..=MAX_PUTS).map(|_| put(files[0], 2, 9)).collect();
    assert_eq!(server.run(MetaOp::PutInlines { puts: many }), Err(ErrorCode::TOO_BIG));
}

#[test]
fn links_are_bounded() {
    let mut server = Server::new();
    let (inode, dir) = (server.file("f"), server.dir("d"));
    server.dir("e");
    for it in [inode, dir] {
        server.forge(it, |record| record.nlink = ns::link::MAX_LINKS);
    }
    let link = MetaOp::Link { inode, parent: InodeId::ROOT, name: name("g") };
    assert_eq!(server.run(link), Err(ErrorCode::TOO_MANY_LINKS));
    let mkdir = MetaOp::Mkdir { entry: entry(dir, "x", 0o755) };
    assert_eq!(server.run(mkdir), Err(ErrorCode::TOO_MANY_LINKS));
    let rename = Rename {
        from_parent: InodeId::ROOT,
        from_name: name("e"),
        to_parent: dir,
        to_name: name("e"),
        no_replace: false,
        exchange: false,
    };
    assert_eq!(server.run(MetaOp::Rename(rename)), Err(ErrorCode::TOO_MANY_LINKS));
    let file = MetaOp::Create { entry: entry(dir, "x", 0o755), exclusive: true };
    assert!(server.run(file).is_ok(), "a file is no link of its directory");
}

#[test]
fn a_file_may_have_a_pattern_of_its_own() {
    let mut server = Server::new();
    let dir = server.dir("d");
    let given = StripePattern { chunk_bytes: 1 << 20, num_targets: 1, inline_bytes: 0, ..StripePattern::default() };
    let make = |text, pattern| MetaOp::Mknod { entry: entry(dir, text, 0o600), kind: FileKind::File, rdev: 0, pattern };
    let of = |server: &mut Server, inode| match server.run(MetaOp::EntryInfo { inode }).unwrap() {
        MetaReply::EntryInfo(info) => *info,
        other => panic!("{other:?}"),
    };
    let own = server.made(make("own", Some(given))).inode;
    let (own, plain) = (of(&mut server, own), server.made(make("plain", None)).inode);
    let layout = own.layout.unwrap();
    assert_eq!((layout.chunk_bytes, layout.targets.len(), own.inline), (1 << 20, 1, false));
    let plain = of(&mut server, plain);
    assert_eq!((plain.layout.unwrap().chunk_bytes, plain.inline), (StripePattern::default().chunk_bytes, true));
    assert_eq!(server.run(make("own", Some(given))), Err(ErrorCode::EXISTS));
    for wrong in [StripePattern { chunk_bytes: 5, ..given }, StripePattern { pool: PoolId(99), ..given }] {
        assert_eq!(server.run(make("wrong", Some(wrong))), Err(ErrorCode::INVALID));
    }
}

#[test]
fn what_cannot_be_made() {
    let mut server = Server::new();
    let dir = server.dir("d");
    for kind in [FileKind::Directory, FileKind::Symlink] {
        let op = MetaOp::Mknod { entry: entry(dir, "x", 0o755), kind, rdev: 0, pattern: None };
        assert_eq!(server.run(op), Err(ErrorCode::INVALID));
    }
    let device = server.made(MetaOp::Mknod {
        entry: entry(dir, "n", 0o600),
        kind: FileKind::CharDevice,
        rdev: 0x103,
        pattern: None,
    });
    assert_eq!((device.rdev, device.kind), (0x103, FileKind::CharDevice));
    let symlink = |target: Vec<u8>| MetaOp::Symlink { entry: entry(dir, "x", 0o777), target: target.into() };
    assert_eq!(server.run(symlink(Vec::new())), Err(ErrorCode::NOT_FOUND));
    assert_eq!(server.run(symlink(vec![b'x'; 4096])), Err(ErrorCode::NAME_TOO_LONG));
    assert_eq!(server.made(symlink(vec![b'x'; 4095])).size, 4095);
    let link = MetaOp::Link { inode: dir, parent: dir, name: name("loop") };
    assert_eq!(server.run(link), Err(ErrorCode::NOT_PERMITTED));
}

#[test]
fn a_file_without_a_name_gets_one_or_goes() {
    let mut server = Server::new();
    let unnamed = |server: &mut Server| server.made(MetaOp::Tmpfile { entry: entry(InodeId::ROOT, "-", 0o666) });
    let inodes = |server: &mut Server| server.run(MetaOp::StatFs).unwrap();
    let before = inodes(&mut server);
    let lost = unnamed(&mut server);
    assert_eq!((lost.nlink, lost.perm, lost.kind), (0, 0o644, FileKind::File));
    server.run(MetaOp::Close { inode: lost.inode }).unwrap();
    assert_eq!(server.run(MetaOp::GetAttr { inode: lost.inode }), Err(ErrorCode::STALE));
    assert_eq!(inodes(&mut server), before);
    let kept = unnamed(&mut server).inode;
    let link = |text| MetaOp::Link { inode: kept, parent: InodeId::ROOT, name: name(text) };
    assert_eq!(server.made(link("a")).nlink, 1);
    assert_eq!(server.made(link("b")).nlink, 2);
    for text in ["a", "b"] {
        server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: name(text) }).unwrap();
    }
    assert_eq!(server.attr(kept).nlink, 0, "it is still open");
    assert_eq!(server.run(link("c")), Err(ErrorCode::NOT_FOUND), "once it had a name it is like any other");
    server.run(MetaOp::Close { inode: kept }).unwrap();
    assert_eq!(inodes(&mut server), before);
    let file = server.file("f");
    assert_eq!(server.run(MetaOp::Tmpfile { entry: entry(file, "-", 0o600) }), Err(ErrorCode::NOT_A_DIRECTORY));
}

#[test]
fn locks_of_files() {
    let mut server = Server::new();
    let inode = server.file("f");
    let lock = |owner, kind, start, end| FileLock { owner, pid: owner as u32, kind, flock: false, start, end };
    let set = |lock| MetaOp::SetLock { inode, lock };
    let writer = lock(1, LockKind::Write, 10, 19);
    server.as_session(1, set(writer)).unwrap();
    assert_eq!(
        server.as_session(2, set(lock(1, LockKind::Read, 0, 10))),
        Err(ErrorCode::AGAIN),
        "another session's owner"
    );
    server.as_session(2, set(lock(1, LockKind::Read, 0, 9))).unwrap();
    let get = |lock| MetaOp::GetLock { inode, lock };
    let found = server.as_session(2, get(lock(1, LockKind::Read, 0, 99)));
    assert_eq!(found, Ok(MetaReply::Lock(Some(writer))));
    assert_eq!(server.as_session(1, get(lock(1, LockKind::Read, 10, 99))), Ok(MetaReply::Lock(None)));
    assert_eq!(server.as_session(1, get(lock(1, LockKind::Unlock, 0, 9))), Err(ErrorCode::INVALID));
    assert_eq!(server.as_session(1, set(lock(1, LockKind::Read, 9, 8))), Err(ErrorCode::INVALID));
    // A session's end.
    assert_eq!(ns::lock::locked_by(&server.view, SessionId(1)), Ok(vec![inode]));
    let locks = nyala_namespace::locks::Locks::default();
    let mut change = nyala_namespace::change::Change::new(&server.view, &locks, None);
    assert!(ns::lock::release_all(&mut change, SessionId(1), inode).unwrap());
    assert!(!ns::lock::release_all(&mut change, SessionId(3), inode).unwrap());
    let batch = change.finish();
    server.view.apply(&batch);
    assert_eq!(ns::lock::locked_by(&server.view, SessionId(1)), Ok(Vec::new()));
    server.as_session(1, set(lock(3, LockKind::Write, 10, u64::MAX))).unwrap();
    // What is gone can still be unlocked, and nothing else.
    server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: name("f") }).unwrap();
    assert_eq!(ns::lock::locked_by(&server.view, SessionId(2)), Ok(Vec::new()));
    assert_eq!(server.run(set(lock(3, LockKind::Unlock, 0, u64::MAX))), Ok(MetaReply::Done));
    assert_eq!(server.run(set(lock(3, LockKind::Read, 0, u64::MAX))), Err(ErrorCode::STALE));
}

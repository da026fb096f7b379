// SPDX-License-Identifier: Apache-2.0

//! Damaged tables: what a check is told of them, and that each repair makes them whole, once, and only where what it says is so.

use crate::support::{Server, entry};
use nyala_kv::Key;
use nyala_namespace::facts::{of_inodes, page};
use nyala_namespace::file_locks::FileLocks;
use nyala_namespace::keys;
use nyala_namespace::records::{EntryRecord, GarbageRecord, InodeRecord};
use nyala_wire::check::{Fact, ServerFact};
use nyala_wire::meta::*;
use nyala_wire::*;

const NOBODY: SessionId = SessionId(77);

impl Server {
    /// All facts, in pages of so many rows.
    fn facts(&self, most: u32) -> Vec<Fact> {
        let mut all = Vec::new();
        for inodes in [false, true] {
            let mut from = Vec::new();
            loop {
                let (facts, next) = page(&self.view, &|_| true, inodes, &from, most).unwrap();
                all.extend(facts);
                match next {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
        all
    }

    fn has(&self, wanted: impl Fn(&Fact) -> bool) -> bool {
        self.facts(1000).iter().any(wanted)
    }

    fn repair(&mut self, repair: Repair) {
        assert_eq!(self.run(MetaOp::Repair(repair.clone())), Ok(MetaReply::Done), "{repair:?}");
        if !matches!(repair, Repair::AddName { .. }) {
            let again = self.run(MetaOp::Repair(repair.clone())).expect_err("it was done");
            assert_eq!(again.code, ErrorCode::STALE, "{repair:?} again");
        }
    }

    fn change<T: minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>>(&mut self, key: Key, how: impl Fn(&mut T)) {
        let mut record: T = codec::decode(&self.view.0[&key]).unwrap();
        how(&mut record);
        self.view.0.insert(key, codec::encode(&record));
    }

    fn dir(&mut self, text: &str) -> InodeId {
        match self.run(MetaOp::Mkdir { entry: entry(text) }).unwrap() {
            MetaReply::Entry(entry) => entry.inode,
            other => panic!("{other:?}"),
        }
    }

    fn attr(&mut self, inode: InodeId) -> Attr {
        match self.run(MetaOp::GetAttr { inode }).unwrap() {
            MetaReply::Attr(attr) => attr,
            other => panic!("{other:?}"),
        }
    }

    fn lookup(&mut self, text: &str) -> Result<InodeId, ErrorCode> {
        match self.run(MetaOp::Lookup { parent: InodeId::ROOT, name: name(text) }) {
            Ok(MetaReply::Entry(entry)) => Ok(entry.inode),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        }
    }

    fn cookie_of(&self, text: &str) -> u64 {
        keys::cookie(InodeId::ROOT, text.as_bytes())
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

/// What is listed of the root: names, and directories among them.
fn listed(facts: &[Fact]) -> (u64, u64) {
    let of_root = facts.iter().filter_map(|fact| match fact {
        Fact::Listed { dir: InodeId::ROOT, entries, subdirs } => Some((*entries, *subdirs)),
        _ => None,
    });
    of_root.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

#[test]
fn pages_say_the_same_whatever_their_size() {
    let mut server = Server::new();
    let files: Vec<InodeId> = (0..20).map(|n| server.file(&format!("f{n}"))).collect();
    server.dir("d");
    server.set_xattr(files[3], b"user.a", vec![1; 500]).unwrap();
    server.set_xattr(files[3], b"user.bc", vec![2; 5]).unwrap();
    let whole = server.facts(4096);
    assert_eq!(listed(&whole), (21, 1));
    let single = |facts: &[Fact]| -> Vec<Fact> {
        facts.iter().filter(|fact| !matches!(fact, Fact::Listed { .. } | Fact::Xattrs { .. })).cloned().collect()
    };
    let xattrs = |facts: &[Fact]| -> u64 {
        let of = |fact: &Fact| if let Fact::Xattrs { bytes, .. } = fact { *bytes } else { 0 };
        facts.iter().map(of).sum()
    };
    assert_eq!(xattrs(&whole), 7 + 8);
    for most in [1, 2, 7] {
        let paged = server.facts(most);
        assert_eq!((listed(&paged), xattrs(&paged)), ((21, 1), 15));
        assert_eq!(single(&paged), single(&whole));
    }
    assert!(
        page(&server.view, &|_| true, true, b"", 0).is_err() && page(&server.view, &|_| true, true, b"", 4097).is_err()
    );
    let some = of_inodes(&server.view, &[InodeId::ROOT, files[3], InodeId(999)]).unwrap();
    assert_eq!((listed(&some), xattrs(&some), some.len()), ((21, 1), 15, 4), "{some:?}");
}

#[test]
fn names() {
    let mut server = Server::new();
    let (file, dir) = (server.file("f"), server.dir("d"));
    // A name whose inode is gone.
    server.view.0.remove(&keys::inode(file)).unwrap();
    let (root, cookie) = (InodeId::ROOT, server.cookie_of("f"));
    assert!(server.has(|fact| matches!(fact, Fact::Name { inode, misplaced: false, .. } if *inode == file)));
    server.repair(Repair::RemoveName { dir: root, cookie, inode: file });
    assert_eq!((server.lookup("f"), listed(&server.facts(99))), (Err(ErrorCode::NOT_FOUND), (1, 1)));
    // A name that says that a directory is a file.
    let key = keys::entry(root, server.cookie_of("d"));
    server.change::<EntryRecord>(key.clone(), |entry| entry.kind = FileKind::File);
    let cookie = server.cookie_of("d");
    server.repair(Repair::SetNameKind { dir: root, cookie, inode: dir, kind: FileKind::Directory });
    assert_eq!(listed(&server.facts(99)), (1, 1));
    // A name that nobody finds, since it stands elsewhere.
    let row = server.view.0.remove(&key).unwrap();
    server.view.0.insert(keys::entry(root, 512), row);
    assert_eq!(server.lookup("d"), Err(ErrorCode::NOT_FOUND));
    assert!(server.has(|fact| matches!(fact, Fact::Name { cookie: 512, misplaced: true, .. })));
    server.repair(Repair::PlaceName { dir: root, cookie: 512, inode: dir });
    assert_eq!(server.lookup("d"), Ok(dir));
    // Counts.
    server.change::<InodeRecord>(keys::inode(root), |record| {
        record.nlink = 9;
        record.dir.as_mut().unwrap().entries = 4;
    });
    server.repair(Repair::CountNames(root));
    assert_eq!(server.attr(root).nlink, 3);
    // Names in a directory that there is not.
    let gone = InodeId(4000);
    let row = EntryRecord { name: name("x"), inode: dir, kind: FileKind::Directory, followed: None };
    server.view.0.insert(keys::entry(gone, 256), codec::encode(&row));
    server.repair(Repair::RemoveNames(gone));
    assert!(!server.has(|fact| matches!(fact, Fact::Listed { dir, .. } if *dir == gone)));
    let refused = server.run(MetaOp::Repair(Repair::RemoveNames(root))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::STALE, "the names of a directory that is there stay");
}

#[test]
fn links_and_parents() {
    let mut server = Server::new();
    let (file, dir) = (server.file("f"), server.dir("d"));
    server.change::<InodeRecord>(keys::inode(file), |record| record.nlink = 3);
    server.repair(Repair::SetLinks { inode: file, from: 3, to: 1 });
    assert_eq!(server.attr(file).nlink, 1);
    server.change::<InodeRecord>(keys::inode(dir), |record| record.dir.as_mut().unwrap().parent = InodeId(55));
    server.repair(Repair::SetParent { dir, from: InodeId(55), to: InodeId::ROOT });
    // A file that lost its name gets another one.
    server.view.0.remove(&keys::entry(InodeId::ROOT, server.cookie_of("f"))).unwrap();
    server.repair(Repair::CountNames(InodeId::ROOT));
    let orphan = Repair::AddName { dir: InodeId::ROOT, name: name("found"), inode: file, kind: FileKind::File };
    server.repair(orphan.clone());
    server.repair(orphan);
    assert_eq!((server.lookup("found"), listed(&server.facts(99))), (Ok(file), (2, 1)));
    let other = Repair::AddName { dir: InodeId::ROOT, name: name("found"), inode: dir, kind: FileKind::Directory };
    assert_eq!(server.run(MetaOp::Repair(other)).unwrap_err().code, ErrorCode::EXISTS);
    // One without links that was never removed.
    let inode = server.file("g");
    server.view.0.remove(&keys::entry(InodeId::ROOT, server.cookie_of("g"))).unwrap();
    server.change::<InodeRecord>(keys::inode(inode), |record| record.nlink = 0);
    server.repair(Repair::RemoveInode(inode));
    assert!(!server.has(|fact| matches!(fact, Fact::Inode(record) if record.inode == inode)));
}

#[test]
fn an_open_file_without_links_is_not_removed() {
    let mut server = Server::new();
    let inode = server.file("f");
    server.run(MetaOp::Open { inode }).unwrap();
    server.run(MetaOp::Unlink { parent: InodeId::ROOT, name: name("f") }).unwrap();
    let refused = server.run(MetaOp::Repair(Repair::RemoveInode(inode))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::STALE);
    assert!(server.has(|fact| matches!(fact, Fact::Open { session: SessionId(1), known: false, .. })));
    // Its session is not in the tables of this test: then it goes with what it holds open.
    server.repair(Repair::CloseStray { inode, session: SessionId(1) });
    assert!(!server.has(|fact| fact.inode() == Some(inode)));
}

#[test]
fn what_belongs_to_nothing() {
    let mut server = Server::new();
    let (file, gone) = (server.file("f"), InodeId(4000));
    for key in [keys::data(gone), keys::xattr(gone, b"user.a"), keys::xattr(file, b"user.b")] {
        server.view.0.insert(key, vec![1; 9]);
    }
    server.repair(Repair::RemoveContent(gone));
    assert!(!server.has(|fact| fact.inode() == Some(gone)));
    server.repair(Repair::CountXattrs(file));
    assert!(!server.attr(file).no_xattrs);
    let garbage = GarbageRecord { targets: vec![TargetId(101)], mirrored: None, moves: None };
    server.view.0.insert(keys::garbage(file), codec::encode(&garbage));
    assert!(server.has(|fact| matches!(fact, Fact::Garbage { inode, .. } if *inode == file)));
    server.repair(Repair::KeepChunks(file));
    server.view.0.insert(keys::garbage(gone), codec::encode(&garbage));
    let refused = server.run(MetaOp::Repair(Repair::KeepChunks(gone))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::STALE, "chunk files of what is gone go");
    // Rows of a session that there is not.
    server.view.0.insert(keys::open(file, NOBODY), Vec::new());
    server.view.0.insert(keys::reply(NOBODY, 3), vec![0]);
    assert!(server.has(|fact| *fact == Fact::Open { inode: file, session: NOBODY, known: false }));
    assert!(server.has(|fact| *fact == Fact::Server(ServerFact::StrayReplies { session: NOBODY })));
    server.repair(Repair::CloseStray { inode: file, session: NOBODY });
    server.repair(Repair::Server(ServerRepair::RemoveReplies { session: NOBODY }));
    assert!(!server.has(|fact| matches!(fact, Fact::Open { .. } | Fact::Server(ServerFact::StrayReplies { .. }))));
}

#[test]
fn locks() {
    let mut server = Server::new();
    let inode = server.file("f");
    let lock = FileLock { owner: 1, pid: 2, kind: LockKind::Write, flock: false, start: 0, end: 9 };
    server.run(MetaOp::SetLock { inode, lock }).unwrap();
    let stray = |session| move |fact: &Fact| *fact == Fact::StrayLock { inode, session };
    assert!(server.has(stray(SessionId(1))), "its session is not in the tables of this test");
    server.view.0.insert(keys::session(SessionId(1)), vec![0x81, 0x60]);
    assert!(!server.has(stray(SessionId(1))));
    server.view.0.remove(&keys::session_lock(SessionId(1), inode)).unwrap();
    server.view.0.insert(keys::session_lock(NOBODY, inode), Vec::new());
    assert!(server.has(stray(SessionId(1))) && server.has(stray(NOBODY)));
    server.repair(Repair::SettleLocks { inode, session: SessionId(1) });
    server.repair(Repair::SettleLocks { inode, session: NOBODY });
    assert!(!server.has(|fact| matches!(fact, Fact::StrayLock { .. })));
    let held: FileLocks = codec::decode(&server.view.0[&keys::file_locks(inode)]).unwrap();
    assert!(held.has(SessionId(1)), "a lock that is held stays");
}

#[test]
fn what_cannot_be_read_is_set_aside() {
    let mut server = Server::new();
    let file = server.file("f");
    let whole = server.facts(99);
    let entry = keys::entry(InodeId::ROOT, server.cookie_of("f"));
    let (locks, garbage) = (keys::file_locks(file), keys::garbage(InodeId(4000)));
    for key in [&entry, &locks, &garbage] {
        server.view.0.insert(key.clone(), vec![0xff]);
        let set_aside = ServerRepair::SetAside { key: key.to_vec().into() };
        server.repair(Repair::Server(set_aside));
        assert_eq!(server.view.0.get(&keys::aside(key)), Some(&vec![0xff]), "its bytes are kept");
        assert!(!server.view.0.contains_key(key));
    }
    assert!(!server.has(|fact| matches!(fact, Fact::Server(ServerFact::Unreadable { .. }))));
    assert!(server.has(|fact| matches!(fact, Fact::Inode(record) if record.inode == file)), "what it named is there");
    server.repair(Repair::CountNames(InodeId::ROOT));
    assert_eq!(server.facts(99).len() + 2, whole.len(), "the only name, and that there is one");
    // What can be read, and what something hangs from, stays.
    let readable = keys::inode_count();
    let (inode, next) = (keys::inode(file), keys::next_sequence(file.slot()));
    server.view.0.insert(next.clone(), vec![0xff]);
    for key in [readable, inode.clone(), next] {
        let refused = server
            .run(MetaOp::Repair(Repair::Server(ServerRepair::SetAside { key: key.to_vec().into() })))
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::STALE);
    }
    server.view.0.insert(inode.clone(), vec![0xff]);
    let refused = server.run(MetaOp::Repair(Repair::Server(ServerRepair::SetAside { key: inode.to_vec().into() })));
    assert_eq!(refused.unwrap_err().code, ErrorCode::STALE);
}

#[test]
fn numbers_and_what_cannot_be_read() {
    let mut server = Server::new();
    let file = server.file("f");
    let next = || {
        server.facts(99).iter().find_map(|fact| match fact {
            Fact::Server(ServerFact::NextSequence { slot, next }) if *slot == file.slot() => Some(*next),
            _ => None,
        })
    };
    assert!(next().is_some_and(|next| next > file.sequence()));
    server.repair(Repair::Server(ServerRepair::RaiseSequence { slot: file.slot(), to: 1 << 24 }));
    assert!(server.has(|fact| *fact == Fact::Server(ServerFact::Count { inodes: 2 })));
    server.repair(Repair::Server(ServerRepair::SetCount { from: 2, to: 5 }));
    assert!(server.has(|fact| *fact == Fact::Server(ServerFact::Count { inodes: 5 })));
    for key in [keys::inode(file), keys::entry(InodeId::ROOT, server.cookie_of("f")), Key::new(b"~\x01")] {
        server.view.0.insert(key.clone(), vec![0xff]);
        assert!(
            server.has(|fact| matches!(fact, Fact::Server(ServerFact::Unreadable { key: found }) if **found == *key)),
            "{key:?}"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Random operations on the real name-space logic and on a textbook model: same answers, same tree.

mod support;

use minicbor::bytes::ByteVec;
use nyala_namespace::keys;
use nyala_namespace::ns::lock;
use nyala_namespace::records::EntryRecord;
use nyala_namespace::view::{MemView, View};
use nyala_wire::meta::*;
use nyala_wire::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use support::model::Model;
use support::{Logic, new_tables};

/// An operation, with places that are resolved against what exists when it runs.
#[derive(Clone, Debug)]
enum Op {
    Create(usize, u8, bool),
    Mkdir(usize, u8),
    Symlink(usize, u8),
    Unlink(usize, u8),
    Rmdir(usize, u8),
    Link(usize, usize, u8),
    Rename(usize, u8, usize, u8, u8),
    Open(usize),
    Close(usize),
    Resize(usize, u64),
    PutInline(usize, Vec<u8>, bool),
    Xattr(usize, u8, bool),
    Tmpfile(usize),
    Lock(usize, LockKind),
    Commit(usize, u64, bool, Option<u64>),
}

fn op() -> impl Strategy<Value = Op> {
    let dir = 0..6_usize;
    let any_inode = 0..16_usize;
    let name = 0..5_u8;
    prop_oneof![
        3 => (dir.clone(), name.clone(), any::<bool>()).prop_map(|(d, n, x)| Op::Create(d, n, x)),
        3 => (dir.clone(), name.clone()).prop_map(|(d, n)| Op::Mkdir(d, n)),
        1 => (dir.clone(), name.clone()).prop_map(|(d, n)| Op::Symlink(d, n)),
        2 => (dir.clone(), name.clone()).prop_map(|(d, n)| Op::Unlink(d, n)),
        1 => (dir.clone(), name.clone()).prop_map(|(d, n)| Op::Rmdir(d, n)),
        1 => (any_inode.clone(), dir.clone(), name.clone()).prop_map(|(i, d, n)| Op::Link(i, d, n)),
        5 => (dir.clone(), name.clone(), dir, name.clone(), 0..4_u8).prop_map(|(d, n, e, m, f)| Op::Rename(d, n, e, m, f)),
        1 => any_inode.clone().prop_map(Op::Open),
        2 => any_inode.clone().prop_map(Op::Close),
        1 => (any_inode.clone(), prop_oneof![0..200_u64, 5000..9000_u64]).prop_map(|(i, s)| Op::Resize(i, s)),
        1 => (any_inode.clone(), proptest::collection::vec(any::<u8>(), 0..100), any::<bool>())
            .prop_map(|(i, d, b)| Op::PutInline(i, d, b)),
        1 => (any_inode.clone(), name, any::<bool>()).prop_map(|(i, n, b)| Op::Xattr(i, n, b)),
        1 => (0..6_usize).prop_map(Op::Tmpfile),
        2 => (any_inode.clone(), prop_oneof![Just(LockKind::Read), Just(LockKind::Write), Just(LockKind::Unlock)])
            .prop_map(|(i, k)| Op::Lock(i, k)),
        1 => (any_inode, 0..9000_u64, any::<bool>(), proptest::option::of(0..9000_u64))
            .prop_map(|(i, e, s, a)| Op::Commit(i, e, s, a)),
    ]
}

fn name(n: u8) -> Name {
    Name::new(format!("name {n}").as_bytes()).unwrap()
}

fn resolve(model: &Model, op: &Op) -> MetaOp {
    let dirs: Vec<InodeId> =
        model.nodes.iter().filter(|(_, node)| node.kind == FileKind::Directory).map(|(id, _)| *id).collect();
    let all: Vec<InodeId> = model.nodes.keys().copied().collect();
    let dir = |at: &usize| dirs[at % dirs.len()];
    let any_inode = |at: &usize| all[at % all.len()];
    let entry = |d: &usize, n: &u8| NewEntry { parent: dir(d), name: name(*n), perm: 0o640, umask: 0 };
    match op {
        Op::Create(d, n, exclusive) => MetaOp::Create { entry: entry(d, n), exclusive: *exclusive },
        Op::Mkdir(d, n) => MetaOp::Mkdir { entry: entry(d, n) },
        Op::Symlink(d, n) => MetaOp::Symlink { entry: entry(d, n), target: b"target".to_vec().into() },
        Op::Unlink(d, n) => MetaOp::Unlink { parent: dir(d), name: name(*n) },
        Op::Rmdir(d, n) => MetaOp::Rmdir { parent: dir(d), name: name(*n) },
        Op::Link(i, d, n) => MetaOp::Link { inode: any_inode(i), parent: dir(d), name: name(*n) },
        Op::Rename(d, n, e, m, flags) => MetaOp::Rename(Rename {
            from_parent: dir(d),
            from_name: name(*n),
            to_parent: dir(e),
            to_name: name(*m),
            no_replace: *flags == 1,
            exchange: *flags == 2,
        }),
        Op::Open(i) => MetaOp::Open { inode: any_inode(i) },
        Op::Close(i) => MetaOp::Close { inode: any_inode(i) },
        Op::Resize(i, size) => {
            MetaOp::SetAttr { inode: any_inode(i), set: SetAttr { size: Some(*size), ..SetAttr::default() } }
        }
        Op::PutInline(i, data, fresh) => {
            let inode = any_inode(i);
            let version = model.nodes[&inode].inline.as_ref().map_or(0, |(version, _)| *version);
            let base_version = if *fresh { version } else { version + 1 };
            let data = data.clone().into();
            MetaOp::PutInline(PutInline {
                inode,
                base_version,
                data,
                mtime: Time::default(),
                sync: false,
                close: false,
                size: None,
                set: None,
            })
        }
        Op::Tmpfile(d) => MetaOp::Tmpfile { entry: entry(d, &0) },
        Op::Lock(i, kind) => {
            let lock = FileLock { owner: 1, pid: 1, kind: *kind, flock: false, start: 0, end: u64::MAX };
            MetaOp::SetLock { inode: any_inode(i), lock }
        }
        Op::Commit(i, end, wrong, allocated) => {
            let inode = any_inode(i);
            let version = model.nodes[&inode].inline.as_ref().map(|(version, _)| *version);
            let spilled = if *wrong { version.map(|version| version + 1) } else { version };
            let (end, allocated) = (Some(*end), *allocated);
            MetaOp::Commit(Commit {
                inode,
                end,
                mtime: None,
                spilled,
                sync: false,
                close: false,
                allocated,
                encoded: None,
            })
        }
        Op::Xattr(i, n, set) => {
            let (inode, name) = (any_inode(i), ByteVec::from(format!("user.{n}").into_bytes()));
            if *set {
                MetaOp::SetXattr {
                    inode,
                    name,
                    value: vec![*n; 3].into(),
                    create: false,
                    replace: false,
                    kill_sgid: false,
                }
            } else {
                MetaOp::RemoveXattr { inode, name }
            }
        }
    }
}

fn made(reply: &MetaReply) -> Option<InodeId> {
    match reply {
        MetaReply::Created { new: true, inode, file, .. } => {
            assert!(file.is_some(), "a new file is open");
            Some(*inode)
        }
        MetaReply::Entry(entry) => Some(entry.inode),
        _ => None,
    }
}

fn count(view: &MemView, tag: u8) -> usize {
    let mut rows = 0;
    let mut visit = |_: &[u8], _: &[u8]| {
        rows += 1;
        ControlFlow::Continue(())
    };
    view.scan(&[tag], &[tag + 1], &mut visit).unwrap();
    rows
}

/// Entries that hold a place for others with the same hash.
fn places_kept(view: &MemView) -> usize {
    let mut kept = 0;
    let mut visit = |_: &[u8], value: &[u8]| {
        kept += usize::from(!codec::decode::<EntryRecord>(value).unwrap().is_taken());
        ControlFlow::Continue(())
    };
    view.scan(&[keys::ENTRY], &[keys::ENTRY + 1], &mut visit).unwrap();
    kept
}

/// The real tree equals the model's, and the tables hold nothing else.
fn compare(logic: &mut Logic, view: &MemView, model: &Model) {
    for (&inode, node) in &model.nodes {
        let Ok((MetaReply::Attr(attr), _)) = logic.run(view, 1, &MetaOp::GetAttr { inode }) else {
            panic!("inode {inode} is gone");
        };
        let size = if node.kind == FileKind::Directory { node.children.len() as u64 } else { node.size };
        assert_eq!((attr.kind, attr.nlink, attr.size), (node.kind, node.nlink, size), "inode {inode}");
        let allocated = (node.kind == FileKind::File && node.allocated != node.size).then_some(node.allocated);
        assert_eq!(attr.allocated, allocated, "inode {inode}");
        if node.kind == FileKind::Directory {
            let mut listed = BTreeMap::new();
            let mut after = 0;
            loop {
                let op = MetaOp::ReadDir { dir: inode, after, max_entries: 2, plus: true };
                let Ok((MetaReply::Listing(listing), _)) = logic.run(view, 1, &op) else { panic!("listing") };
                for entry in listing.entries {
                    assert!(entry.cookie > after && entry.attr.is_some());
                    after = entry.cookie;
                    assert!(listed.insert(entry.name, entry.inode).is_none(), "a name twice");
                }
                if listing.end {
                    break;
                }
            }
            assert_eq!(listed, node.children, "directory {inode}");
            let Ok((MetaReply::Inode(parent), _)) = logic.run(view, 1, &MetaOp::GetParent { dir: inode }) else {
                panic!("parent");
            };
            assert_eq!(parent, node.parent);
        }
        if let Some((version, data)) = &node.inline {
            let Ok((MetaReply::Opened(file), _)) = logic.run(view, 1, &MetaOp::FileInfo { inode }) else { panic!() };
            let inline = file.inline.expect("inline");
            assert_eq!((inline.version, &inline.data[..]), (*version, &data[..]));
        }
        let Ok((MetaReply::Names(names), _)) = logic.run(view, 1, &MetaOp::ListXattr { inode }) else { panic!() };
        assert_eq!(
            names.iter().map(|n| n.to_vec()).collect::<Vec<_>>(),
            node.xattrs.keys().cloned().collect::<Vec<_>>()
        );
    }
    assert_eq!(count(view, keys::INODE), model.nodes.len(), "no inode is left over");
    let names = model.nodes.values().map(|node| node.children.len()).sum::<usize>();
    let kept = places_kept(view);
    assert_eq!(count(view, keys::ENTRY) - kept, names, "no entry is left over");
    assert!(kept <= names, "a place is kept only for names behind it");
    assert_eq!(count(view, keys::OPEN), model.nodes.values().map(|node| node.openers.len()).sum::<usize>());
    assert_eq!(count(view, keys::XATTR), model.nodes.values().map(|node| node.xattrs.len()).sum::<usize>());
    let locked: BTreeSet<InodeId> = model.locks().map(|(inode, _)| inode).collect();
    assert_eq!(count(view, keys::FILE_LOCKS), locked.len(), "no locks are left over");
    assert_eq!(count(view, keys::SESSION_LOCK), model.locks().count(), "sessions know where they have locks");
    for session in 1..3 {
        let theirs: Vec<InodeId> = model.locks().filter(|(_, who)| *who == session).map(|(inode, _)| inode).collect();
        assert_eq!(lock::locked_by(view, SessionId(session)).unwrap(), theirs);
    }
    let Ok((MetaReply::StatFs { inodes }, _)) = logic.run(view, 1, &MetaOp::StatFs) else { panic!() };
    assert_eq!(inodes as usize, model.nodes.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn same_answers_and_same_tree(ops in proptest::collection::vec((op(), 0..3_u64), 1..80)) {
        follow(Logic::new(), &ops)?;
    }

    /// All names of a directory have one of two hashes.
    #[test]
    fn names_that_collide(ops in proptest::collection::vec((op(), 0..3_u64), 1..80)) {
        let mut logic = Logic::new();
        logic.hash = |_, name| (u64::from(name[name.len() - 1] % 2) + 1) * keys::COLLISIONS;
        follow(logic, &ops)?;
    }
}

fn follow(mut logic: Logic, ops: &[(Op, u64)]) -> Result<(), TestCaseError> {
    let (mut view, mut model) = (MemView::default(), Model::new());
    view.apply(&new_tables());
    for (op, session) in ops {
        let op = resolve(&model, op);
        // Session 0 is the server's own: it only closes what renames replaced.
        let session = if matches!(op, MetaOp::Close { .. }) { *session } else { (*session).max(1) };
        let real = logic.run(&view, session, &op);
        let (new, real) = match real {
            Ok((reply, batch)) => {
                view.apply(&batch);
                (made(&reply), Ok(()))
            }
            Err(error) => (None, Err(error.code)),
        };
        let expected = model.apply(session, &op, new);
        prop_assert_eq!(real, expected, "{:?}", op);
    }
    compare(&mut logic, &view, &model);
    Ok(())
}

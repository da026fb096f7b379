// SPDX-License-Identifier: Apache-2.0

//! Access control lists: in step with the permission bits, inherited, removed.

use crate::server::{Server, chmod, entry, name};
use crate::support;
use nyala_namespace::acl::{ACCESS, DEFAULT};
use nyala_namespace::view::MemView;
use nyala_namespace::{keys, ns};
use nyala_wire::meta::*;
use nyala_wire::*;

/// Owner, user 7 if there is one, group, mask if there is one, others.
fn list(owner: u16, user: Option<u16>, group: u16, mask: Option<u16>, others: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    let entries = [
        Some((1_u16, owner, nobody)),
        user.map(|perm| (2, perm, 7)),
        Some((4, group, nobody)),
        mask.map(|perm| (16, perm, nobody)),
        Some((32, others, nobody)),
    ];
    let mut bytes = vec![2, 0, 0, 0];
    for (tag, perm, id) in entries.into_iter().flatten() {
        bytes.extend([&tag.to_le_bytes()[..], &perm.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    bytes
}

/// In one operation, so that nobody sees the bit together with the new list.
#[test]
fn a_list_from_outside_the_group_takes_setgid() {
    let mut server = Server::new();
    let inode = server.file("f");
    for (kill_sgid, name, after) in
        [(false, ACCESS, 0o6751), (true, b"user.x".as_slice(), 0o6751), (true, ACCESS, 0o4751)]
    {
        server.set(inode, chmod(0o6751));
        let value = list(7, Some(6), 4, Some(5), 1).into();
        let name = name.to_vec().into();
        server.run(MetaOp::SetXattr { inode, name, value, create: false, replace: false, kill_sgid }).unwrap();
        assert_eq!(server.attr(inode).perm, after, "{kill_sgid}");
    }
}

#[test]
fn access_lists_and_permission_bits_are_one() {
    let mut server = Server::new();
    let inode = server.file("f");
    assert_eq!(server.xattr(inode, ACCESS), Err(ErrorCode::NO_DATA));
    assert_eq!(server.remove_xattr(inode, ACCESS), Ok(()), "nothing to remove is no error");
    let before = server.attr(inode);
    server.set_xattr(inode, ACCESS, &list(7, Some(6), 4, Some(5), 1)).unwrap();
    let after = server.attr(inode);
    assert_eq!((after.perm, after.ctime > before.ctime, after.mtime), (0o751, true, before.mtime));
    assert_eq!(server.xattrs(inode), [ACCESS]);
    assert_eq!(server.set(inode, chmod(0o4617)).perm, 0o4617);
    assert_eq!(server.xattr(inode, ACCESS).unwrap(), list(6, Some(6), 4, Some(1), 7), "chmod sets the mask");
    assert_eq!(server.set_xattr(inode, ACCESS, &list(7, Some(6), 4, None, 1)), Err(ErrorCode::INVALID));
    assert_eq!(server.attr(inode).perm, 0o4617);
    server.set_xattr(inode, ACCESS, &list(6, None, 4, None, 0)).unwrap();
    assert_eq!((server.attr(inode).perm, server.xattrs(inode).len()), (0o4640, 0), "the bits say it all");
    server.set_xattr(inode, ACCESS, &list(7, Some(6), 4, Some(5), 1)).unwrap();
    server.remove_xattr(inode, ACCESS).unwrap();
    assert_eq!((server.attr(inode).perm, server.xattrs(inode).len()), (0o4751, 0));
    server.set_xattr(inode, ACCESS, &list(7, Some(6), 4, Some(5), 1)).unwrap();
    server.set_xattr(inode, ACCESS, &[2, 0, 0, 0]).unwrap();
    assert_eq!(server.xattr(inode, ACCESS), Err(ErrorCode::NO_DATA));
    // Without a mask chmod sets the group's entry: it can only be seen in a default list, or not at all.
    assert_eq!(server.set_xattr(inode, DEFAULT, &list(7, None, 5, None, 0)), Err(ErrorCode::ACCESS));
    assert_eq!(server.set_xattr(inode, DEFAULT, &[]), Ok(()));
    let symlink = MetaOp::Symlink { entry: entry(InodeId::ROOT, "l", 0o777), target: b"f".to_vec().into() };
    let symlink = server.made(symlink).inode;
    assert_eq!(server.set_xattr(symlink, ACCESS, &list(7, None, 5, None, 0)), Err(ErrorCode::NOT_SUPPORTED));
}

#[test]
fn default_lists_are_inherited_and_the_umask_is_not_asked() {
    let mut server = Server::new();
    let dir = server.dir("d");
    assert_eq!(server.attr(dir).perm, 0o755);
    let default = list(7, Some(7), 5, Some(7), 0);
    server.set_xattr(dir, DEFAULT, &default).unwrap();
    assert_eq!((server.attr(dir).perm, server.xattrs(dir)), (0o755, vec![DEFAULT.to_vec()]));
    let create = |parent, text| MetaOp::Create { entry: entry(parent, text, 0o666), exclusive: true };
    let file = server.made(create(dir, "f"));
    assert_eq!(file.perm, 0o660);
    let access = list(6, Some(7), 5, Some(6), 0);
    assert_eq!(server.xattr(file.inode, ACCESS).unwrap(), access);
    assert_eq!(server.xattrs(file.inode), [ACCESS]);
    let fifo =
        server.made(MetaOp::Mknod { entry: entry(dir, "p", 0o666), kind: FileKind::Fifo, rdev: 0, pattern: None });
    assert_eq!((fifo.perm, server.xattr(fifo.inode, ACCESS).unwrap()), (0o660, access.clone()));
    let unnamed = server.made(MetaOp::Tmpfile { entry: entry(dir, "-", 0o666) });
    assert_eq!((unnamed.perm, server.xattr(unnamed.inode, ACCESS).unwrap()), (0o660, access));
    let below = server.made(MetaOp::Mkdir { entry: entry(dir, "d", 0o1777) });
    assert_eq!(below.perm, 0o1770);
    assert_eq!(server.xattr(below.inode, DEFAULT).unwrap(), default);
    assert_eq!(server.xattr(below.inode, ACCESS).unwrap(), list(7, Some(7), 5, Some(7), 0));
    let deep = server.made(create(below.inode, "f"));
    assert_eq!(deep.perm, 0o660);
    let link = MetaOp::Symlink { entry: entry(dir, "l", 0o777), target: b"f".to_vec().into() };
    let link = server.made(link);
    assert_eq!((link.perm, server.xattrs(link.inode).len()), (0o777, 0));
    // One that says no more than bits gives only bits; and without one the umask counts.
    server.set_xattr(dir, DEFAULT, &list(7, None, 7, None, 7)).unwrap();
    let plain = server.made(create(dir, "g"));
    assert_eq!((plain.perm, server.xattrs(plain.inode).len()), (0o666, 0));
    server.remove_xattr(dir, DEFAULT).unwrap();
    assert_eq!(server.made(create(dir, "h")).perm, 0o644);
    assert_eq!(server.made(MetaOp::Mkdir { entry: entry(dir, "e", 0o1777) }).perm, 0o1755);
    // All of it is gone with its files.
    for text in ["f", "g", "h", "p", "l"] {
        server.run(MetaOp::Unlink { parent: dir, name: name(text) }).unwrap();
    }
    for inode in [file.inode, plain.inode, deep.inode] {
        server.run(MetaOp::Close { inode }).unwrap();
    }
    assert_eq!(server.run(MetaOp::GetAttr { inode: file.inode }), Err(ErrorCode::STALE));
    assert!(!server.view.0.keys().any(|key| key.starts_with(&keys::xattr(file.inode, b""))));
}

/// With a second metadata server, most directories are made there: with the same lists and bits.
#[test]
fn directories_elsewhere_inherit_too() {
    use nyala_namespace::change::{Change, Fault};
    use nyala_namespace::tx::{Plan, parts};
    use nyala_wire::map::SlotRange;
    let mut server = Server::new();
    let default = list(7, Some(7), 5, Some(7), 0);
    server.set_xattr(InodeId::ROOT, DEFAULT, &default).unwrap();
    let mut map = support::map();
    map.targets.insert(1, nyala_wire::map::Target { id: TargetId(2), ..map.targets[0].clone() });
    map.slots = vec![
        SlotRange { first: Slot(0), count: 1, target: TargetId(1) },
        SlotRange { first: Slot(1), count: 63, target: TargetId(2) },
    ];
    let (placement, locks) =
        (nyala_cluster::placement::PlacementTable::new(&map), nyala_namespace::locks::Locks::default());
    let env = |random| ns::Env {
        me: TargetId(1),
        map: &map,
        placement: &placement,
        session: SessionId(1),
        implicit_open: false,
        owner: Owner { uid: 1, gid: 2 },
        user: None,
        want: Want::NOTHING,
        now: Time { seconds: 9, nanos: 0 },
        random,
    };
    let mkdir = MetaOp::Mkdir { entry: entry(InodeId::ROOT, "d", 0o1777) };
    let elsewhere = (0..100_u64).find_map(|n| {
        let mut change = Change::new(&server.view, &locks, None);
        match ns::run(&mut change, &env(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)), &mkdir) {
            Err(Fault::Elsewhere(plan)) => Some(*plan),
            _ => None,
        }
    });
    let Some(Plan::Mkdir { part, .. }) = elsewhere else { panic!("{elsewhere:?}") };
    // The other server.
    let mut view = MemView::default();
    let mut change = Change::new(&view, &locks, None);
    let now = Time { seconds: 9, nanos: 0 };
    let result = parts::check(&mut change, &part, now).unwrap();
    parts::perform(&mut change, &part, &result, now).unwrap();
    let batch = change.finish();
    view.apply(&batch);
    server.view = view;
    let nyala_wire::meta_tx::PartResult::Attr(attr) = result else { panic!("{result:?}") };
    assert_eq!((attr.perm, server.attr(attr.inode)), (0o1770, attr.clone()));
    assert_eq!(server.xattr(attr.inode, DEFAULT).unwrap(), default);
    assert_eq!(server.xattr(attr.inode, ACCESS).unwrap(), list(7, Some(7), 5, Some(7), 0));
    assert_eq!(server.xattrs(attr.inode), [ACCESS, DEFAULT]);
}

// SPDX-License-Identifier: Apache-2.0

//! Directories that are split: what is done at which fragment, and how entries go from one to another.

use crate::support::{ME, Server, entry};
use nyala_namespace::change::{Change, Fault};
use nyala_namespace::keys;
use nyala_namespace::locks::{LockKey, Locks};
use nyala_namespace::ns::fragments::entries::{Seen, entries};
use nyala_wire::busiest::NamesRequest;
use nyala_wire::fragments::{COLLISIONS, COOKIE_END, CookieRange, Fragment, cookie, holder};
use nyala_wire::locate::LocateRequest;
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{PartResult, TxId, TxPart};
use nyala_wire::*;

const HALF: u64 = COOKIE_END / 2;
const LOWER: CookieRange = CookieRange { from: 0, upto: HALF };

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

/// A root with names, and a fragment that has none yet.
fn with_fragment() -> (Server, InodeId) {
    let mut server = Server::new();
    for n in 0..40 {
        server.file(&format!("f{n}"));
    }
    for n in 0..5 {
        let made = server.run(MetaOp::Mkdir { entry: entry(&format!("d{n}")) });
        assert!(matches!(made, Ok(MetaReply::Entry(_))));
    }
    let (perm, owner) = (0o2775, Owner { uid: 3, gid: 7 });
    let (pattern, default_acl) = (None, None);
    let make = TxPart::MakeFragment {
        slot: Slot(9),
        of: InodeId::ROOT,
        perm,
        owner,
        pattern,
        default_acl,
        at: 0,
        depth: None,
    };
    let Ok(PartResult::Attr(attr)) = server.parts(&[make]) else { panic!("it is made") };
    server.parts(&[set(attr.inode, 0)]).unwrap();
    (server, attr.inode)
}

fn set(inode: InodeId, upto: u64) -> TxPart {
    TxPart::SetFragments { dir: InodeId::ROOT, fragments: vec![Fragment { inode, upto }], changed: None }
}

fn seen(server: &Server, inode: InodeId, range: CookieRange, most: u32) -> Seen {
    let locks = Locks::default();
    entries(&mut Change::new(&server.view, &locks, None), inode, range, most).unwrap()
}

/// The parts of a step that moves entries.
fn moving(server: &Server, from: InodeId, to: InodeId, range: CookieRange, behind: bool) -> [TxPart; 2] {
    let seen = seen(server, from, range, u32::MAX);
    [
        TxPart::GiveEntries { inode: from, range, behind, digest: seen.digest() },
        TxPart::TakeEntries { inode: to, range, entries: seen.entries },
    ]
}

fn split() -> (Server, InodeId) {
    let (mut server, fragment) = with_fragment();
    let [give, take] = moving(&server, InodeId::ROOT, fragment, LOWER, false);
    server.parts(&[give, take, set(fragment, HALF)]).unwrap();
    (server, fragment)
}

fn attr(server: &mut Server, inode: InodeId) -> Attr {
    match server.run(MetaOp::GetAttr { inode }) {
        Ok(MetaReply::Attr(attr)) => attr,
        other => panic!("{other:?}"),
    }
}

fn code(result: Result<MetaReply, WireError>) -> ErrorCode {
    result.expect_err("it is refused").code
}

#[test]
fn entries_go_and_come_with_their_counts_and_cookies() {
    let (mut server, fragment) = with_fragment();
    let before = attr(&mut server, InodeId::ROOT);
    let places = seen(&server, InodeId::ROOT, LOWER, u32::MAX).entries;
    let [give, take] = moving(&server, InodeId::ROOT, fragment, LOWER, false);
    server.parts(&[give, take, set(fragment, HALF)]).unwrap();
    let (root, part) = (attr(&mut server, InodeId::ROOT), attr(&mut server, fragment));
    assert_eq!((root.size + part.size, root.nlink + part.nlink - 2), (before.size, before.nlink));
    assert_eq!(
        (part.size as usize, part.split, root.split, before.split),
        (places.len(), Some(true), Some(true), Some(true))
    );
    assert_eq!(root.mtime, before.mtime, "a move is no change of the directory");
    assert_eq!(seen(&server, fragment, LOWER, u32::MAX).entries, places);
    assert_eq!(seen(&server, InodeId::ROOT, LOWER, u32::MAX).entries, []);

    let [give, take] = moving(&server, fragment, InodeId::ROOT, LOWER, true);
    server.parts(&[give, take, set(fragment, 0)]).unwrap();
    let Ok(PartResult::Attr(last)) = server.parts(&[TxPart::RemoveFragment { inode: fragment }]) else {
        panic!("it goes")
    };
    let whole = |changed| TxPart::SetFragments { dir: InodeId::ROOT, fragments: Vec::new(), changed };
    server.parts(&[whole(Some(last.mtime))]).unwrap();
    assert_eq!(attr(&mut server, InodeId::ROOT), Attr { split: None, ..before });
    let later = Time { seconds: before.mtime.seconds + 1, nanos: 0 };
    server.parts(&[whole(Some(later))]).unwrap();
    let after = attr(&mut server, InodeId::ROOT);
    assert_eq!((after.mtime, after.ctime), (later, later), "what changed in a fragment that went is not forgotten");
    assert_eq!(code(server.run(MetaOp::GetAttr { inode: fragment })), ErrorCode::STALE);
}

#[test]
fn every_name_is_at_one_fragment_and_the_other_refuses_it() {
    let (mut server, fragment) = split();
    for n in 0..40 {
        let name = name(&format!("f{n}"));
        let lower = keys::cookie(InodeId::ROOT, name.as_bytes()) < HALF;
        let (at, other) = if lower { (fragment, InodeId::ROOT) } else { (InodeId::ROOT, fragment) };
        let found = server.run(MetaOp::Lookup { parent: at, name: name.clone() }).unwrap();
        let MetaReply::Entry(EntryReply { inode, .. }) = found else { panic!("{found:?}") };
        for op in [
            MetaOp::Lookup { parent: other, name: name.clone() },
            MetaOp::Unlink { parent: other, name: name.clone() },
            MetaOp::Link { inode, parent: other, name: name.clone() },
            MetaOp::Mkdir { entry: NewEntry { parent: other, name: name.clone(), perm: 0o755, umask: 0 } },
        ] {
            assert_eq!(code(server.run(op)), ErrorCode::OTHER_FRAGMENT);
        }
        server.run(MetaOp::Unlink { parent: at, name: name.clone() }).unwrap();
        let entry = NewEntry { parent: at, name, perm: 0o644, umask: 0 };
        let MetaReply::Created { inode, file: Some(file), .. } =
            server.run(MetaOp::Create { entry, exclusive: true }).unwrap()
        else {
            panic!("it is made")
        };
        assert_eq!(inode.slot(), at.slot(), "a file is made where its name is");
        assert_eq!(file.attr.gid, if lower { 7 } else { 100 }, "as the fragment gives");
    }
}

#[test]
fn a_listing_goes_on_in_the_next_fragment() {
    let (mut server, fragment) = split();
    let mut list = |dir, after| match server.run(MetaOp::ReadDir { dir, after, max_entries: 7, plus: false }) {
        Ok(MetaReply::Listing(listing)) => listing,
        other => panic!("{other:?}"),
    };
    let (mut names, mut at, mut after) = (Vec::new(), fragment, 0);
    loop {
        let part = list(at, after);
        after = part.entries.last().map_or(after, |last| last.cookie);
        names.extend(part.entries.into_iter().map(|entry| entry.cookie));
        match (part.next, part.end) {
            (Some(next), false) => (at, after) = (InodeId::ROOT, next - 1),
            (None, true) => break,
            (None, false) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(names.len() == 45 && names.is_sorted());
    assert_eq!(
        code(server.run(MetaOp::ReadDir { dir: InodeId::ROOT, after: 0, max_entries: 7, plus: false })),
        ErrorCode::OTHER_FRAGMENT
    );
    let behind = MetaOp::ReadDir { dir: fragment, after: HALF, max_entries: 7, plus: false };
    assert_eq!(code(server.run(behind)), ErrorCode::OTHER_FRAGMENT);
}

#[test]
fn what_fragments_have_in_common_is_set_at_all_of_them() {
    let (mut server, fragment) = split();
    let set =
        SetAttr { perm: Some(0o700), gid: Some(5), mtime: Some(SetTime::At(Time::default())), ..SetAttr::default() };
    server.run(MetaOp::SetAttr { inode: InodeId::ROOT, set: set.clone() }).unwrap();
    for inode in [InodeId::ROOT, fragment] {
        let attr = attr(&mut server, inode);
        assert_eq!((attr.perm, attr.gid, attr.mtime), (0o700, 5, Time::default()));
    }
    let list =
        [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255];
    let default = b"system.posix_acl_default";
    server.set_xattr(InodeId::ROOT, default, list.to_vec()).unwrap();
    let get = |inode| MetaOp::GetXattr { inode, name: default.to_vec().into() };
    assert_eq!(server.run(get(fragment)).unwrap(), MetaReply::Bytes(list.to_vec().into()));
    server.run(MetaOp::RemoveXattr { inode: InodeId::ROOT, name: default.to_vec().into() }).unwrap();
    assert_eq!(code(server.run(get(fragment))), ErrorCode::NO_DATA);
    // What is not in common is the directory's own.
    server.set_xattr(InodeId::ROOT, b"user.own", b"1".to_vec()).unwrap();
    let own = MetaOp::GetXattr { inode: fragment, name: b"user.own".to_vec().into() };
    assert_eq!(code(server.run(own)), ErrorCode::NO_DATA);
    assert_eq!(code(server.run(MetaOp::SetAttr { inode: fragment, set })), ErrorCode::INVALID, "not alone");
}

#[test]
fn a_directory_below_is_in_the_directory_and_not_in_its_fragment() {
    let (mut server, fragment) = split();
    for n in 0..5 {
        let name = name(&format!("d{n}"));
        let lower = keys::cookie(InodeId::ROOT, name.as_bytes()) < HALF;
        let at = if lower { fragment } else { InodeId::ROOT };
        let to = (0..)
            .map(|m| format!("moved{n}-{m}"))
            .find(|to| (keys::cookie(InodeId::ROOT, to.as_bytes()) < HALF) != lower);
        let (to_name, to_parent) =
            (Name::new(to.unwrap().as_bytes()).unwrap(), if lower { InodeId::ROOT } else { fragment });
        let (no_replace, exchange) = (false, false);
        let rename =
            Rename { from_parent: at, from_name: name, to_parent, to_name: to_name.clone(), no_replace, exchange };
        server.run(MetaOp::Rename(rename)).unwrap();
        let MetaReply::Entry(found) = server.run(MetaOp::Lookup { parent: to_parent, name: to_name }).unwrap() else {
            panic!("it has moved")
        };
        let above = server.run(MetaOp::GetParent { dir: found.inode }).unwrap();
        assert_eq!(above, MetaReply::Inode(InodeId::ROOT));
    }
}

#[test]
fn nothing_that_is_split_is_removed() {
    let (mut server, _) = split();
    let removed = server.parts(&[TxPart::RemoveDir { inode: InodeId::ROOT }]);
    assert!(matches!(removed, Err(Fault::Refused(error)) if error.code == ErrorCode::IS_SPLIT));
}

#[test]
fn a_step_fits_only_what_it_was_made_for() {
    let busy = |result: Result<PartResult, Fault>| matches!(result, Err(Fault::Refused(error)) if error.code == ErrorCode::BUSY);
    let (mut server, fragment) = with_fragment();
    let [give, take] = moving(&server, InodeId::ROOT, fragment, LOWER, false);
    server.file("one more, wherever that is");
    server.file("and another one");
    server.file("and a third");
    assert!(busy(server.parts(&[give])), "other entries");
    let inner = CookieRange { from: HALF / 2, upto: HALF };
    let [give, _] = moving(&server, InodeId::ROOT, fragment, inner, false);
    assert!(busy(server.parts(&[give])), "not from its beginning");
    assert!(busy(server.parts(&[TxPart::TakeEntries { inode: fragment, range: inner, entries: Vec::new() }])), "a gap");
    server.parts(&[take]).unwrap();
    assert!(busy(server.parts(&[TxPart::RemoveFragment { inode: fragment }])), "it has entries");

    // A transaction that is about to change a name keeps all of the fragment's where they are.
    let (server, fragment) = with_fragment();
    let [give, _] = moving(&server, InodeId::ROOT, fragment, LOWER, false);
    let mut locks = Locks::default();
    assert!(locks.acquire(TxId { coordinator: ME, number: 1 }, &[LockKey::Pin(InodeId::ROOT)]));
    let mut change = Change::new(&server.view, &locks, None);
    let result = nyala_namespace::tx::parts::check(&mut change, &give, Time::default());
    assert!(matches!(result, Err(Fault::Blocked)));
}

#[test]
fn names_with_one_hash_move_together() {
    fn all_the_same(_: InodeId, _: &[u8]) -> u64 {
        512
    }
    let mut server = Server::new();
    server.logic.hash = all_the_same;
    for n in 0..20 {
        server.file(&format!("f{n}"));
    }
    let all = CookieRange { from: 0, upto: 512 + COLLISIONS };
    let first = seen(&server, InodeId::ROOT, all, 3);
    assert_eq!((first.entries.len(), first.end), (20, true));
}

#[test]
fn what_is_located_is_what_a_look_up_finds() {
    let (mut server, fragment) = split();
    let map = server.logic.map.clone();
    let locate = |server: &Server, inode, name: Option<Name>| {
        nyala_namespace::locate::locate(&server.view, ME, &map, &LocateRequest { inode, name })
    };
    let root = locate(&server, InodeId::ROOT, None).unwrap().info.unwrap();
    let fragments = root.fragments.clone().unwrap();
    let mut elsewhere = 0;
    for n in 0..40 {
        let name = name(&format!("f{n}"));
        let at = holder(InodeId::ROOT, &fragments, cookie(InodeId::ROOT, name.as_bytes()));
        elsewhere += usize::from(at == fragment);
        let found = locate(&server, at, Some(name.clone())).unwrap().entry.unwrap();
        let Ok(MetaReply::Entry(entry)) = server.run(MetaOp::Lookup { parent: at, name }) else { panic!("f{n}") };
        assert_eq!(found, entry.inode);
        let info = locate(&server, found, None).unwrap().info.map(Box::new);
        assert_eq!(server.run(MetaOp::EntryInfo { inode: found }).ok(), info.map(MetaReply::EntryInfo));
        let below = locate(&server, found, Some(Name::new(b"x").unwrap())).unwrap_err().code;
        assert_eq!(below, ErrorCode::NOT_A_DIRECTORY);
    }
    assert!((1..40).contains(&elsewhere), "{elsewhere}");
    let missing = [InodeId::ROOT, fragment].map(|inode| locate(&server, inode, Some(name("no"))).unwrap_err().code);
    let at = holder(InodeId::ROOT, &fragments, cookie(InodeId::ROOT, b"no"));
    let (here, there) = (ErrorCode::NOT_FOUND, ErrorCode::OTHER_FRAGMENT);
    assert_eq!(missing, if at == fragment { [there, here] } else { [here, there] });
    assert_eq!(locate(&server, InodeId(99), None).unwrap_err().code, ErrorCode::STALE);
    let other = nyala_namespace::locate::locate(
        &server.view,
        TargetId(77),
        &map,
        &LocateRequest { inode: InodeId::ROOT, name: None },
    );
    assert_eq!(other.unwrap_err().code, ErrorCode::WRONG_SERVER);
}

#[test]
fn names_in_a_fragment_are_names_in_the_directory() {
    let (mut server, fragment) = split();
    let names = nyala_namespace::names::names;
    let mut found = Vec::new();
    for dir in [InodeId::ROOT, fragment] {
        let inodes = (0..40).map(|n| {
            let name = name(&format!("f{n}"));
            let fragments = [Fragment { inode: fragment, upto: HALF }];
            let at = holder(InodeId::ROOT, &fragments, cookie(InodeId::ROOT, name.as_bytes()));
            match server.run(MetaOp::Lookup { parent: at, name }) {
                Ok(MetaReply::Entry(entry)) => entry.inode,
                other => panic!("{other:?}"),
            }
        });
        let request = NamesRequest { dir: Some(dir), inodes: inodes.collect(), after: (InodeId(0), 0) };
        let reply = names(&server.view, ME, &server.logic.map, &request).unwrap();
        assert!(reply.names.iter().all(|name| name.dir == InodeId::ROOT) && !reply.names.is_empty());
        found.extend(reply.names.into_iter().map(|name| name.inode));
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 40, "each is in one of the two");
}

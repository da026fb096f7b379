// SPDX-License-Identifier: Apache-2.0

//! Paths that are followed through a small tree.

use super::*;
use nyala_wire::fragments::{COOKIE_END, Fragment};
use nyala_wire::{Attr, TargetId, Time};
use std::collections::BTreeMap;

/// `/dir/link` and `/dir/split/f0` to `/dir/split/f19`; half of the names of `split` are in the fragment 90.
struct Tree(BTreeMap<(u64, String), u64>);

fn tree() -> Tree {
    let mut names = BTreeMap::from([((1, "dir".into()), 20), ((20, "link".into()), 21), ((20, "split".into()), 30)]);
    for n in 0..20 {
        let name = format!("f{n}");
        let lower = cookie(InodeId(30), name.as_bytes()) < COOKIE_END / 2;
        names.insert((if lower { 90 } else { 30 }, name), 100 + n);
    }
    Tree(names)
}

fn info(inode: u64) -> EntryInfo {
    let kind = match inode {
        1 | 20 | 30 => FileKind::Directory,
        21 => FileKind::Symlink,
        _ => FileKind::File,
    };
    let (time, inode) = (Time::default(), InodeId(inode));
    let attr = Attr {
        inode,
        kind,
        perm: 0o644,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        allocated: None,
        no_xattrs: false,
        split: None,
    };
    let fragments = (inode.0 == 30).then(|| vec![Fragment { inode: InodeId(90), upto: COOKIE_END / 2 }]);
    let (layout, pattern, parent) = (None, None, None);
    EntryInfo { attr, meta_target: TargetId(1), layout, inline: false, pattern, parent, fragments }
}

impl Tree {
    fn answer(&self, asked: &LocateRequest) -> Result<LocateReply, WireError> {
        let Some(name) = &asked.name else { return Ok(LocateReply { entry: None, info: Some(info(asked.inode.0)) }) };
        let found = self.0.get(&(asked.inode.0, name.to_string())).ok_or(ErrorCode::NOT_FOUND)?;
        Ok(LocateReply { entry: Some(InodeId(*found)), info: None })
    }

    fn follow(&self, path: &str) -> Result<u64, WireError> {
        let mut walk = Walk::of(path)?;
        loop {
            match self.answer(walk.asks()) {
                Err(error) => walk.refused(error)?,
                Ok(reply) => {
                    if let Some(info) = walk.hear(reply)? {
                        return Ok(info.attr.inode.0);
                    }
                }
            }
        }
    }
}

#[test]
fn names_are_asked_for_where_they_are() {
    let tree = tree();
    for (path, inode) in [("/", 1), ("//dir/", 20), ("/dir/link", 21), ("/dir/./split/../link", 21), ("/../..", 1)] {
        assert_eq!(tree.follow(path), Ok(inode), "{path}");
    }
    let in_fragment = tree.0.keys().filter(|(dir, _)| *dir == 90).count();
    assert!((1..20).contains(&in_fragment), "{in_fragment}");
    (0..20).for_each(|n| assert_eq!(tree.follow(&format!("/dir/split/f{n}")), Ok(100 + n)));
}

#[test]
fn what_is_wrong_names_the_place() {
    let tree = tree();
    for (path, says) in [
        ("", "begins with /"),
        ("dir", "begins with /"),
        ("/no/more", "there is no /no"),
        ("/dir/no", "there is no /dir/no"),
        ("/dir/link/more", "/dir/link is a symbolic link"),
        ("/dir/split/f3/more", "/dir/split/f3 is no directory"),
    ] {
        assert!(tree.follow(path).unwrap_err().message.contains(says), "{path}: {:?}", tree.follow(path));
    }
    let (long, deep, name) = ("/x".repeat(MAX_PATH), "/x".repeat(MAX_DEPTH + 1), format!("/{}", "x".repeat(256)));
    for path in [long, deep, name] {
        assert_eq!(tree.follow(&path).unwrap_err().code, ErrorCode::NAME_TOO_LONG);
    }
    let mut walk = Walk::of("/dir").unwrap();
    let wrong = walk.hear(LocateReply { entry: Some(InodeId(7)), info: None });
    assert_eq!(wrong.unwrap_err().code, ErrorCode::BAD_MESSAGE, "an answer to another question");
}

#[test]
fn a_directory_that_is_split_meanwhile_is_asked_again() {
    let mut walk = Walk::of("/f").unwrap();
    let root = |walk: &mut Walk| walk.hear(LocateReply { entry: None, info: Some(info(1)) });
    for _ in 0..MAX_SPLITS {
        assert_eq!(root(&mut walk), Ok(None));
        assert!(walk.asks().name.is_some());
        walk.refused(ErrorCode::OTHER_FRAGMENT.into()).unwrap();
        assert_eq!(walk.asks(), &LocateRequest { inode: InodeId::ROOT, name: None });
    }
    assert_eq!(root(&mut walk), Ok(None));
    let refused = walk.refused(ErrorCode::OTHER_FRAGMENT.into());
    assert_eq!(refused.unwrap_err().code, ErrorCode::OTHER_FRAGMENT, "not for ever");
}

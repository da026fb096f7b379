// SPDX-License-Identifier: Apache-2.0

//! Paths in a made-up name space.

use super::*;
use nyala_wire::busiest::{InodeName, NamesReply, NamesRequest};
use nyala_wire::fragments::Fragment;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{Attr, TargetId, Time};
use std::cell::Cell;

/// Names by directory, or fragment: inode and name. Answers have two names at most.
struct Fake {
    names: Vec<(u64, u64, &'static str)>,
    /// Directories: inode, the one above, fragments.
    dirs: Vec<(u64, u64, Vec<u64>)>,
    asked: Cell<usize>,
    away: bool,
}

fn info(inode: u64, kind: FileKind, parent: Option<u64>, fragments: &[u64]) -> EntryInfo {
    let (time, allocated, split) = (Time::default(), None, None);
    let attr = Attr {
        inode: InodeId(inode),
        kind,
        perm: 0,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        allocated,
        no_xattrs: true,
        split,
    };
    let fragments = fragments.iter().map(|inode| Fragment { inode: InodeId(*inode), upto: 1 << 60 }).collect();
    EntryInfo {
        attr,
        meta_target: TargetId(1),
        layout: None,
        inline: false,
        pattern: None,
        parent: parent.map(InodeId),
        fragments: Some(fragments),
    }
}

impl Servers for Fake {
    async fn info(&self, inode: InodeId) -> Result<EntryInfo, WireError> {
        self.asked.set(self.asked.get() + 1);
        if self.away {
            return Err(ErrorCode::IO.into());
        }
        if let Some((_, above, fragments)) = self.dirs.iter().find(|(dir, ..)| *dir == inode.0) {
            return Ok(info(inode.0, FileKind::Directory, Some(*above), fragments));
        }
        match self.names.iter().any(|(_, of, _)| *of == inode.0) {
            true => Ok(info(inode.0, FileKind::File, None, &[])),
            false => Err(ErrorCode::STALE.into()),
        }
    }

    async fn names(&self, request: &NamesRequest) -> Result<NamesReply, WireError> {
        self.asked.set(self.asked.get() + 1);
        let slot = request.dir.unwrap_or(request.inodes[0]).slot();
        let in_it = |dir: u64| request.dir.map_or(InodeId(dir).slot() == slot, |asked| asked.0 == dir);
        let all: Vec<_> = self.names.iter().filter(|(dir, ..)| in_it(*dir)).collect();
        let from = request.after.1 as usize;
        let part = all.iter().skip(from).take(2);
        let wanted = part.filter(|(_, inode, _)| request.inodes.contains(&InodeId(*inode)));
        let of = |dir: u64| self.dirs.iter().find(|(.., parts)| parts.contains(&dir)).map_or(dir, |(whole, ..)| *whole);
        let named = wanted.map(|(dir, inode, name)| InodeName {
            inode: InodeId(*inode),
            dir: InodeId(of(*dir)),
            name: Name::new(name.as_bytes()).unwrap(),
        });
        let next = (from + 2 < all.len()).then_some((InodeId(0), from as u64 + 2));
        Ok(NamesReply { names: named.collect(), next })
    }
}

const SLOT: u64 = 1 << 48;

fn fake() -> Fake {
    let (root, a, b, part) = (InodeId::ROOT.0, SLOT + 2, SLOT + 3, 2 * SLOT + 4);
    let names = vec![
        (root, 900, "x"),
        (root, 901, "y"),
        (root, a, "a"),
        (a, SLOT + 10, "one"),
        (a, b, "b"),
        (b, SLOT + 11, "two"),
        (part, SLOT + 5, "deep"),
        (SLOT + 5, SLOT + 12, "three"),
    ];
    let dirs =
        vec![(root, root, vec![]), (a, root, vec![]), (b, a, vec![part]), (part, b, vec![]), (SLOT + 5, b, vec![])];
    Fake { names, dirs, asked: Cell::new(0), away: false }
}

fn paths(paths: &mut Paths, servers: &Fake, inodes: &[u64]) -> Vec<Option<String>> {
    let inodes: Vec<InodeId> = inodes.iter().copied().map(InodeId).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(paths.of(servers, &inodes)).into_iter().map(|found| found.path).collect()
}

#[test]
fn files_and_directories_are_found_up_to_the_root() {
    let (servers, mut known) = (fake(), Paths::default());
    let asked = [InodeId::ROOT.0, SLOT + 10, SLOT + 11, SLOT + 12, SLOT + 3, 2 * SLOT + 4, SLOT + 5, SLOT + 99, 900];
    let found = paths(&mut known, &servers, &asked);
    let found: Vec<&str> = found.iter().map(|path| path.as_deref().unwrap_or("-")).collect();
    assert_eq!(found, ["/", "/a/one", "/a/b/two", "/a/b/deep/three", "/a/b", "/a/b", "/a/b/deep", "-", "/x"]);
    let before = servers.asked.get();
    assert_eq!(paths(&mut known, &servers, &asked).len(), asked.len());
    assert_eq!(servers.asked.get(), before, "what is known is not asked for again");
}

#[test]
fn who_is_away_is_asked_again_and_what_a_directory_does_not_have_has_no_path() {
    let (mut servers, mut known) = (fake(), Paths::default());
    servers.away = true;
    assert_eq!(paths(&mut known, &servers, &[SLOT + 10]), [None]);
    servers.away = false;
    assert_eq!(paths(&mut known, &servers, &[SLOT + 10]), [Some("/a/one".to_owned())]);
    // A directory that says it is below itself ends nothing.
    servers.dirs.push((SLOT + 77, SLOT + 77, vec![]));
    servers.names.push((SLOT + 77, SLOT + 77, "loop"));
    assert_eq!(paths(&mut known, &servers, &[SLOT + 77]), [None]);
}

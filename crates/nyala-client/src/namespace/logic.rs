// SPDX-License-Identifier: Apache-2.0

//! What this client knows of directories that are split. Pure.
//!
//! Where a name's entry is, is a guess: whoever is asked in vain refuses, and the directory's server knows. Which directory a fragment is
//! of never changes, since inode numbers are used once.

use nyala_wire::fragments::{COOKIE_END, CookieRange, Fragment, cookie, holder};
use nyala_wire::{Attr, InodeId};
use std::collections::HashMap;
use std::sync::Arc;

/// The fragments of a directory, as it had them at some time.
#[derive(Clone, Debug)]
pub struct Known {
    /// In the order of their ranges.
    pub fragments: Arc<[Fragment]>,
    /// They are these as long as this is the stamp of the directory's delegation.
    pub stamp: Option<u64>,
}

/// Directories that are, or were, split.
#[derive(Debug, Default)]
pub struct SplitDirs {
    known: HashMap<InodeId, Known>,
    dirs: HashMap<InodeId, InodeId>,
}

impl SplitDirs {
    /// What its server said of a directory.
    pub fn learn(&mut self, dir: InodeId, known: Known) {
        self.dirs.extend(known.fragments.iter().map(|fragment| (fragment.inode, dir)));
        match known.fragments.is_empty() {
            true => drop(self.known.remove(&dir)),
            false => drop(self.known.insert(dir, known)),
        }
    }

    /// What is known of a directory, if it was split when it was asked about.
    pub fn known(&self, dir: InodeId) -> Option<&Known> {
        self.known.get(&dir)
    }

    /// The inode that probably has a name's entry.
    pub fn holder(&self, dir: InodeId, name: &[u8]) -> InodeId {
        self.holder_at(dir, || cookie(dir, name))
    }

    /// The inode that probably has the entries from a cookie on.
    pub fn holder_at(&self, dir: InodeId, cookie: impl FnOnce() -> u64) -> InodeId {
        self.known.get(&dir).map_or(dir, |known| holder(dir, &known.fragments, cookie()))
    }

    /// The range of cookies of an inode with names of a directory, as it was last.
    pub fn range(&self, dir: InodeId, at: InodeId) -> CookieRange {
        let mut range = CookieRange { from: 0, upto: COOKIE_END };
        for fragment in self.known.get(&dir).iter().flat_map(|known| known.fragments.iter()) {
            if fragment.inode == at {
                return CookieRange { upto: fragment.upto, ..range };
            }
            range.from = fragment.upto;
        }
        range
    }

    /// The directory of which an inode is a fragment; any other inode itself.
    pub fn directory(&self, inode: InodeId) -> InodeId {
        self.dirs.get(&inode).copied().unwrap_or(inode)
    }
}

/// A directory's attributes, from its own and those of its fragments.
pub fn whole(own: &Attr, fragments: &[Attr]) -> Attr {
    let mut attr = Attr { split: None, ..own.clone() };
    for fragment in fragments {
        attr.size += fragment.size;
        attr.nlink += fragment.nlink.saturating_sub(2);
        attr.mtime = attr.mtime.max(fragment.mtime);
        attr.ctime = attr.ctime.max(fragment.ctime);
    }
    attr
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{FileKind, Time};

    fn known(inode: u64, upto: u64) -> Known {
        Known { fragments: [Fragment { inode: InodeId(inode), upto }].into(), stamp: None }
    }

    #[test]
    fn names_are_looked_for_where_they_were_last() {
        let (dir, mut dirs) = (InodeId(5), SplitDirs::default());
        assert_eq!((dirs.holder(dir, b"a"), dirs.directory(InodeId(6))), (dir, InodeId(6)));
        assert_eq!(dirs.range(dir, dir), CookieRange { from: 0, upto: COOKIE_END });
        let two = [6, 7].map(|inode| Fragment { inode: InodeId(inode), upto: inode << 40 });
        dirs.learn(dir, Known { fragments: two.into(), stamp: None });
        let ranges = [dir, InodeId(6), InodeId(7)].map(|at| dirs.range(dir, at));
        assert_eq!(ranges.map(|range| (range.from >> 40, range.upto >> 40)), [(7, COOKIE_END >> 40), (0, 6), (6, 7)]);
        dirs.learn(dir, known(6, COOKIE_END));
        assert_eq!((dirs.holder(dir, b"a"), dirs.directory(InodeId(6))), (InodeId(6), dir));
        assert_eq!(dirs.holder_at(dir, || COOKIE_END), dir);
        dirs.learn(dir, known(7, 0));
        assert_eq!((dirs.holder(dir, b"a"), dirs.directory(InodeId(6))), (dir, dir), "for ever");
        dirs.learn(dir, Known { fragments: [].into(), stamp: None });
        assert!(dirs.known(dir).is_none());
    }

    #[test]
    fn fragments_count_together_and_the_latest_change_is_the_directorys() {
        let attr = |nlink, size, seconds| {
            let time = Time { seconds, nanos: 0 };
            let (inode, kind, split) = (InodeId(5), FileKind::Directory, Some(true));
            let (atime, mtime, ctime, btime) = (time, time, time, time);
            let (allocated, no_xattrs) = (None, true);
            let (perm, uid, gid, rdev) = (0o755, 0, 0, 0);
            Attr {
                inode,
                kind,
                perm,
                nlink,
                uid,
                gid,
                rdev,
                size,
                atime,
                mtime,
                ctime,
                btime,
                allocated,
                no_xattrs,
                split,
            }
        };
        let all = whole(&attr(3, 10, 7), &[attr(2, 5, 9), attr(6, 4, 2)]);
        assert_eq!((all.nlink, all.size, all.mtime.seconds, all.ctime.seconds, all.atime.seconds), (7, 19, 9, 9, 7));
        assert_eq!(all.split, None);
    }
}

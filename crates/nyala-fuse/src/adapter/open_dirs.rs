// SPDX-License-Identifier: Apache-2.0

//! Directories that are open here, and those that were removed while somebody is in them. Pure, besides the lock.
//!
//! **Failure model.** A listing may be on its way to a reader when the directory's entries are withdrawn; the reader puts
//! it into the kernel's cache of listings *afterwards*, and others would then be given it. So whoever may cache listings
//! and had the directory open at a withdrawal is an old reader; while there is one, nobody else is allowed to use the
//! cache, and when the last of them has closed, it is emptied once more.
//!
//! A directory that was removed is gone from the servers, but a process that has it open or as its working directory may
//! still look at it: its last attributes are kept, without links, until the kernel has forgotten it or closed it.

use super::convert::inode;
use crate::Ino;
use nyala_wire::{Attr, InodeId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
#[derive(Default)]
pub struct OpenDirs {
    state: Mutex<State>,
    /// Directories in `State::removed`, to be read without the lock.
    removed: AtomicUsize,
    /// Directories in `State::open`.
    open: AtomicUsize,
}

#[derive(Default)]
struct State {
    open: HashMap<InodeId, Held>,
    /// Removed by this mount; until the kernel forgets them.
    removed: HashMap<InodeId, Attr>,
}

#[derive(Default)]
struct Held {
    handles: u32,
    /// Handles that may use the kernel's cache of the listing.
    readers: u32,
    /// The same, opened before the last withdrawal.
    old_readers: u32,
    /// The kernel's cache may hold something old.
    dirty: bool,
    /// Counts withdrawals.
    generation: u64,
    last: Option<Attr>,
}

/// One opening of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The kernel may fill and use its cache of the listing.
    pub cached: bool,
    /// Withdrawals before it.
    pub generation: u64,
}

impl OpenDirs {
    /// One more handle. `delegated` says whether listings may be kept now; it is asked where a withdrawal can only come
    /// before (and has made it false) or after (and finds the handle). `last`: the attributes.
    pub fn opened(&self, ino: Ino, delegated: impl FnOnce() -> bool, last: Option<Attr>) -> Opening {
        let mut state = self.state.lock();
        let held = state.open.entry(inode(ino)).or_default();
        held.handles += 1;
        held.last = last.or(held.last.take());
        let cached = !held.dirty && delegated();
        held.readers += u32::from(cached);
        let opening = Opening { cached, generation: held.generation };
        self.open.store(state.open.len(), Ordering::Release);
        opening
    }

    /// One handle less. True: the kernel's cache of the listing has to be emptied, and [`OpenDirs::emptied`] called.
    #[must_use]
    pub fn closed(&self, ino: Ino, opening: Opening) -> bool {
        let mut state = self.state.lock();
        let Some(held) = state.open.get_mut(&inode(ino)) else { return false };
        held.handles = held.handles.saturating_sub(1);
        let mut empty_it = false;
        if opening.cached {
            if opening.generation == held.generation {
                held.readers = held.readers.saturating_sub(1);
            } else {
                held.old_readers = held.old_readers.saturating_sub(1);
                empty_it = held.old_readers == 0;
            }
        }
        if held.handles == 0 && !held.dirty {
            state.open.remove(&inode(ino));
        }
        self.open.store(state.open.len(), Ordering::Release);
        empty_it
    }

    /// The kernel's cache of the listing is empty.
    pub fn emptied(&self, ino: Ino) {
        let mut state = self.state.lock();
        let Some(held) = state.open.get_mut(&inode(ino)) else { return };
        held.dirty = held.old_readers > 0;
        if held.handles == 0 && !held.dirty {
            state.open.remove(&inode(ino));
        }
        self.open.store(state.open.len(), Ordering::Release);
    }

    /// The directory's entries are not to be believed any more.
    pub fn withdrawn(&self, ino: Ino) {
        if let Some(held) = self.state.lock().open.get_mut(&inode(ino)) {
            held.generation += 1;
            held.old_readers += held.readers;
            held.readers = 0;
            held.dirty = held.old_readers > 0;
        }
    }

    /// Withdrawals so far of a directory that is open.
    pub fn generation(&self, ino: Ino) -> u64 {
        self.state.lock().open.get(&inode(ino)).map_or(0, |held| held.generation)
    }

    /// Attributes were seen; they are remembered if the directory is open.
    pub fn seen(&self, attr: &Attr) {
        if self.open.load(Ordering::Acquire) > 0
            && let Some(held) = self.state.lock().open.get_mut(&attr.inode)
        {
            held.last = Some(attr.clone());
        }
    }

    /// This mount removed the directory with these last attributes.
    pub fn removed(&self, attr: Attr) {
        let mut state = self.state.lock();
        state.removed.insert(attr.inode, Attr { nlink: 0, ..attr });
        self.removed.store(state.removed.len(), Ordering::Release);
    }

    /// Whether [`OpenDirs::forgotten`] has anything to do.
    pub fn has_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire) > 0
    }

    /// The kernel has dropped the inode.
    pub fn forgotten(&self, ino: Ino) {
        let mut state = self.state.lock();
        state.removed.remove(&inode(ino));
        self.removed.store(state.removed.len(), Ordering::Release);
    }

    /// Attributes of a directory that is gone from the servers and that somebody here is still in.
    pub fn last(&self, ino: Ino) -> Option<Attr> {
        let state = self.state.lock();
        let open = || state.open.get(&inode(ino)).and_then(|held| held.last.clone());
        state.removed.get(&inode(ino)).cloned().or_else(open).map(|attr| Attr { nlink: 0, ..attr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{FileKind, Time};

    const DIR: Ino = Ino(7);

    fn attr() -> Attr {
        let time = Time::default();
        Attr {
            inode: InodeId(DIR.0),
            kind: FileKind::Directory,
            perm: 0o755,
            nlink: 2,
            uid: 1,
            gid: 2,
            rdev: 0,
            size: 0,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
            allocated: None,
            no_xattrs: false,
            split: None,
        }
    }

    #[test]
    fn an_old_reader_keeps_others_from_the_cache_until_it_has_been_emptied() {
        let dirs = OpenDirs::default();
        let old = dirs.opened(DIR, || true, None);
        assert!(old.cached);
        assert!(dirs.opened(DIR, || true, None).cached);
        dirs.withdrawn(DIR);
        let new = dirs.opened(DIR, || true, None);
        assert_eq!(new, Opening { cached: false, generation: 1 });
        assert!(!dirs.closed(DIR, old), "another old reader is left");
        assert!(!dirs.opened(DIR, || true, None).cached);
        assert!(dirs.closed(DIR, Opening { cached: true, generation: 0 }));
        assert!(!dirs.opened(DIR, || true, None).cached, "it has not been emptied yet");
        dirs.emptied(DIR);
        assert!(dirs.opened(DIR, || true, None).cached);
        assert!(!dirs.opened(DIR, || false, None).cached);
        for _ in 0..3 {
            assert!(!dirs.closed(DIR, new));
        }
        assert!(!dirs.closed(DIR, Opening { cached: true, generation: 1 }));
        assert!(!dirs.closed(DIR, Opening { cached: false, generation: 1 }));
        assert!(dirs.state.lock().open.is_empty());
    }

    #[test]
    fn a_withdrawal_while_the_cache_is_emptied_counts() {
        let dirs = OpenDirs::default();
        let first = dirs.opened(DIR, || true, None);
        dirs.withdrawn(DIR);
        dirs.withdrawn(DIR);
        assert!(dirs.closed(DIR, first));
        // Dirty and not open: remembered until it is empty.
        assert!(!dirs.opened(DIR, || true, None).cached);
        dirs.emptied(DIR);
        let second = dirs.opened(DIR, || true, None);
        assert!(second.cached);
        dirs.withdrawn(DIR);
        dirs.emptied(DIR);
        assert!(!dirs.opened(DIR, || true, None).cached, "an old reader has it open");
    }

    #[test]
    fn the_last_attributes_of_removed_directories() {
        let dirs = OpenDirs::default();
        assert_eq!(dirs.last(DIR), None);
        dirs.seen(&attr());
        assert_eq!(dirs.last(DIR), None, "it is not open");
        let opening = dirs.opened(DIR, || false, None);
        dirs.seen(&attr());
        assert_eq!(dirs.last(DIR), Some(Attr { nlink: 0, ..attr() }));
        assert!(!dirs.closed(DIR, opening));
        assert_eq!(dirs.last(DIR), None);
        // Removed here: until the kernel forgets it, open or not.
        dirs.removed(attr());
        assert!(dirs.has_removed());
        assert_eq!(dirs.last(DIR).unwrap().nlink, 0);
        dirs.forgotten(DIR);
        assert!(!dirs.has_removed());
        assert_eq!(dirs.last(DIR), None);
    }
}

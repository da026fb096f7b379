// SPDX-License-Identifier: Apache-2.0

//! Directories that other mounts moved, and the numbers by which the kernel knows them. Pure, besides the lock.
//!
//! The kernel has a directory at one place of its tree. A look-up that finds it elsewhere moves it there, for which the
//! kernel tries locks that it may be holding already: in a rename from one directory to another it always is. Then it
//! says ESTALE, tries once more, and says it again (`__d_unalias` in Linux's `fs/dcache.c`). So who looks up the same name a
//! second time gives a directory that the kernel had elsewhere another *node*: to the kernel it is one that it never saw.
//! Nodes are told apart by two bits that inode numbers have free. While the kernel may have several nodes of a directory,
//! it keeps nothing of it, because what it does by one node it would not know by the other.
//!
//! **Failure model.** All of this is a guess at what the kernel has: it forgets, and does not say where it put what a
//! listing told it. A wrong guess costs an ESTALE that was there before, or a node more: a process whose working
//! directory was moved then has it at its old place, as a removed one. Records are bounded; what does not fit is not known.

mod kernel_dir;
mod kernel_dirs;
#[cfg(test)]
mod tests;

use crate::Ino;
pub use kernel_dir::{At, Node, SHIFT};
use kernel_dir::{KernelDir, NODES, number};
use kernel_dirs::KernelDirs;
use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// See the module.
#[derive(Default)]
pub struct Moved {
    dirs: Mutex<KernelDirs>,
    /// Directories whose place is known, to be read without the lock.
    known: AtomicUsize,
    /// Those that the kernel may have several nodes of.
    several: AtomicUsize,
}

impl Moved {
    fn count(&self, dirs: &KernelDirs) {
        self.known.store(dirs.of.len(), Ordering::Release);
        self.several.store(dirs.several, Ordering::Release);
    }

    /// A thread's look-up found a directory under a name in another: what to call it.
    pub fn found(&self, dir: InodeId, at: (Ino, &[u8]), thread: u32, now: Instant) -> Node {
        let mut dirs = self.dirs.lock();
        let node = dirs.found(dir, at, thread, now);
        self.count(&dirs);
        node
    }

    /// A listing shows a directory to the kernel, which may or may not put it there.
    pub fn listed(&self, dir: InodeId, at: (Ino, &[u8])) -> Ino {
        let mut dirs = self.dirs.lock();
        let ino = dirs.listed(dir, at);
        self.count(&dirs);
        ino
    }

    /// The kernel asks for a directory by number: for a node of it, or for the directory above another.
    pub fn numbered(&self, dir: InodeId, node: Option<u8>) -> Ino {
        let mut dirs = self.dirs.lock();
        let ino = dirs.numbered(dir, node);
        self.count(&dirs);
        ino
    }

    /// This mount renamed, and the kernel knows it.
    pub fn renamed(&self, from: At, to: At, exchange: bool) {
        self.dirs.lock().renamed(from, to, exchange);
    }

    /// Whether [`Moved::forgotten`] has anything to do.
    pub fn has_known(&self) -> bool {
        self.known.load(Ordering::Acquire) > 0
    }

    /// The kernel has forgotten a node that it was told of so often. That may be the answer to one look-up, which it had no
    /// use for, while it still has the node from others.
    pub fn forgotten(&self, ino: Ino, times: u64) {
        let mut dirs = self.dirs.lock();
        dirs.forgotten(ino, times);
        self.count(&dirs);
    }

    /// Whether the kernel may have several nodes of an inode.
    pub fn has_several(&self, dir: InodeId) -> bool {
        self.several.load(Ordering::Acquire) > 0 && self.dirs.lock().of.get(&dir).is_some_and(KernelDir::is_several)
    }

    /// All nodes that the kernel may have of an inode.
    pub fn nodes(&self, dir: InodeId) -> impl Iterator<Item = Ino> + use<> {
        let known = if self.has_known() { self.dirs.lock().of.get(&dir).map(KernelDir::nodes) } else { None };
        let nodes = known.unwrap_or([true, false, false, false]);
        (0..NODES).zip(nodes).filter(|(_, has)| *has).map(move |(node, _)| number(dir, node))
    }
}

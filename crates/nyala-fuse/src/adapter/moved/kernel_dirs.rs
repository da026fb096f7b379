// SPDX-License-Identifier: Apache-2.0

//! Where the kernel has directories, and which nodes of each. Pure.

use super::kernel_dir::{At, KernelDir, NODES, News, Node, SHIFT, number};
use crate::Ino;
use crate::adapter::convert::inode;
use nyala_wire::InodeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The kernel tries again at once; the servers may take a while.
pub const AGAIN: Duration = Duration::from_secs(5);
/// Directories whose places are remembered.
pub const MAX_DIRS: usize = 65_536;

/// The directories that the kernel has, as far as is known.
#[derive(Default)]
pub struct KernelDirs {
    /// By directory.
    pub of: HashMap<InodeId, KernelDir>,
    /// Which directory is at which place.
    pub at: HashMap<u64, InodeId>,
    /// How many have several nodes.
    pub several: usize,
}

impl KernelDirs {
    /// One that is not known yet.
    fn insert(&mut self, dir: InodeId, at: At) {
        if self.make_room() {
            self.at.insert(at.number(), dir);
            self.of.insert(dir, KernelDir::new(at));
        }
    }

    fn make_room(&mut self) -> bool {
        if self.of.len() >= MAX_DIRS {
            // Those with several nodes have to stay: withdrawals must reach all of them.
            self.of.retain(|_, known| known.is_several());
            self.at.clear();
        }
        self.of.len() < MAX_DIRS
    }

    /// It is at another place; where it was.
    fn put(&mut self, dir: InodeId, at: At) -> Option<At> {
        let known = self.of.get_mut(&dir)?;
        self.at.insert(at.number(), dir);
        let before = std::mem::replace(&mut known.at, at);
        if self.at.get(&before.number()) == Some(&dir) {
            self.at.remove(&before.number());
        }
        Some(before)
    }

    /// Changes what is known of a directory, and counts those with several nodes.
    fn change<T>(&mut self, dir: InodeId, change: impl FnOnce(&mut KernelDir) -> T) -> Option<T> {
        let known = self.of.get_mut(&dir)?;
        let before = known.is_several();
        let result = change(known);
        self.several = self.several + usize::from(known.is_several()) - usize::from(before);
        Some(result)
    }

    /// A thread's look-up found a directory under a name: what to call it.
    pub fn found(&mut self, dir: InodeId, (parent, name): (Ino, &[u8]), thread: u32, now: Instant) -> Node {
        let Some(known) = self.of.get(&dir) else {
            self.insert(dir, At::new(parent, name));
            return Node { ino: number(dir, 0), parted: false, from: None };
        };
        // What the kernel has by number it connects with the name now: it was nowhere else.
        let is_news = !known.at.is_unknown();
        let stays = known.at.is(parent, name);
        if !stays || known.unsure {
            let before = if stays { None } else { self.put(dir, At::new(parent, name)) };
            let node = self.change(dir, |known| {
                known.unsure = false;
                known.news = is_news.then_some(News { thread, when: now, before });
                known.tell()
            });
            return Node { ino: number(dir, node.unwrap_or(0)), parted: false, from: None };
        }
        let told = self.change(dir, |known| {
            let news = known.news.take_if(|news| news.thread == thread);
            let news = news.filter(|news| now.duration_since(news.when) < AGAIN);
            if news.is_some() {
                known.part();
            }
            (known.tell(), news)
        });
        let (node, news) = told.unwrap_or((0, None));
        Node { ino: number(dir, node), parted: news.is_some(), from: news.and_then(|news| news.before) }
    }

    /// A listing shows a directory to the kernel.
    pub fn listed(&mut self, dir: InodeId, (parent, name): (Ino, &[u8])) -> Ino {
        let told = self.change(dir, |known| {
            known.unsure |= !known.at.is(parent, name);
            known.tell()
        });
        if told.is_none() {
            self.insert(dir, At::new(parent, name));
        }
        number(dir, told.unwrap_or(0))
    }

    /// The kernel asks for a directory by number: for a node of it, or for the directory above another.
    pub fn numbered(&mut self, dir: InodeId, node: Option<u8>) -> Ino {
        let told = self.change(dir, |known| match node {
            None => known.tell(),
            Some(node) => {
                known.tell_node(node);
                node
            }
        });
        let node = told.or(node).unwrap_or(0);
        if told.is_none() && self.make_room() {
            self.of.insert(dir, KernelDir::numbered(node));
        }
        number(dir, node)
    }

    /// This mount renamed, and the kernel knows it.
    pub fn renamed(&mut self, from: At, to: At, exchange: bool) {
        let (moved, other) = (self.at.remove(&from.number()), self.at.remove(&to.number()));
        if let Some(dir) = moved {
            self.put(dir, to);
        }
        if let Some(dir) = other.filter(|_| exchange) {
            self.put(dir, from);
        }
    }

    /// The kernel has forgotten a node that it was told of so often.
    pub fn forgotten(&mut self, ino: Ino, times: u64) {
        let dir = inode(ino);
        let gone = self.change(dir, |known| {
            known.forget((ino.0 >> SHIFT) as u8 % NODES, times);
            known.is_forgotten()
        });
        if gone == Some(true)
            && let Some(known) = self.of.remove(&dir)
            && self.at.get(&known.at.number()) == Some(&dir)
        {
            self.at.remove(&known.at.number());
        }
    }
}

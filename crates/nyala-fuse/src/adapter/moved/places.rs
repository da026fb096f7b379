// SPDX-License-Identifier: Apache-2.0

//! Where the kernel has directories, and which nodes of each. Pure.

use super::place::{At, NODES, News, Node, Place, SHIFT, number};
use crate::Ino;
use crate::adapter::convert::inode;
use nyala_wire::InodeId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The kernel tries again at once; the servers may take a while.
pub const AGAIN: Duration = Duration::from_secs(5);
/// Directories whose places are remembered.
pub const MAX_PLACES: usize = 65_536;

/// Places of directories.
#[derive(Default)]
pub struct Places {
    /// By directory.
    pub of: HashMap<InodeId, Place>,
    /// Which directory is at which place.
    pub at: HashMap<u64, InodeId>,
    /// How many have several nodes.
    pub several: usize,
}

impl Places {
    /// One that is not known yet.
    pub fn insert(&mut self, dir: InodeId, at: At) {
        if self.of.len() >= MAX_PLACES {
            // Those with several nodes have to stay: withdrawals must reach all of them.
            self.of.retain(|_, place| place.is_several());
            self.at.clear();
            if self.of.len() >= MAX_PLACES {
                return;
            }
        }
        self.at.insert(at.number(), dir);
        self.of.insert(dir, Place::new(at));
    }

    /// It is at another place; where it was.
    fn put(&mut self, dir: InodeId, at: At) -> Option<At> {
        let place = self.of.get_mut(&dir)?;
        self.at.insert(at.number(), dir);
        let before = std::mem::replace(&mut place.at, at);
        if self.at.get(&before.number()) == Some(&dir) {
            self.at.remove(&before.number());
        }
        Some(before)
    }

    /// A thread's look-up found a directory at a place.
    pub fn found(&mut self, dir: InodeId, at: At, thread: u32, now: Instant) -> Node {
        let Some(known) = self.of.get_mut(&dir) else {
            self.insert(dir, at);
            return Node::plain(number(dir, 0));
        };
        let ino = number(dir, known.node);
        if known.at != at || known.unsure {
            let before = if known.at != at { self.put(dir, at) } else { None };
            if let Some(known) = self.of.get_mut(&dir) {
                known.unsure = false;
                known.news = Some(News { thread, when: now, before });
            }
            return Node::plain(ino);
        }
        let news = known.news.take_if(|news| news.thread == thread);
        let Some(news) = news.filter(|news| now.duration_since(news.when) < AGAIN) else { return Node::plain(ino) };
        self.several += usize::from(!known.is_several());
        known.part();
        Node { ino: number(dir, known.node), parted: true, from: news.before }
    }

    /// A listing shows a directory to the kernel.
    pub fn listed(&mut self, dir: InodeId, at: At) -> Ino {
        let Some(known) = self.of.get_mut(&dir) else {
            self.insert(dir, at);
            return number(dir, 0);
        };
        known.unsure |= known.at != at;
        number(dir, known.node)
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

    /// The kernel has dropped a node.
    pub fn forgotten(&mut self, ino: Ino) {
        let (dir, node) = (inode(ino), (ino.0 >> SHIFT) as u8 % NODES);
        let Some(known) = self.of.get_mut(&dir) else { return };
        let before = known.is_several();
        known.live &= !(1 << node);
        self.several -= usize::from(before && !known.is_several());
        if known.live == 0 {
            let at = known.at.number();
            self.of.remove(&dir);
            self.at.remove(&at);
        }
    }
}

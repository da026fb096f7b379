// SPDX-License-Identifier: Apache-2.0

//! One directory's place in the kernel's tree, and its nodes. Pure.

use crate::Ino;
use crate::adapter::convert::inode;
use nyala_wire::InodeId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

/// Where the two bits of a node are: above all sequence numbers.
pub const SHIFT: u32 = 46;
const _: () = assert!(InodeId::MAX_SEQUENCE < 1 << SHIFT);
/// Nodes of a directory.
pub const NODES: u8 = 4;

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The directory, as the kernel calls it.
    pub parent: Ino,
    /// The name.
    pub name: Box<[u8]>,
}

impl At {
    /// A name in a directory.
    pub fn new(parent: Ino, name: &[u8]) -> At {
        At { parent, name: name.into() }
    }

    /// Somewhere: the kernel has it by its number alone.
    pub fn unknown() -> At {
        At::new(Ino(0), b"")
    }

    /// Is that all that is known?
    pub fn is_unknown(&self) -> bool {
        self.name.is_empty()
    }

    /// Is it this name in this directory?
    pub fn is(&self, parent: Ino, name: &[u8]) -> bool {
        self.parent == parent && *self.name == *name
    }

    /// Two places that share a number would only be a wrong guess.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (inode(self.parent), &self.name).hash(&mut hasher);
        hasher.finish()
    }
}

/// How the kernel is told of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub ino: Ino,
    /// Just now the kernel got one node more: what it keeps by others has to be withdrawn.
    pub parted: bool,
    /// Where it had the directory then; there is none any more.
    pub from: Option<At>,
}

/// The kernel's number of a directory's node.
pub fn number(dir: InodeId, node: u8) -> Ino {
    Ino(dir.0 | u64::from(node) << SHIFT)
}

/// Where the kernel has a directory.
pub struct KernelDir {
    /// Here, as far as is known.
    pub at: At,
    /// Or the kernel has it where a listing showed it.
    pub unsure: bool,
    /// It was found here while the kernel had it elsewhere.
    pub news: Option<News>,
    /// The node that it is called by now.
    node: u8,
    /// How often the kernel was told of each node and has not forgotten it.
    lookups: [u64; NODES as usize],
}

/// It was found elsewhere.
pub struct News {
    /// Who found it first.
    pub thread: u32,
    /// When.
    pub when: Instant,
    /// Where it was before, if that is another place.
    pub before: Option<At>,
}

impl KernelDir {
    /// The kernel is told that it is here, by its own number.
    pub fn new(at: At) -> KernelDir {
        KernelDir { at, unsure: false, news: None, node: 0, lookups: [1, 0, 0, 0] }
    }

    /// The kernel asks for this node of it by number.
    pub fn numbered(node: u8) -> KernelDir {
        let mut lookups = [0; NODES as usize];
        lookups[usize::from(node % NODES)] = 1;
        KernelDir { node: node % NODES, lookups, ..KernelDir::new(At::unknown()) }
    }

    /// The kernel is told of the node that it asks for by number once more.
    pub fn tell_node(&mut self, node: u8) {
        self.lookups[usize::from(node % NODES)] += 1;
    }

    /// Whether the kernel may have several nodes of it.
    pub fn is_several(&self) -> bool {
        self.lookups.iter().filter(|times| **times > 0).count() > 1
    }

    /// Whether the kernel has forgotten all of it.
    pub fn is_forgotten(&self) -> bool {
        self.lookups == [0; NODES as usize]
    }

    /// Nodes that the kernel may have or be told of.
    pub fn nodes(&self) -> [bool; NODES as usize] {
        let mut nodes = self.lookups.map(|times| times > 0);
        nodes[usize::from(self.node)] = true;
        nodes
    }

    /// The kernel is told of it once more: by which node.
    pub fn tell(&mut self) -> u8 {
        self.lookups[usize::from(self.node)] += 1;
        self.node
    }

    /// The kernel has forgotten a node that it was told of so often.
    pub fn forget(&mut self, node: u8, times: u64) {
        let lookups = &mut self.lookups[usize::from(node % NODES)];
        *lookups = lookups.saturating_sub(times);
    }

    /// The kernel is to get another one.
    pub fn part(&mut self) {
        let free = (0..NODES).find(|node| self.lookups[usize::from(*node)] == 0);
        self.node = free.unwrap_or((self.node + 1) % NODES);
    }
}

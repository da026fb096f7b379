// SPDX-License-Identifier: Apache-2.0

//! Files that storage may have more of than was ever committed, since whoever wrote them ended without closing. Pure.
//!
//! **Failure model.** A client sends data to storage, and then its size, or that it was moved from the inode, to metadata. One that
//! dies in between leaves bytes behind the end, or beside inline content, that would show when the file grows past them
//! without being written there. Its session's exclusive delegations say which files that can be; after a restart of this
//! service nothing does, so that all files from before are doubtful if a session of before is never heard of again. Whoever
//! is told of a doubt cuts before it leaves a gap (`FileReply::leftovers`), and so does a truncation to a larger size. It is not told
//! to all, as nobody may cut what another client has on its way to be committed: a dead one has nothing on its way, and held
//! others off.
//!
//! Doubts are in memory: a later restart forgets them. Files that several clients wrote at once when one of them died are not
//! doubted.

use nyala_wire::meta::MetaReply;
use nyala_wire::{InodeId, Slot};
use std::collections::HashSet;

/// Most files that are remembered one by one: some tens of megabytes.
const MOST: usize = 1 << 20;

/// What is doubtful.
#[derive(Debug, Default)]
pub struct Doubts {
    /// Inodes with smaller sequence numbers are, but for those that are `settled`.
    below: u64,
    doubtful: HashSet<InodeId>,
    settled: HashSet<InodeId>,
}

impl Doubts {
    /// A client is gone that was writing these.
    pub fn died(&mut self, writing: Vec<InodeId>) {
        if self.doubtful.len() + writing.len() > MOST {
            let last = writing.iter().chain(&self.doubtful).map(|inode| inode.sequence()).max();
            return self.any_died(last.map_or(0, |last| last + 1));
        }
        for inode in writing {
            self.settled.remove(&inode);
            self.doubtful.insert(inode);
        }
    }

    /// A client is gone that may have been writing any inode with a sequence number below this one.
    pub fn any_died(&mut self, below: u64) {
        self.below = self.below.max(below);
        self.doubtful.clear();
        self.settled.clear();
    }

    /// Whether storage may have more of a file than its size says.
    pub fn has(&self, inode: InodeId) -> bool {
        self.doubtful.contains(&inode) || (inode.sequence() < self.below && !self.settled.contains(&inode))
    }

    /// Whether storage may have more of any file of a slot than its size says.
    pub fn any_in(&self, slot: Slot) -> bool {
        self.below > 0 || self.doubtful.iter().any(|inode| inode.slot() == slot)
    }

    /// The file is gone, and its number is never used again.
    pub fn forget(&mut self, inode: InodeId) {
        self.doubtful.remove(&inode);
        self.settled.remove(&inode);
    }

    /// What storage had too much of the file is gone.
    pub fn settle(&mut self, inode: InodeId) {
        self.doubtful.remove(&inode);
        if inode.sequence() < self.below && self.settled.len() < MOST {
            self.settled.insert(inode);
        }
    }

    /// Says it in a reply that shows a file.
    pub fn tell(&self, reply: &mut MetaReply) {
        if let MetaReply::Opened(file) = reply
            && self.has(file.attr.inode)
        {
            file.leftovers = Some(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inode(sequence: u64) -> InodeId {
        InodeId::new(Slot(3), sequence).unwrap()
    }

    #[test]
    fn what_a_dead_client_wrote_is_doubtful_until_it_is_settled() {
        let mut doubts = Doubts::default();
        assert!(!doubts.has(inode(5)));
        doubts.died(vec![inode(5), inode(6)]);
        assert!(doubts.has(inode(5)) && doubts.has(inode(6)) && !doubts.has(inode(7)));
        doubts.settle(inode(5));
        assert!(!doubts.has(inode(5)) && doubts.has(inode(6)));
        doubts.died(vec![inode(5)]);
        assert!(doubts.has(inode(5)), "again");
    }

    #[test]
    fn after_a_restart_all_that_is_older_is_doubtful() {
        let mut doubts = Doubts::default();
        doubts.any_died(50);
        assert!(doubts.has(inode(49)) && !doubts.has(inode(50)));
        doubts.settle(inode(49));
        doubts.settle(inode(60));
        assert!(!doubts.has(inode(49)));
        doubts.died(vec![inode(49), inode(60)]);
        assert!(doubts.has(inode(49)) && doubts.has(inode(60)));
        doubts.any_died(50);
        assert!(doubts.has(inode(48)) && doubts.has(inode(49)));
        doubts.settle(inode(48));
        doubts.died(vec![inode(70)]);
        doubts.forget(inode(48));
        doubts.forget(inode(70));
        assert!(doubts.settled.is_empty() && doubts.doubtful.is_empty(), "what is gone takes no memory");
    }

    #[test]
    fn too_many_to_remember_are_all() {
        let mut doubts = Doubts::default();
        doubts.died((1..=MOST as u64).map(inode).collect());
        assert!(!doubts.has(inode(MOST as u64 + 5)));
        doubts.died(vec![inode(MOST as u64 + 9)]);
        assert!(doubts.has(inode(3)) && doubts.has(inode(MOST as u64 + 5)) && !doubts.has(inode(MOST as u64 + 10)));
    }
}

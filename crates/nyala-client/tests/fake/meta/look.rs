// SPDX-License-Identifier: Apache-2.0

//! What tests look at in the fake.

use super::*;

impl Meta {
    pub fn locks(&self) -> usize {
        self.locks.len()
    }

    pub fn inline_version(&self, inode: InodeId) -> u64 {
        self.inodes[&inode].inline.as_ref().unwrap().0
    }

    pub fn lock_kinds(&self) -> Vec<LockKind> {
        self.locks.iter().map(|held| held.2.kind).collect()
    }

    pub fn allocated(&self, inode: InodeId) -> Option<u64> {
        self.inodes[&inode].attr.allocated
    }

    pub fn perm(&self, inode: InodeId) -> u16 {
        self.inodes[&inode].attr.perm
    }

    pub fn set_perm(&mut self, inode: InodeId, perm: u16) {
        self.inodes.get_mut(&inode).unwrap().attr.perm = perm;
    }

    pub fn exists(&self, inode: InodeId) -> bool {
        self.inodes.contains_key(&inode)
    }

    pub fn is_held(&self, inode: InodeId) -> bool {
        self.inodes.get(&inode).is_some_and(|inode| !inode.holders.is_empty())
    }

    pub fn size(&self, inode: InodeId) -> u64 {
        self.inodes[&inode].attr.size
    }

    pub fn inline(&self, inode: InodeId) -> Option<Vec<u8>> {
        self.inodes[&inode].inline.as_ref().map(|(_, data)| data.clone())
    }
}

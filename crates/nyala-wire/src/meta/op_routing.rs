// SPDX-License-Identifier: Apache-2.0

//! What has to be known of an operation before it is done: whether it changes something, and which server it goes to.

use super::MetaOp;
use super::repaired::repaired_inode;
use crate::ids::InodeId;

impl MetaOp {
    /// Whether it changes something, and so carries a sequence number.
    pub fn is_change(&self) -> bool {
        let session = matches!(self, Self::SessionOpen { .. } | Self::SessionClose | Self::StatFs | Self::Sync);
        let asks = matches!(self, Self::Fragments(_) | Self::MergeDir(_) | Self::Replay(_) | Self::StorageGrant(_))
            || matches!(self, Self::MoveTargets { .. });
        let reads = matches!(
            self,
            MetaOp::Lookup { .. }
                | MetaOp::GetAttr { .. }
                | MetaOp::GetAttrs { .. }
                | MetaOp::ReadDir { .. }
                | MetaOp::ReadLink { .. }
                | MetaOp::GetXattr { .. }
                | MetaOp::ListXattr { .. }
                | MetaOp::EntryInfo { .. }
                | MetaOp::GetParent { .. }
                | MetaOp::FileInfo { .. }
                | MetaOp::DelegationPoll { .. }
                | MetaOp::DelegationReturn { .. }
                | MetaOp::Acquire { .. }
                | MetaOp::GetLock { .. }
                | MetaOp::LockWait { .. }
                | MetaOp::LockConfirm { .. }
                | MetaOp::LockChecked { .. }
                | MetaOp::Survived { .. }
        );
        !session && !asks && !reads
    }

    /// About how many bytes the content of files takes in it.
    pub fn content_bytes(&self) -> usize {
        /// What goes around the content of one of several files.
        const AROUND: usize = 48;
        match self {
            MetaOp::PutInline(put) => put.data.len(),
            MetaOp::PutInlines { puts } => puts.iter().map(|put| put.data.len() + AROUND).sum(),
            _ => 0,
        }
    }

    /// The inode whose server the request goes to: the directory of a name, the inode itself otherwise.
    /// `None` for operations on the session or the whole server.
    pub fn routing_inode(&self) -> Option<InodeId> {
        Some(match self {
            MetaOp::SessionOpen { .. } | MetaOp::SessionClose | MetaOp::SessionAdopt(_) => return None,
            MetaOp::StatFs | MetaOp::Sync | MetaOp::Survived { .. } | MetaOp::Replay(_) => return None,
            MetaOp::DelegationPoll { .. } | MetaOp::DelegationReturn { .. } | MetaOp::LockChecked { .. } => {
                return None;
            }
            MetaOp::Lookup { parent, .. }
            | MetaOp::Unlink { parent, .. }
            | MetaOp::Rmdir { parent, .. }
            | MetaOp::Link { parent, .. } => *parent,
            MetaOp::Create { entry, .. }
            | MetaOp::Mkdir { entry }
            | MetaOp::Mknod { entry, .. }
            | MetaOp::Symlink { entry, .. }
            | MetaOp::Tmpfile { entry } => entry.parent,
            MetaOp::Rename(rename) => rename.from_parent,
            MetaOp::GetAttrs { inodes } => *inodes.first()?,
            MetaOp::ReadDir { dir, .. }
            | MetaOp::GetParent { dir }
            | MetaOp::SetPattern { dir, .. }
            | MetaOp::Fragments(dir)
            | MetaOp::MergeDir(dir) => *dir,
            MetaOp::StorageGrant(file) => *file,
            MetaOp::Commit(commit) => commit.inode,
            MetaOp::PutInline(put) => put.inode,
            MetaOp::PutInlines { puts } => puts.first()?.inode,
            MetaOp::Repair(repair) => return repaired_inode(repair),
            MetaOp::GetAttr { inode }
            | MetaOp::ReadLink { inode }
            | MetaOp::GetXattr { inode, .. }
            | MetaOp::ListXattr { inode }
            | MetaOp::EntryInfo { inode }
            | MetaOp::FileInfo { inode }
            | MetaOp::Acquire { inode }
            | MetaOp::MoveTargets { inode, .. }
            | MetaOp::MoveData { inode, .. }
            | MetaOp::Spill { inode, .. }
            | MetaOp::GetLock { inode, .. }
            | MetaOp::LockWait { inode, .. }
            | MetaOp::LockConfirm { inode, .. }
            | MetaOp::SetLock { inode, .. }
            | MetaOp::Open { inode }
            | MetaOp::Close { inode }
            | MetaOp::SetAttr { inode, .. }
            | MetaOp::SetXattr { inode, .. }
            | MetaOp::RemoveXattr { inode, .. } => *inode,
        })
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Which server a repair goes to.

use super::repair::Repair;
use crate::ids::InodeId;

/// The inode whose server does a repair; `None`: the sender knows which.
pub(super) fn repaired_inode(repair: &Repair) -> Option<InodeId> {
    match repair {
        Repair::RemoveName { dir, .. } | Repair::SetNameKind { dir, .. } | Repair::PlaceName { dir, .. } => Some(*dir),
        Repair::RemoveNames(dir) | Repair::CountNames(dir) => Some(*dir),
        Repair::AddName { dir, .. } | Repair::SetParent { dir, .. } => Some(*dir),
        Repair::SetLinks { inode, .. } | Repair::CloseStray { inode, .. } => Some(*inode),
        Repair::RemoveInode(inode) | Repair::RemoveContent(inode) => Some(*inode),
        Repair::Fragment(repair) => Some(repair.inode()),
        Repair::SettleLocks { inode, .. } => Some(*inode),
        Repair::CountXattrs(inode) | Repair::KeepChunks(inode) => Some(*inode),
        Repair::Server(_) => None,
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The parts of transactions that other servers coordinate: what the coordinator could not look at.

use super::check::may_link;
use super::names::{change_names, check_replaced};
use super::permission::{WRITE, need, need_owner};
use crate::change::{Change, Step};
use crate::ns::Env;
use nyala_wire::InodeId;
use nyala_wire::meta::Caller;
use nyala_wire::meta_tx::TxPart;

/// Refuses a part that the caller may not have done. `owned`: inodes that have to be the caller's.
pub fn check(change: &mut Change, env: &Env, who: &Caller, owned: &[InodeId], part: &TxPart) -> Step<()> {
    match part {
        TxPart::PutEntry { dir, name, .. } | TxPart::RemoveEntry { dir, name, .. } => {
            change_names(change, who, *dir)?;
            check_replaced(change, env, who, owned, (*dir, name))
        }
        TxPart::PeekEntry { dir, .. } => change_names(change, who, *dir),
        TxPart::RemoveDir { inode } if owned.contains(inode) => need_owner(change, who, *inode),
        TxPart::LinkCount { inode, delta: ..=0 } if owned.contains(inode) => need_owner(change, who, *inode),
        TxPart::LinkCount { inode, delta: 1.. } => may_link(change, who, *inode),
        TxPart::SetParent { inode, .. } => {
            if owned.contains(inode) {
                need_owner(change, who, *inode)?;
            }
            need(change, who, *inode, WRITE)
        }
        // The coordinator looked at the directory that they are about.
        TxPart::MakeDir { .. }
        | TxPart::RemoveDir { .. }
        | TxPart::LinkCount { .. }
        | TxPart::RenameLock
        | TxPart::MakeFragment { .. }
        | TxPart::RemoveFragment { .. }
        | TxPart::GiveEntries { .. }
        | TxPart::TakeEntries { .. }
        | TxPart::SetFragments { .. }
        | TxPart::SetAttr { .. }
        | TxPart::SetAcl { .. }
        | TxPart::SetPattern { .. } => Ok(()),
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Repairs of what a check of the file system found (`nyala fsck`): changes like any other, which lock, recall delegations and are
//! logged as those do.
//!
//! A check saw several servers at different moments, so each repair looks first whether what it says is still so, and refuses with
//! ESTALE otherwise. No repair takes away data that something refers to.

mod fragments;
mod inodes;
mod names;
mod rows;
mod so;

use crate::change::{Change, Step};
use nyala_wire::Time;
use nyala_wire::meta::{MetaReply, Repair, ServerRepair};

/// Does one repair.
pub fn run(change: &mut Change, now: Time, repair: &Repair) -> Step<MetaReply> {
    match repair {
        Repair::RemoveName { dir, cookie, inode } => names::remove(change, now, *dir, *cookie, *inode),
        Repair::RemoveNames(dir) => names::remove_all(change, *dir),
        Repair::SetNameKind { dir, cookie, inode, kind } => names::set_kind(change, (*dir, *cookie), *inode, *kind),
        Repair::PlaceName { dir, cookie, inode } => names::rehash(change, *dir, *cookie, *inode),
        Repair::AddName { dir, name, inode, kind } => names::add(change, now, (*dir, name), *inode, *kind),
        Repair::CountNames(dir) => names::count(change, *dir),
        Repair::SetLinks { inode, from, to } => inodes::set_links(change, now, *inode, (*from, *to)),
        Repair::SetParent { dir, from, to } => inodes::set_parent(change, now, *dir, (*from, *to)),
        Repair::RemoveInode(inode) => inodes::remove(change, *inode),
        Repair::Fragment(repair) => fragments::run(change, now, repair),
        Repair::CountXattrs(inode) => inodes::count_xattrs(change, *inode),
        Repair::RemoveContent(inode) => rows::remove_content(change, *inode),
        Repair::CloseStray { inode, session } => rows::close(change, *inode, *session),
        Repair::SettleLocks { inode, session } => rows::settle_locks(change, *inode, *session),
        Repair::KeepChunks(inode) => rows::keep_chunks(change, *inode),
        Repair::Server(ServerRepair::RemoveReplies { session }) => rows::remove_replies(change, *session),
        Repair::Server(ServerRepair::RaiseSequence { slot, to }) => rows::raise_sequence(change, *slot, *to),
        Repair::Server(ServerRepair::SetCount { from, to }) => rows::set_count(change, *from, *to),
        Repair::Server(ServerRepair::SetAside { key }) => rows::set_aside(change, now, key),
    }?;
    Ok(MetaReply::Done)
}

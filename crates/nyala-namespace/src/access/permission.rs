// SPDX-License-Identifier: Apache-2.0

//! Permission bits and access control lists, for one user or for anybody of several.

use crate::acl::{ACCESS, Acl, Class};
use crate::change::{Change, Step};
use crate::ns::xattr_rows;
use nyala_wire::meta::Caller;
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::{ErrorCode, InodeId};

/// To read it, or list it.
pub const READ: u16 = 4;
/// To write it, or change its names.
pub const WRITE: u16 = 2;
/// To search it, or execute it.
pub const EXECUTE: u16 = 1;

/// EACCES unless the caller may do all of that.
pub fn need(change: &mut Change, who: &Caller, inode: InodeId, wanted: u16) -> Step<()> {
    match may(change, who, inode, wanted)? {
        true => Ok(()),
        false => Err(ErrorCode::ACCESS.into()),
    }
}

/// EACCES unless the caller may do one of these, or is the owner.
pub fn need_any(change: &mut Change, who: &Caller, inode: InodeId, wanted: &[u16]) -> Step<()> {
    if owns(change, who, inode)? {
        return Ok(());
    }
    for one in wanted {
        if may(change, who, inode, *one)? {
            return Ok(());
        }
    }
    Err(ErrorCode::ACCESS.into())
}

/// To change a file's content.
pub fn write_file(change: &mut Change, who: &Caller, inode: InodeId) -> Step<()> {
    need_any(change, who, inode, &[WRITE])
}

/// EPERM unless the caller is the owner.
pub fn need_owner(change: &mut Change, who: &Caller, inode: InodeId) -> Step<()> {
    match owns(change, who, inode)? {
        true => Ok(()),
        false => Err(ErrorCode::NOT_PERMITTED.into()),
    }
}

/// EPERM unless the caller is root.
pub fn need_root(who: &Caller) -> Step<()> {
    match who.is_user(0) {
        true => Ok(()),
        false => Err(ErrorCode::NOT_PERMITTED.into()),
    }
}

/// Whether the caller is the owner, or root.
pub fn owns(change: &mut Change, who: &Caller, inode: InodeId) -> Step<bool> {
    let owner = change.inode(inode)?.uid;
    Ok(who.is_user(owner) || who.is_user(0))
}

/// Whether the caller may do all of that.
pub fn may(change: &mut Change, who: &Caller, inode: InodeId, wanted: u16) -> Step<bool> {
    if who.is_user(0) {
        return Ok(true);
    }
    let record = change.inode(inode)?;
    let (perm, uid, gid, listed) = (record.perm, record.uid, record.gid, record.xattr_bytes.is_some());
    let stored = if listed { xattr_rows::find(change, inode, ACCESS)? } else { None };
    let damaged = |_| ErrorCode::IO.with("an access control list cannot be read");
    let list = match stored {
        Some(value) => Acl::parse(&value).map_err(damaged)?,
        None => None,
    };
    Ok(allows(who, &list.unwrap_or_else(|| Acl::of_perm(perm)), (uid, gid), wanted))
}

/// What the caller may do with a file's chunks, if it may use the file at all. Who may write it reads it, as with inline content: a write
/// of a part of a page or block begins with a read.
pub fn storage_rights(change: &mut Change, who: &Caller, inode: InodeId) -> Step<StorageRights> {
    let writes = owns(change, who, inode)? || may(change, who, inode, WRITE)?;
    Ok(if writes { StorageRights::Write } else { StorageRights::Read })
}

/// What a list says. Of one user the first class counts that it is in; of several, each class that somebody may be in.
pub fn allows(who: &Caller, list: &Acl, (uid, gid): (u32, u32), wanted: u16) -> bool {
    let several = who.anybody.is_some();
    let (mut groups, mut granted) = (false, false);
    for (class, perm) in list.effective() {
        let (member, group) = match class {
            Class::Owner => (who.is_user(uid), false),
            Class::User(id) => (who.is_user(id), false),
            Class::OwningGroup => (who.is_in(gid), true),
            Class::Group(id) => (who.is_in(id), true),
            Class::Others => (several || !groups, false),
        };
        let fits = member && perm & wanted == wanted;
        if !several && member && !group {
            return if class == Class::Others { fits } else { granted || fits };
        }
        groups |= member && group;
        granted |= fits;
        // Of several groups of one user it is enough that one has it all.
        if several && granted {
            return true;
        }
    }
    granted
}

#[cfg(test)]
mod tests;

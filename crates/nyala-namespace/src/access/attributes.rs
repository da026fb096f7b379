// SPDX-License-Identifier: Apache-2.0

//! Attributes and extended attributes: who may see and set them.

use super::permission::{EXECUTE, READ, WRITE, need_any, need_owner, need_root, write_file};
use crate::acl::{ACCESS, DEFAULT};
use crate::change::{Change, Fault, Step};
use nyala_wire::meta::{Caller, SetAttr, SetTime};
use nyala_wire::{ErrorCode, InodeId};

pub fn moves_no_data() -> Fault {
    ErrorCode::UNAUTHORIZED.with("clients whose key has a rule about users move no data").into()
}

/// Owners change permission bits, the group to one of theirs, and times; a size and the present moment, who may write; the time of the last
/// access, who may read; the owner, root.
pub fn set_attr(change: &mut Change, who: &Caller, inode: InodeId, set: &SetAttr) -> Step<()> {
    if set.emptied.is_some() {
        return Err(moves_no_data());
    }
    let record = change.inode(inode)?;
    let (uid, gid) = (record.uid, record.gid);
    if set.uid.is_some_and(|to| to != uid) {
        need_root(who)?;
    }
    if let Some(to) = set.gid.filter(|to| *to != gid) {
        need_owner(change, who, inode)?;
        if !who.is_in(to) {
            need_root(who)?;
        }
    }
    if let Some(perm) = set.perm {
        need_owner(change, who, inode)?;
        // Where the bit would give somebody a group that the caller is not in.
        if perm & 0o2000 != 0 && !who.is_in(set.gid.unwrap_or(gid)) {
            need_root(who)?;
        }
    }
    if matches!(set.mtime, Some(SetTime::At(_))) || set.uid.is_some() || set.gid.is_some() {
        need_owner(change, who, inode)?;
    }
    if set.size.is_some() || set.mtime == Some(SetTime::Now) || set.kill_suidgid || set.ctime.is_some() {
        write_file(change, who, inode)?;
    }
    if set.atime.is_some() && set.mtime.is_none() {
        need_any(change, who, inode, &[READ, WRITE, EXECUTE])?;
    }
    Ok(())
}

/// `user.` attributes are content; lists and `security.` ones everybody sees, as with stat; `trusted.` ones root.
pub fn read_xattr(change: &mut Change, who: &Caller, inode: InodeId, name: &[u8]) -> Step<()> {
    if name.starts_with(b"user.") {
        need_any(change, who, inode, &[READ])
    } else if name.starts_with(b"trusted.") {
        need_root(who)
    } else {
        Ok(())
    }
}

/// Lists are the owner's, `user.` attributes whose the content is, all others root's.
pub fn write_xattr(change: &mut Change, who: &Caller, inode: InodeId, name: &[u8]) -> Step<()> {
    if name == ACCESS || name == DEFAULT {
        need_owner(change, who, inode)
    } else if name.starts_with(b"user.") {
        write_file(change, who, inode)
    } else {
        need_root(who)
    }
}

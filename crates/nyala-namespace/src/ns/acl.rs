// SPDX-License-Identifier: Apache-2.0

//! Access control lists in the tables: kept as extended attributes, in step with the permission bits. The lists
//! themselves are `crate::acl`'s.

use super::xattr_rows;
use crate::acl::{self, ACCESS, Acl, DEFAULT, Inherited};
use crate::change::{Change, Step};
use minicbor::bytes::ByteVec;
use nyala_wire::meta::{MetaReply, NewEntry};
use nyala_wire::{ErrorCode, FileKind, InodeId, Time};

/// Whether an extended attribute is a list.
pub fn is_one(name: &[u8]) -> bool {
    name == ACCESS || name == DEFAULT
}

/// Sets or, with a list of nothing, removes a list. An access list sets the permission bits too. A default list is for
/// directories: EACCES elsewhere. `kill_sgid`: with an access list the setgid bit goes, as with a chmod by the same user.
pub fn set(
    change: &mut Change,
    now: Time,
    inode: InodeId,
    (name, value): (&[u8], &[u8]),
    kill_sgid: bool,
) -> Step<MetaReply> {
    let Some(acl) = Acl::parse(value)? else { return remove(change, now, inode, name) };
    let record = change.inode_mut(inode)?;
    match record.kind {
        FileKind::Symlink => return Err(ErrorCode::NOT_SUPPORTED.into()),
        FileKind::Directory => {}
        _ if name == DEFAULT => return Err(ErrorCode::ACCESS.into()),
        _ => {}
    }
    record.stamp(now);
    if name == ACCESS {
        let kept = if kill_sgid { 0o5000 } else { 0o7000 };
        record.perm = record.perm & kept | acl.perm();
    }
    if name == ACCESS && acl.is_minimal() {
        xattr_rows::erase(change, inode, name)?;
    } else {
        xattr_rows::store(change, inode, name, acl.to_bytes())?;
    }
    Ok(MetaReply::Done)
}

/// Removes a list; fine if there is none. The permission bits stay.
pub fn remove(change: &mut Change, now: Time, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    if xattr_rows::erase(change, inode, name)? {
        change.inode_mut(inode)?.stamp(now);
    }
    Ok(MetaReply::Done)
}

/// Sets the permission bits, and the access list with them.
pub fn chmod(change: &mut Change, inode: InodeId, perm: u16) -> Step<()> {
    let record = change.inode_mut(inode)?;
    record.perm = perm & 0o7777;
    if let Some(acl) = stored(change, inode, ACCESS)? {
        xattr_rows::store(change, inode, ACCESS, acl.with_perm(perm).to_bytes())?;
    }
    Ok(())
}

/// A directory's default list.
pub fn default_list(change: &mut Change, dir: InodeId) -> Step<Option<ByteVec>> {
    Ok(xattr_rows::find(change, dir, DEFAULT)?.map(ByteVec::from))
}

/// What a new entry gets: by its directory's default list, or by the umask if there is none.
pub fn inherit(change: &mut Change, entry: &NewEntry, is_dir: bool) -> Step<Inherited> {
    Ok(match stored(change, entry.parent, DEFAULT)? {
        Some(default) => acl::inherit(&default, entry.perm & 0o7777, is_dir),
        None => Inherited { perm: entry.perm & 0o7777 & !(entry.umask & 0o777), ..Inherited::default() },
    })
}

/// Gives a new inode its lists.
pub fn give(change: &mut Change, inode: InodeId, access: Option<&[u8]>, default: Option<&[u8]>) -> Step<()> {
    for (name, list) in [(ACCESS, access), (DEFAULT, default)] {
        if let Some(list) = list {
            xattr_rows::store(change, inode, name, list.to_vec())?;
        }
    }
    Ok(())
}

fn stored(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<Option<Acl>> {
    let Some(value) = xattr_rows::find(change, inode, name)? else { return Ok(None) };
    let damaged = |_| ErrorCode::IO.with("an access control list cannot be read");
    Ok(Acl::parse(&value).map_err(damaged)?)
}

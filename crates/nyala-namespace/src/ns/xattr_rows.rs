// SPDX-License-Identifier: Apache-2.0

//! The rows of extended attributes, and what the inode's record says about them.

use crate::change::{Change, Step};
use crate::keys;
use nyala_wire::{ErrorCode, InodeId};

/// Most bytes of all names of an inode together (Linux `XATTR_LIST_MAX`).
pub const MAX_LIST_BYTES: usize = 65_536;

/// What a name takes of [`MAX_LIST_BYTES`]: it is listed with a NUL behind it.
pub fn taken(name: &[u8]) -> u32 {
    name.len() as u32 + 1
}

/// The value of an attribute, if it is there.
pub fn find(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<Option<Vec<u8>>> {
    // The kernel asks for attributes that hardly any file has; the inode knows that it has none.
    match change.inode(inode)?.xattr_bytes {
        Some(_) => change.get(&keys::xattr(inode, name)),
        None => Ok(None),
    }
}

/// Puts a value in place, and counts its name if it is new. ENOSPC if the names would take too much.
pub fn store(change: &mut Change, inode: InodeId, name: &[u8], value: Vec<u8>) -> Step<()> {
    let exists = find(change, inode, name)?.is_some();
    let record = change.inode_mut(inode)?;
    let bytes = record.xattr_bytes.unwrap_or(0);
    let grown = if exists { bytes } else { bytes.saturating_add(taken(name)) };
    if grown as usize > MAX_LIST_BYTES {
        return Err(ErrorCode::NO_SPACE.into());
    }
    record.xattr_bytes = Some(grown);
    change.put(keys::xattr(inode, name), value);
    Ok(())
}

/// Takes a value away; whether it was there.
pub fn erase(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<bool> {
    if find(change, inode, name)?.is_none() {
        return Ok(false);
    }
    change.delete(keys::xattr(inode, name));
    let record = change.inode_mut(inode)?;
    let left = record.xattr_bytes.unwrap_or(0).saturating_sub(taken(name));
    record.xattr_bytes = Some(left).filter(|bytes| *bytes > 0);
    Ok(true)
}

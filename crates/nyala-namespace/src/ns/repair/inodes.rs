// SPDX-License-Identifier: Apache-2.0

//! Repairs of inodes.

use super::so::check;
use crate::change::{Change, Step};
use crate::keys;
use crate::ns::inodes::destroy;
use crate::ns::xattr_rows::taken;
use nyala_wire::{ErrorCode, FileKind, InodeId, Time};
use std::ops::ControlFlow;

/// Bytes of a tag and an inode, in front of the name in an attribute's key.
const XATTR_KEY_BYTES: usize = 9;

/// Sets the number of links.
pub fn set_links(change: &mut Change, now: Time, inode: InodeId, (from, to): (u32, u32)) -> Step<()> {
    let record = change.inode_mut(inode)?;
    check(record.kind != FileKind::Directory && record.nlink == from && to > 0 && to != from)?;
    record.nlink = to;
    if let Some(file) = &mut record.file {
        file.unnamed = None;
    }
    record.stamp(now);
    Ok(())
}

/// Sets the directory above.
pub fn set_parent(change: &mut Change, now: Time, dir: InodeId, (from, to): (InodeId, InodeId)) -> Step<()> {
    let record = change.inode_mut(dir)?;
    let part = record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
    check(part.parent == from && from != to)?;
    part.parent = to;
    record.stamp(now);
    Ok(())
}

/// Removes what has no link and is not open.
pub fn remove(change: &mut Change, inode: InodeId) -> Step<()> {
    let record = change.inode(inode)?;
    check(record.nlink == 0 && record.kind != FileKind::Directory)?;
    check(!change.is_open(inode)?)?;
    destroy(change, inode)
}

/// Counts extended attributes.
pub fn count_xattrs(change: &mut Change, inode: InodeId) -> Step<()> {
    let before = change.inode(inode)?.xattr_bytes;
    let (prefix, mut bytes) = (keys::xattr(inode, b""), 0);
    change.view().scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        bytes += taken(key.get(XATTR_KEY_BYTES..).unwrap_or_default());
        ControlFlow::Continue(())
    })?;
    let now = Some(bytes).filter(|bytes| *bytes > 0);
    check(before != now)?;
    change.inode_mut(inode)?.xattr_bytes = now;
    Ok(())
}

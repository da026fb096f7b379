// SPDX-License-Identifier: Apache-2.0

//! Extended attributes.

use crate::change::{Change, Step};
use crate::keys;
use minicbor::bytes::ByteVec;
use nyala_wire::meta::{MAX_XATTR_BYTES, MetaReply};
use nyala_wire::{ErrorCode, InodeId, Time};

/// Longest name (Linux `XATTR_NAME_MAX`).
const MAX_NAME_BYTES: usize = 255;
/// Most bytes of all names of an inode together (Linux `XATTR_LIST_MAX`).
const MAX_LIST_BYTES: usize = 65_536;
/// Most attributes that can be within [`MAX_LIST_BYTES`].
const MAX_COUNT: usize = MAX_LIST_BYTES / 2;

fn check_name(name: &[u8]) -> Step<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(&0) {
        return Err(ErrorCode::RANGE.into());
    }
    Ok(())
}

/// What a name takes of [`MAX_LIST_BYTES`]: it is listed with a NUL behind it.
fn taken(name: &[u8]) -> u32 {
    name.len() as u32 + 1
}

/// The value of an attribute.
pub fn get(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    // The kernel asks for attributes that hardly any file has; the inode knows that it has none.
    change.inode(inode)?.xattr_bytes.ok_or(ErrorCode::NO_DATA)?;
    let value = change.get(&keys::xattr(inode, name))?.ok_or(ErrorCode::NO_DATA)?;
    Ok(MetaReply::Bytes(value.into()))
}

/// The names of all attributes.
pub fn list(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    if change.inode(inode)?.xattr_bytes.is_none() {
        return Ok(MetaReply::Names(Vec::new()));
    }
    let prefix = keys::xattr(inode, b"");
    let rows = change.list(&prefix, MAX_COUNT)?;
    Ok(MetaReply::Names(rows.into_iter().map(|(key, _)| ByteVec::from(key[prefix.len()..].to_vec())).collect()))
}

/// Sets an attribute.
pub fn set(
    change: &mut Change,
    now: Time,
    inode: InodeId,
    name: &[u8],
    value: &[u8],
    create: bool,
    replace: bool,
) -> Step<MetaReply> {
    check_name(name)?;
    if value.len() > MAX_XATTR_BYTES {
        return Err(ErrorCode::TOO_BIG.into());
    }
    let bytes = change.inode(inode)?.xattr_bytes.unwrap_or(0);
    let key = keys::xattr(inode, name);
    let exists = bytes > 0 && change.get(&key)?.is_some();
    if exists && create {
        return Err(ErrorCode::EXISTS.into());
    }
    if !exists && replace {
        return Err(ErrorCode::NO_DATA.into());
    }
    let grown = if exists { bytes } else { bytes.saturating_add(taken(name)) };
    if grown as usize > MAX_LIST_BYTES {
        return Err(ErrorCode::NO_SPACE.into());
    }
    change.put(key, value.to_vec());
    let record = change.inode_mut(inode)?;
    record.xattr_bytes = Some(grown);
    record.ctime = now;
    Ok(MetaReply::Done)
}

/// Removes an attribute.
pub fn remove(change: &mut Change, now: Time, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    let bytes = change.inode(inode)?.xattr_bytes.ok_or(ErrorCode::NO_DATA)?;
    let key = keys::xattr(inode, name);
    change.get(&key)?.ok_or(ErrorCode::NO_DATA)?;
    change.delete(key);
    let record = change.inode_mut(inode)?;
    record.xattr_bytes = Some(bytes.saturating_sub(taken(name))).filter(|bytes| *bytes > 0);
    record.ctime = now;
    Ok(MetaReply::Done)
}

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

/// The value of an attribute.
pub fn get(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    change.inode(inode)?;
    let value = change.get(&keys::xattr(inode, name))?.ok_or(ErrorCode::NO_DATA)?;
    Ok(MetaReply::Bytes(value.into()))
}

/// The names of all attributes.
pub fn list(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    change.inode(inode)?;
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
    change.inode(inode)?;
    let key = keys::xattr(inode, name);
    let exists = change.get(&key)?.is_some();
    if exists && create {
        return Err(ErrorCode::EXISTS.into());
    }
    if !exists && replace {
        return Err(ErrorCode::NO_DATA.into());
    }
    if !exists {
        let prefix = keys::xattr(inode, b"").len();
        let names = change.list(&keys::xattr(inode, b""), MAX_COUNT)?;
        let bytes: usize = names.iter().map(|(key, _)| key.len() - prefix + 1).sum();
        if bytes + name.len() + 1 > MAX_LIST_BYTES {
            return Err(ErrorCode::NO_SPACE.into());
        }
    }
    change.put(key, value.to_vec());
    change.inode_mut(inode)?.ctime = now;
    Ok(MetaReply::Done)
}

/// Removes an attribute.
pub fn remove(change: &mut Change, now: Time, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    change.inode(inode)?;
    let key = keys::xattr(inode, name);
    change.get(&key)?.ok_or(ErrorCode::NO_DATA)?;
    change.delete(key);
    change.inode_mut(inode)?.ctime = now;
    Ok(MetaReply::Done)
}

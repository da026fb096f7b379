// SPDX-License-Identifier: Apache-2.0

//! Extended attributes, in the name spaces and with the limits that XFS has on Linux. Who may use which, and on what kind of
//! file, the kernel checks.

use super::acl;
use super::xattr_rows::{MAX_LIST_BYTES, erase, find, store, taken};
use crate::change::{Change, Step};
use crate::damage::lost;
use crate::keys;
use minicbor::bytes::ByteVec;
use nyala_wire::meta::{MAX_XATTR_BYTES, MetaReply};
use nyala_wire::{ErrorCode, InodeId, Time};

/// What the kernel gives an executable file more rights with; gone when its owner or content changes.
pub const CAPABILITY: &[u8] = b"security.capability";
/// Name spaces in which any name can be.
const SPACES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
/// Longest name (Linux `XATTR_NAME_MAX`).
const MAX_NAME_BYTES: usize = 255;
/// Most attributes that can be within [`MAX_LIST_BYTES`].
const MAX_COUNT: usize = MAX_LIST_BYTES / 2;

fn check_name(name: &[u8]) -> Step<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(&0) {
        return Err(ErrorCode::RANGE.into());
    }
    match SPACES.iter().find_map(|space| name.strip_prefix(*space)) {
        Some([]) => Err(ErrorCode::INVALID.into()),
        None if !acl::is_one(name) => Err(ErrorCode::NOT_SUPPORTED.into()),
        _ => Ok(()),
    }
}

/// The value of an attribute.
pub fn get(change: &mut Change, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    let value = find(change, inode, name)?.ok_or(ErrorCode::NO_DATA)?;
    Ok(MetaReply::Bytes(value.into()))
}

/// The names of all attributes.
pub fn list(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    let Some(bytes) = change.inode(inode)?.xattr_bytes else { return Ok(MetaReply::Names(Vec::new())) };
    let prefix = keys::xattr(inode, b"");
    let rows = change.list(&prefix, MAX_COUNT)?;
    let names: Vec<ByteVec> = rows.into_iter().map(|(key, _)| key[prefix.len()..].to_vec().into()).collect();
    if names.iter().map(|name| taken(name)).sum::<u32>() != bytes {
        return Err(lost(inode, "some of its extended attributes are not there").into());
    }
    Ok(MetaReply::Names(names))
}

/// How an attribute is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// EEXIST if it is there.
    pub create: bool,
    /// ENODATA if it is not.
    pub replace: bool,
    /// An access list takes the setgid bit away.
    pub kill_sgid: bool,
}

impl How {
    /// As a request says it.
    pub fn of(create: bool, replace: bool, kill_sgid: bool) -> How {
        How { create, replace, kill_sgid }
    }
}

/// Sets an attribute.
pub fn set(change: &mut Change, now: Time, inode: InodeId, (name, value): (&[u8], &[u8]), how: How) -> Step<MetaReply> {
    check_name(name)?;
    if value.len() > MAX_XATTR_BYTES {
        return Err(ErrorCode::TOO_BIG.into());
    }
    if acl::is_one(name) {
        return acl::set(change, now, inode, (name, value), how.kill_sgid);
    }
    let exists = find(change, inode, name)?.is_some();
    if exists && how.create {
        return Err(ErrorCode::EXISTS.into());
    }
    if !exists && how.replace {
        return Err(ErrorCode::NO_DATA.into());
    }
    store(change, inode, name, value.to_vec())?;
    change.inode_mut(inode)?.stamp(now);
    Ok(MetaReply::Done)
}

/// Removes an attribute.
pub fn remove(change: &mut Change, now: Time, inode: InodeId, name: &[u8]) -> Step<MetaReply> {
    check_name(name)?;
    if acl::is_one(name) {
        return acl::remove(change, now, inode, name);
    }
    if !erase(change, inode, name)? {
        return Err(ErrorCode::NO_DATA.into());
    }
    change.inode_mut(inode)?.stamp(now);
    Ok(MetaReply::Done)
}

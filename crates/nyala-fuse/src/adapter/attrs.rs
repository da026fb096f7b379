// SPDX-License-Identifier: Apache-2.0

//! Attributes of inodes, and of the file system.

use super::callers;
use super::convert::{self, errno, inode};
use super::fs::NyalaFs;
use crate::Ino;
use crate::types::{self, Attributes, Context, Result, StatFs};
use nyala_wire::meta::SetAttr;
use nyala_wire::{Attr, ErrorCode, FileKind};
use std::time::Duration;

/// Attributes, and how long the kernel may keep them. A directory that is gone from the servers, and that somebody here
/// has open or is in, still has its last ones.
pub async fn get(fs: &NyalaFs, what: &'static str, ino: Ino) -> Result<(Attr, Duration)> {
    match fs.client.getattr(inode(ino)).await {
        Ok(attr) => {
            fs.cache.dirs.seen(&attr);
            Ok((attr, fs.attr_ttl(fs.is_delegated(inode(ino)))))
        }
        Err(error) => {
            let gone = error.is(ErrorCode::STALE) || error.is(ErrorCode::NOT_FOUND);
            let last = if gone { fs.cache.dirs.last(ino) } else { None };
            last.map(|attr| (attr, Duration::ZERO)).ok_or_else(|| errno(what, ino, error))
        }
    }
}

/// Changes attributes. The kernel takes the answer's attributes without comparing versions, so it may not keep them.
///
/// One that changes nothing comes from a chown without a new owner or group, or from what changes content and may not keep
/// setuid: the kernel has left out what it leaves to us.
pub async fn set(fs: &NyalaFs, ctx: &Context, ino: Ino, set: &types::SetAttr) -> Result<Attributes> {
    let mut set = convert::set_attr(set);
    set.kill_suidgid |= set == SetAttr::default();
    if set.kill_suidgid {
        let (attr, _) = get(fs, "setattr", ino).await?;
        set.outside_group = outside_group(ctx, &attr);
    }
    let sets_atime = set.atime.is_some();
    let attr = fs.client.setattr(inode(ino), set).await.map_err(|e| errno("setattr", ino, e))?;
    if sets_atime {
        fs.access_times.set(inode(ino));
    }
    fs.cache.dirs.seen(&attr);
    Ok(Attributes { attr: fs.shown(&attr), ttl: Duration::ZERO })
}

/// For whoever takes setuid bits of a file away: whether setgid without the group's right to execute goes too.
pub fn outside_group(ctx: &Context, attr: &Attr) -> Option<bool> {
    let asked = attr.perm & 0o2010 == 0o2000 && attr.kind != FileKind::Directory;
    (asked && callers::is_outside(ctx, attr.gid)).then_some(true)
}

/// Space and inodes.
pub async fn statfs(fs: &NyalaFs, ino: Ino) -> Result<StatFs> {
    const BLOCK: u32 = 4096;
    let stats = fs.client.statfs().await.map_err(|e| errno("statfs", ino, e))?;
    let free = stats.free_bytes / u64::from(BLOCK);
    Ok(StatFs {
        block_bytes: BLOCK,
        blocks: stats.total_bytes / u64::from(BLOCK),
        blocks_free: free,
        blocks_available: free,
        files: stats.total_inodes,
        files_free: stats.free_inodes,
        name_max: nyala_wire::Name::MAX_BYTES as u32,
    })
}

// SPDX-License-Identifier: Apache-2.0

//! Attributes of inodes, and of the file system.

use super::convert::{self, errno, inode};
use super::fs::NyalaFs;
use crate::Ino;
use crate::types::{self, Attributes, Result, StatFs};
use nyala_wire::{Attr, ErrorCode};
use std::time::Duration;

/// Attributes, and how long the kernel may keep them. A directory that is gone from the servers, and that somebody here
/// has open or is in, still has its last ones.
pub async fn get(fs: &NyalaFs, what: &'static str, ino: Ino) -> Result<(Attr, Duration)> {
    match fs.client.getattr(inode(ino)).await {
        Ok(attr) => {
            fs.cache.dirs.seen(&attr);
            Ok((attr, fs.attr_ttl(fs.is_leased(inode(ino)))))
        }
        Err(error) => {
            let gone = error.is(ErrorCode::STALE) || error.is(ErrorCode::NOT_FOUND);
            let last = if gone { fs.cache.dirs.last(ino) } else { None };
            last.map(|attr| (attr, Duration::ZERO)).ok_or_else(|| errno(what, ino, error))
        }
    }
}

/// Changes attributes. The kernel takes the answer's attributes without comparing versions, so it may not keep them.
pub async fn set(fs: &NyalaFs, ino: Ino, set: &types::SetAttr) -> Result<Attributes> {
    let set = convert::set_attr(set);
    let attr = fs.client.setattr(inode(ino), set).await.map_err(|e| errno("setattr", ino, e))?;
    fs.cache.dirs.seen(&attr);
    Ok(Attributes { attr: convert::attr(&attr), ttl: Duration::ZERO })
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

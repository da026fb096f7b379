// SPDX-License-Identifier: Apache-2.0

//! Hard links.

use super::create::entry_reply;
use super::env::Env;
use super::inodes::touch_dir;
use crate::change::{Change, Fault, Step};
use crate::tx::Plan;
use nyala_wire::meta::MetaReply;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, Time};

/// Most links of an inode.
pub const MAX_LINKS: u32 = i32::MAX as u32;

/// Makes another name for an inode that is not a directory.
pub fn run(change: &mut Change, env: &Env, inode: InodeId, parent: InodeId, name: &Name) -> Step<MetaReply> {
    change.dir(parent)?;
    if change.find_entry(parent, name)?.is_some() {
        return Err(ErrorCode::EXISTS.into());
    }
    if !env.is_here(inode) {
        return Err(Fault::Elsewhere(Box::new(Plan::Link { inode, parent, name: name.clone() })));
    }
    let kind = check(change, inode)?;
    add_link(change, inode, env.now)?;
    change.add_entry(parent, name, inode, kind)?;
    touch_dir(change, parent, env.now)?;
    entry_reply(change, inode)
}

/// Checks that an inode can get another link.
pub fn check(change: &mut Change, inode: InodeId) -> Step<FileKind> {
    let record = change.find_inode(inode)?.ok_or(ErrorCode::NOT_FOUND)?;
    if record.kind == FileKind::Directory {
        return Err(ErrorCode::NOT_PERMITTED.into());
    }
    let unnamed = record.file.as_ref().is_some_and(|file| file.unnamed == Some(true));
    if record.nlink == 0 && !unnamed {
        return Err(ErrorCode::NOT_FOUND.into());
    }
    if record.nlink >= MAX_LINKS {
        return Err(ErrorCode::TOO_MANY_LINKS.into());
    }
    Ok(record.kind)
}

/// Counts one more link.
pub fn add_link(change: &mut Change, inode: InodeId, now: Time) -> Step<()> {
    let record = change.inode_mut(inode)?;
    record.nlink += 1;
    if let Some(file) = &mut record.file {
        file.unnamed = None;
    }
    record.stamp(now);
    Ok(())
}

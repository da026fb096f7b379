// SPDX-License-Identifier: Apache-2.0

//! Removing names: unlink and rmdir.

use super::env::Env;
use super::inodes::{destroy, drop_link, touch_dir};
use crate::change::{Change, Fault, Step};
use crate::damage::lost;
use crate::tx::Plan;
use crate::{keys, listings};
use nyala_wire::meta::MetaReply;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name};

/// Removes a name that is not a directory's.
pub fn unlink(change: &mut Change, env: &Env, parent: InodeId, name: &Name) -> Step<MetaReply> {
    change.dir(parent)?;
    let (cookie, entry) = change.find_entry(parent, name)?.ok_or(ErrorCode::NOT_FOUND)?;
    if entry.kind == FileKind::Directory {
        return Err(ErrorCode::IS_A_DIRECTORY.into());
    }
    if !env.is_here(entry.inode) {
        return Err(elsewhere(parent, name, entry.inode, entry.kind));
    }
    change.remove_entry(parent, cookie, &entry)?;
    touch_dir(change, parent, env.now)?;
    drop_link(change, entry.inode, env.now)?;
    Ok(MetaReply::Done)
}

/// Removes an empty directory.
pub fn rmdir(change: &mut Change, env: &Env, parent: InodeId, name: &Name) -> Step<MetaReply> {
    change.dir(parent)?;
    let (cookie, entry) = change.find_entry(parent, name)?.ok_or(ErrorCode::NOT_FOUND)?;
    if entry.kind != FileKind::Directory {
        return Err(ErrorCode::NOT_A_DIRECTORY.into());
    }
    if !env.is_here(entry.inode) {
        return Err(elsewhere(parent, name, entry.inode, entry.kind));
    }
    remove_empty(change, entry.inode)?;
    change.remove_entry(parent, cookie, &entry)?;
    touch_dir(change, parent, env.now)?;
    Ok(MetaReply::Done)
}

/// Checks that a directory may go: it is empty, and no transaction is putting something into it.
pub fn check_empty(change: &mut Change, dir: InodeId) -> Step<()> {
    if change.is_pinned(dir) {
        return Err(Fault::Blocked);
    }
    let (_, part) = change.dir(dir)?;
    if part.fragments.is_some() {
        return Err(ErrorCode::IS_SPLIT.into());
    }
    if part.entries > 0 {
        return Err(ErrorCode::NOT_EMPTY.into());
    }
    match listings::count(change, dir)? {
        0 => Ok(()),
        there => Err(lost(dir, &format!("it counts no names and {there} are there")).into()),
    }
}

/// Removes an empty directory's inode, with what is left of entries that held places.
pub fn remove_empty(change: &mut Change, dir: InodeId) -> Step<()> {
    check_empty(change, dir)?;
    change.delete_all(&keys::entries_prefix(dir))?;
    destroy(change, dir)
}

fn elsewhere(parent: InodeId, name: &Name, inode: InodeId, kind: FileKind) -> Fault {
    Fault::Elsewhere(Box::new(Plan::Remove { parent, name: name.clone(), inode, kind }))
}

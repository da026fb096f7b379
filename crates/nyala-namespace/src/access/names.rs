// SPDX-License-Identifier: Apache-2.0

//! Names in directories: who may add and remove them. In a directory with the sticky bit only owners remove names: of the name's inode, or of the
//! directory.

use super::permission::{EXECUTE, WRITE, need, need_owner, owns};
use crate::change::{Change, Step};
use crate::ns::Env;
use nyala_wire::meta::{Caller, MetaOp, Rename};
use nyala_wire::{ErrorCode, FileKind, InodeId, Name};

const STICKY: u16 = 0o1000;

/// To add names to a directory, or remove them.
pub fn change_names(change: &mut Change, who: &Caller, dir: InodeId) -> Step<()> {
    need(change, who, dir, WRITE | EXECUTE)
}

/// Whether names in a directory are only their owners' to remove, and the caller is not the directory's.
pub fn is_kept(change: &mut Change, who: &Caller, dir: InodeId) -> Step<bool> {
    Ok(change.inode(dir)?.perm & STICKY != 0 && !owns(change, who, dir)?)
}

/// EPERM if the name is not the caller's to remove, as far as its inode is here.
pub fn check_entry(change: &mut Change, env: &Env, who: &Caller, dir: InodeId, name: &Name) -> Step<()> {
    match kept_entry(change, who, dir, name)? {
        Some(inode) if env.is_here(inode) => need_owner(change, who, inode),
        _ => Ok(()),
    }
}

/// The inode of a name that has to be the caller's.
fn kept_entry(change: &mut Change, who: &Caller, dir: InodeId, name: &Name) -> Step<Option<InodeId>> {
    match is_kept(change, who, dir)? {
        true => Ok(change.find_entry(dir, name)?.map(|(_, entry)| entry.inode)),
        false => Ok(None),
    }
}

/// Both directories change. A directory that goes to another one is written itself, since it says which one it is in.
pub fn check_rename(change: &mut Change, env: &Env, who: &Caller, rename: &Rename) -> Step<()> {
    let ends = [(rename.from_parent, &rename.from_name), (rename.to_parent, &rename.to_name)];
    for (dir, name) in ends.into_iter().filter(|(dir, _)| env.is_here(*dir)) {
        change_names(change, who, dir)?;
        check_entry(change, env, who, dir, name)?;
        let moved = change.find_entry(dir, name)?.map(|(_, entry)| (entry.inode, entry.kind));
        let moves = rename.from_parent != rename.to_parent && (rename.exchange || dir == rename.from_parent);
        if let Some((inode, FileKind::Directory)) = moved
            && moves
            && env.is_here(inode)
        {
            need(change, who, inode, WRITE)?;
        }
    }
    Ok(())
}

/// The inodes of other servers that have to be the caller's, for an operation that removes names that are here.
pub fn owned_elsewhere(change: &mut Change, env: &Env, who: &Caller, op: &MetaOp) -> Step<Vec<InodeId>> {
    let names: Vec<(InodeId, &Name)> = match op {
        MetaOp::Unlink { parent, name } | MetaOp::Rmdir { parent, name } => vec![(*parent, name)],
        MetaOp::Rename(rename) => {
            vec![(rename.from_parent, &rename.from_name), (rename.to_parent, &rename.to_name)]
        }
        _ => Vec::new(),
    };
    let mut owned = Vec::new();
    for (dir, name) in names.into_iter().filter(|(dir, _)| env.is_here(*dir)) {
        owned.extend(kept_entry(change, who, dir, name)?.filter(|inode| !env.is_here(*inode)));
    }
    Ok(owned)
}

/// EPERM where a name of a directory like that is to go, and nobody knows whose its inode is. `asked`: inodes whose servers are
/// asked whether they are the caller's, in the same transaction.
pub fn check_replaced(
    change: &mut Change,
    env: &Env,
    who: &Caller,
    asked: &[InodeId],
    (dir, name): (InodeId, &Name),
) -> Step<()> {
    match kept_entry(change, who, dir, name)? {
        Some(inode) if env.is_here(inode) => need_owner(change, who, inode),
        Some(inode) if asked.contains(&inode) => Ok(()),
        Some(_) => Err(ErrorCode::NOT_PERMITTED.into()),
        None => Ok(()),
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What each operation needs. One that is not named is refused, so that a new one cannot be forgotten.

use super::attributes::{moves_no_data, read_xattr, set_attr, write_xattr};
use super::names::{change_names, check_entry, check_rename};
use super::permission::{EXECUTE, READ, WRITE, need, need_any, need_owner, need_root, owns, write_file};
use crate::change::{Change, Step};
use crate::ns::Env;
use nyala_wire::meta::{Caller, Commit, LockKind, MetaOp, PutInline, Want};
use nyala_wire::{ErrorCode, FileKind, InodeId};

/// Refuses what the caller may not do. What is elsewhere is checked there ([`super::check_part`]).
pub fn check(change: &mut Change, env: &Env, who: &Caller, op: &MetaOp) -> Step<()> {
    match op {
        op if is_free(op) => Ok(()),
        MetaOp::Lookup { parent, .. } => need(change, who, *parent, EXECUTE),
        MetaOp::ReadDir { dir, .. } => need(change, who, *dir, READ),
        MetaOp::GetXattr { inode, name } => read_xattr(change, who, *inode, name),
        MetaOp::FileInfo { inode } | MetaOp::Open { inode } => use_file(change, who, *inode),
        MetaOp::StorageGrant(inode) => use_file(change, who, *inode),
        MetaOp::Acquire { inode } => match env.want.has(Want::WRITE) {
            true => need_any(change, who, *inode, &[WRITE]),
            false => use_file(change, who, *inode),
        },
        MetaOp::GetLock { inode, .. } | MetaOp::LockConfirm { inode, .. } => use_file(change, who, *inode),
        MetaOp::SetLock { inode, lock } | MetaOp::LockWait { inode, lock } => match lock.kind {
            LockKind::Unlock => Ok(()),
            LockKind::Read | LockKind::Write => use_file(change, who, *inode),
        },
        MetaOp::Spill { inode, .. } => write_file(change, who, *inode),
        MetaOp::Commit(Commit { encoded: Some(_), .. }) => Err(moves_no_data()),
        MetaOp::Commit(commit) => {
            let writes = commit.end.is_some() || commit.mtime.is_some() || commit.spilled.is_some();
            if writes || commit.allocated.is_some() { write_file(change, who, commit.inode) } else { Ok(()) }
        }
        MetaOp::PutInline(put) => may_put(change, who, put),
        MetaOp::PutInlines { .. } => Ok(()), // each for itself: `ns::content`
        MetaOp::Create { .. }
        | MetaOp::Mkdir { .. }
        | MetaOp::Symlink { .. }
        | MetaOp::Tmpfile { .. }
        | MetaOp::Mknod { .. }
        | MetaOp::Unlink { .. }
        | MetaOp::Rmdir { .. }
        | MetaOp::Rename(_)
        | MetaOp::Link { .. } => check_names(change, env, who, op),
        MetaOp::SetAttr { inode, set } => set_attr(change, who, *inode, set),
        MetaOp::SetXattr { inode, name, .. } | MetaOp::RemoveXattr { inode, name } => {
            write_xattr(change, who, *inode, name)
        }
        MetaOp::SetPattern { dir, .. } => need_owner(change, who, *dir),
        // What has no rule here is refused.
        _ => Err(ErrorCode::UNAUTHORIZED.with("clients whose key has a rule about users may not do that").into()),
    }
}

/// What a session may always do; and what is as with stat: who reaches an inode may see it.
fn is_free(op: &MetaOp) -> bool {
    let session = matches!(
        op,
        MetaOp::SessionOpen { .. }
            | MetaOp::SessionClose
            | MetaOp::SessionAdopt(_)
            | MetaOp::Sync
            | MetaOp::StatFs
            | MetaOp::Survived { .. }
            | MetaOp::Replay(_)
            | MetaOp::DelegationPoll { .. }
            | MetaOp::DelegationReturn { .. }
            | MetaOp::LockChecked { .. }
            | MetaOp::Close { .. }
    );
    let seen = matches!(
        op,
        MetaOp::GetAttr { .. }
            | MetaOp::GetAttrs { .. }
            | MetaOp::GetParent { .. }
            | MetaOp::EntryInfo { .. }
            | MetaOp::Fragments(_)
            | MetaOp::ReadLink { .. }
            | MetaOp::ListXattr { .. }
            | MetaOp::MergeDir(_)
    );
    session || seen
}

/// The same for operations on names.
fn check_names(change: &mut Change, env: &Env, who: &Caller, op: &MetaOp) -> Step<()> {
    match op {
        MetaOp::Create { entry, exclusive } => match change.find_entry(entry.parent, &entry.name)? {
            Some((_, found)) if !exclusive && env.is_here(found.inode) => {
                need(change, who, entry.parent, EXECUTE)?;
                if found.kind == FileKind::File { use_file(change, who, found.inode) } else { Ok(()) }
            }
            Some(_) => need(change, who, entry.parent, EXECUTE),
            None => change_names(change, who, entry.parent),
        },
        MetaOp::Mkdir { entry } | MetaOp::Symlink { entry, .. } | MetaOp::Tmpfile { entry } => {
            change_names(change, who, entry.parent)
        }
        MetaOp::Mknod { entry, kind, .. } => {
            if matches!(kind, FileKind::CharDevice | FileKind::BlockDevice) {
                need_root(who)?;
            }
            change_names(change, who, entry.parent)
        }
        MetaOp::Unlink { parent, name } | MetaOp::Rmdir { parent, name } => {
            change_names(change, who, *parent)?;
            check_entry(change, env, who, *parent, name)
        }
        MetaOp::Rename(rename) => check_rename(change, env, who, rename),
        MetaOp::Link { inode, parent, .. } => {
            change_names(change, who, *parent)?;
            if env.is_here(*inode) { may_link(change, who, *inode) } else { Ok(()) }
        }
        _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
    }
}

/// Refuses new content, or attributes that come with it.
pub fn may_put(change: &mut Change, who: &Caller, put: &PutInline) -> Step<()> {
    write_file(change, who, put.inode)?;
    put.set.as_ref().map_or(Ok(()), |set| set_attr(change, who, put.inode, set))
}

/// Whether the content of a file may be given with a look-up.
pub fn may_see_content(change: &mut Change, who: &Caller, inode: InodeId) -> Step<bool> {
    match need_any(change, who, inode, &[READ, EXECUTE]) {
        Ok(()) => Ok(true),
        Err(crate::change::Fault::Refused(error)) if error.code == ErrorCode::ACCESS => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Of who may only execute a file, the kernel reads it.
fn use_file(change: &mut Change, who: &Caller, inode: InodeId) -> Step<()> {
    need_any(change, who, inode, &[READ, WRITE, EXECUTE])
}

/// To make another name: as Linux has it where hard links are protected, lest somebody keeps what others remove.
pub fn may_link(change: &mut Change, who: &Caller, inode: InodeId) -> Step<()> {
    if owns(change, who, inode)? {
        return Ok(());
    }
    match super::permission::may(change, who, inode, READ | WRITE)? {
        true => Ok(()),
        false => Err(ErrorCode::NOT_PERMITTED.into()),
    }
}

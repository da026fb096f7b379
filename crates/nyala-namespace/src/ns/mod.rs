// SPDX-License-Identifier: Apache-2.0

//! The name space: one operation per file. Pure: each takes a [`Change`] of the tables and what it needs from outside
//! ([`Env`]), and either completes the change and returns its reply, or says why not ([`crate::change::Fault`]).

pub mod acl;
pub mod adopt;
pub mod attrs;
pub mod content;
pub mod create;
pub mod deferred_unlink;
mod env;
pub mod fragments;
pub mod info;
pub mod inline;
pub mod inodes;
mod layout;
pub mod link;
pub mod list;
pub mod lock;
pub mod mkdir;
pub mod move_data;
pub mod open;
pub mod remove;
pub mod rename;
pub mod repair;
pub mod xattr;
pub mod xattr_rows;

pub use env::Env;

use crate::access;
use crate::change::{Change, Step};
use crate::keys;
use env::check_time;
use nyala_wire::ErrorCode;
use nyala_wire::meta::{MetaOp, MetaReply, SetTime};

/// Runs one operation of a client. Session operations are the service's own.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    check_times(env, op)?;
    if let Some(user) = env.user {
        access::check(change, env, user, op)?;
    }
    fragments::elsewhere_if_split(change, op)?;
    dispatch(change, env, op)
}

/// The same for the directory alone if it is split.
pub fn dispatch(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    match op {
        MetaOp::SessionOpen { .. }
        | MetaOp::SessionClose
        | MetaOp::Sync
        | MetaOp::DelegationPoll { .. }
        | MetaOp::DelegationReturn { .. }
        | MetaOp::Spill { .. }
        | MetaOp::LockWait { .. }
        | MetaOp::LockConfirm { .. }
        | MetaOp::LockChecked { .. }
        | MetaOp::Survived { .. }
        | MetaOp::MergeDir(_)
        | MetaOp::Replay(_) => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        MetaOp::Lookup { parent, name } => info::lookup(change, env, *parent, name),
        MetaOp::GetAttr { inode } => info::getattr(change, *inode),
        MetaOp::GetAttrs { inodes } => info::getattrs(change, env, inodes),
        MetaOp::ReadDir { dir, after, max_entries, plus } => list::run(change, env, *dir, *after, *max_entries, *plus),
        MetaOp::ReadLink { inode } => info::readlink(change, *inode),
        MetaOp::GetXattr { inode, name } => xattr::get(change, *inode, name),
        MetaOp::ListXattr { inode } => xattr::list(change, *inode),
        MetaOp::EntryInfo { inode } => info::entry_info(change, env, *inode),
        MetaOp::StatFs => Ok(MetaReply::StatFs { inodes: change.number(&keys::inode_count())? }),
        MetaOp::GetParent { dir } => info::parent(change, *dir),
        MetaOp::Fragments(dir) => fragments::list(change, *dir),
        MetaOp::FileInfo { inode } | MetaOp::Acquire { inode } => open::file_info(change, *inode),
        MetaOp::Create { entry, exclusive } => create::file(change, env, entry, *exclusive),
        MetaOp::Open { .. } | MetaOp::StorageGrant(_) => open::run(change, env, op),
        MetaOp::Close { inode } => open::close(change, env.session, *inode),
        MetaOp::Mkdir { entry } => mkdir::run(change, env, entry),
        MetaOp::Mknod { entry, kind, rdev, pattern } => create::node(change, env, entry, (*kind, *rdev), *pattern),
        MetaOp::Symlink { entry, target } => create::symlink(change, env, entry, target),
        MetaOp::Unlink { parent, name } => remove::unlink(change, env, *parent, name),
        MetaOp::Rmdir { parent, name } => remove::rmdir(change, env, *parent, name),
        MetaOp::Rename(rename) => rename::run(change, env, rename),
        MetaOp::Link { inode, parent, name } => link::run(change, env, *inode, *parent, name),
        MetaOp::SetAttr { inode, set } => move_data::set_attr(change, env, *inode, set),
        MetaOp::SetXattr { inode, name, value, create, replace, kill_sgid } => {
            xattr::set(change, env.now, *inode, (name, value), xattr::How::of(*create, *replace, *kill_sgid))
        }
        MetaOp::RemoveXattr { inode, name } => xattr::remove(change, env.now, *inode, name),
        MetaOp::Commit(_) | MetaOp::PutInline(_) | MetaOp::PutInlines { .. } => content::run(change, env, op),
        MetaOp::SetLock { .. } | MetaOp::GetLock { .. } => lock::run(change, env, op),
        MetaOp::Tmpfile { entry } => create::unnamed(change, env, entry),
        MetaOp::Repair(repair) => repair::run(change, env.now, repair),
        MetaOp::SessionAdopt(session) => adopt::run(change, env, *session),
        MetaOp::MoveTargets { .. } | MetaOp::MoveData { .. } => move_data::run(change, env, op),
        MetaOp::SetPattern { dir, pattern } => attrs::set_pattern(change, env, *dir, *pattern),
    }
}

/// EINVAL if a time stamp has more than a second's nanoseconds.
fn check_times(env: &Env, op: &MetaOp) -> Step<()> {
    let at = |to: Option<SetTime>| match to {
        Some(SetTime::At(time)) => Some(time),
        Some(SetTime::Now) | None => None,
    };
    let named = match op {
        MetaOp::SetAttr { set, .. } => [at(set.atime), at(set.mtime), set.ctime],
        MetaOp::Commit(commit) => [commit.mtime, None, None],
        MetaOp::PutInline(put) => return content::check_times(put),
        _ => [None; 3],
    };
    named.into_iter().flatten().chain([env.now]).try_for_each(check_time)
}

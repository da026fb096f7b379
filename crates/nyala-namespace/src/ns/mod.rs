// SPDX-License-Identifier: Apache-2.0

//! The name space: one operation per file. Pure: each takes a [`Change`] of the tables and what it needs from outside
//! ([`Env`]), and either completes the change and returns its reply, or says why not ([`crate::change::Fault`]).

pub mod acl;
pub mod attrs;
pub mod content;
pub mod create;
pub mod info;
pub mod inline;
mod layout;
pub mod linger;
pub mod link;
pub mod list;
pub mod lock;
pub mod mkdir;
pub mod open;
pub mod remove;
pub mod rename;
pub mod xattr;

use crate::change::{Change, Step};
use crate::keys;
use crate::records::{FilePart, GarbageRecord, InodeRecord};
use nyala_cluster::placement::PlacementTable;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{MetaOp, MetaReply, Owner, SetTime};
use nyala_wire::{ErrorCode, FileKind, InodeId, Pattern, SessionId, StripePattern, TargetId, Time};

/// What an operation needs from outside: who asks, when, the cluster as it is, and entropy.
pub struct Env<'a> {
    /// The metadata target that runs the operation.
    pub me: TargetId,
    /// The cluster map.
    pub map: &'a ClusterMap,
    /// The map's targets, prepared for choosing.
    pub placement: &'a PlacementTable,
    /// The client's session.
    pub session: SessionId,
    /// A new file is open under the lease that comes with it, and not noted as open.
    pub unsaid: bool,
    /// Owner of what is made.
    pub owner: Owner,
    /// Time stamp of what changes.
    pub now: Time,
    /// A random number for placement.
    pub random: u64,
}

impl Env<'_> {
    /// Whether an inode lives on this target.
    pub fn is_here(&self, inode: InodeId) -> bool {
        self.map.slot_target(inode.slot()) == Some(self.me)
    }
}

/// Runs one operation of a client. Session operations are the service's own.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    check_times(env, op)?;
    match op {
        MetaOp::SessionOpen { .. }
        | MetaOp::SessionClose
        | MetaOp::Sync
        | MetaOp::LeasePoll { .. }
        | MetaOp::LeaseReturn { .. }
        | MetaOp::Spill { .. }
        | MetaOp::LockWait { .. }
        | MetaOp::LockConfirm { .. }
        | MetaOp::LockChecked { .. }
        | MetaOp::Survived { .. } => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
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
        MetaOp::FileInfo { inode } | MetaOp::Acquire { inode } => open::file_info(change, *inode),
        MetaOp::Create { entry, exclusive } => create::file(change, env, entry, *exclusive),
        MetaOp::Open { inode } => open::open(change, env, *inode),
        MetaOp::Close { inode } => open::close(change, env.session, *inode),
        MetaOp::Mkdir { entry } => mkdir::run(change, env, entry),
        MetaOp::Mknod { entry, kind, rdev } => create::node(change, env, entry, *kind, *rdev),
        MetaOp::Symlink { entry, target } => create::symlink(change, env, entry, target),
        MetaOp::Unlink { parent, name } => remove::unlink(change, env, *parent, name),
        MetaOp::Rmdir { parent, name } => remove::rmdir(change, env, *parent, name),
        MetaOp::Rename(rename) => rename::run(change, env, rename),
        MetaOp::Link { inode, parent, name } => link::run(change, env, *inode, *parent, name),
        MetaOp::SetAttr { inode, set } => attrs::set(change, env, *inode, set),
        MetaOp::SetXattr { inode, name, value, create, replace, kill_sgid } => {
            let how = xattr::How { create: *create, replace: *replace, kill_sgid: *kill_sgid };
            xattr::set(change, env.now, *inode, (name, value), how)
        }
        MetaOp::RemoveXattr { inode, name } => xattr::remove(change, env.now, *inode, name),
        MetaOp::Commit(commit) => content::commit(change, env, commit),
        MetaOp::PutInline(put) => content::put_inline(change, env, put),
        MetaOp::PutInlines { puts } => content::put_inlines(change, env, puts),
        MetaOp::SetLock { inode, lock } => lock::set(change, env, *inode, *lock),
        MetaOp::GetLock { inode, lock } => lock::get(change, env, *inode, *lock),
        MetaOp::Tmpfile { entry } => create::unnamed(change, env, entry),
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
        MetaOp::PutInline(put) => [Some(put.mtime), None, None],
        _ => [None; 3],
    };
    named.into_iter().flatten().chain([env.now]).try_for_each(check_time)
}

/// EINVAL if a time stamp has more than a second's nanoseconds.
fn check_time(time: Time) -> Step<()> {
    match time.nanos < 1_000_000_000 {
        true => Ok(()),
        false => Err(ErrorCode::INVALID.with("nanoseconds of a time stamp are a second or more").into()),
    }
}

/// The pattern that a directory gives to new files.
pub fn effective_pattern(own: Option<StripePattern>, map: &ClusterMap) -> StripePattern {
    own.unwrap_or(map.settings.default_pattern)
}

/// Stamps a directory whose entries changed.
pub fn touch_dir(change: &mut Change, dir: InodeId, now: Time) -> Step<()> {
    change.inode_mut(dir)?.stamp_content(now);
    Ok(())
}

/// Takes an inode without links and without openers out of the tables, and queues its chunk files for removal.
pub fn destroy(change: &mut Change, inode: InodeId) -> Step<()> {
    let record = change.inode(inode)?;
    let (link, xattrs) = (record.kind == FileKind::Symlink, record.xattr_bytes.is_some());
    match record.file.clone() {
        Some(FilePart { inline_version: None, layout, .. }) => {
            change.put_record(
                keys::garbage(inode),
                &GarbageRecord {
                    targets: layout.targets,
                    mirrored: (layout.pattern == Pattern::Mirror).then_some(true),
                },
            );
        }
        // Version 0 is empty: nothing was ever kept.
        Some(FilePart { inline_version: Some(0), .. }) => {}
        Some(_) => change.delete(keys::data(inode)),
        None if link => change.delete(keys::data(inode)),
        None => {}
    }
    if change.view().is_locked(inode)? {
        lock::forget(change, inode)?;
    }
    if xattrs {
        change.delete_all(&keys::xattr(inode, b""))?;
    }
    change.remove_inode(inode)
}

/// Takes one link away; the last one's inode goes, unless a session holds it open.
pub fn drop_link(change: &mut Change, inode: InodeId, now: Time) -> Step<()> {
    let record = change.inode_mut(inode)?;
    record.nlink = record.nlink.saturating_sub(1);
    record.stamp(now);
    if record.nlink == 0 && !change.is_open(inode)? {
        destroy(change, inode)?;
    }
    Ok(())
}

/// A new inode's record, owned as POSIX says: a directory with setgid gives its group on.
pub fn new_record(parent: &InodeRecord, kind: FileKind, perm: u16, env: &Env) -> InodeRecord {
    let gid = if parent.perm & 0o2000 != 0 { parent.gid } else { env.owner.gid };
    InodeRecord {
        kind,
        perm: perm & 0o7777,
        nlink: 1,
        uid: env.owner.uid,
        gid,
        size: 0,
        atime: env.now,
        mtime: env.now,
        ctime: env.now,
        btime: env.now,
        rdev: None,
        dir: None,
        file: None,
        xattr_bytes: None,
    }
}

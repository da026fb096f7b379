// SPDX-License-Identifier: Apache-2.0

//! Making and removing inodes, as several operations do.

use super::env::Env;
use super::lock;
use crate::change::{Change, Step};
use crate::keys;
use crate::records::{FilePart, GarbageRecord, InodeRecord};
use nyala_wire::map::ClusterMap;
use nyala_wire::{FileKind, InodeId, StripePattern, Time};

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
            change.put_record(keys::garbage(inode), &GarbageRecord::of(layout));
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

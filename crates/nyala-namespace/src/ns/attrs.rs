// SPDX-License-Identifier: Apache-2.0

//! Changing attributes, truncation included, and a directory's stripe pattern.

use super::acl;
use super::env::Env;
use super::inline;
use super::xattr;
use super::xattr_rows::erase;
use crate::change::{Change, Step};
use crate::keys;
use crate::records::{InodeRecord, TruncateRecord};
use nyala_wire::meta::{MAX_FILE_BYTES, MetaReply, SetAttr, SetTime};
use nyala_wire::{ErrorCode, FileKind, InodeId, StripePattern, Time};

/// Changes attributes. A size that takes data away from storage leaves a record that the service acts on before it
/// answers (`keys::truncate`).
pub fn set(change: &mut Change, now: Time, inode: InodeId, set: &SetAttr) -> Step<MetaReply> {
    if let Some(size) = set.size {
        resize(change, inode, size, now)?;
    }
    let chown = set.uid.is_some() || set.gid.is_some();
    if (chown || set.size.is_some() || set.kill_suidgid) && change.inode(inode)?.kind != FileKind::Directory {
        erase(change, inode, xattr::CAPABILITY)?;
    }
    let record = change.inode_mut(inode)?;
    record.uid = set.uid.unwrap_or(record.uid);
    record.gid = set.gid.unwrap_or(record.gid);
    // As the kernel does for everybody, root included, unless new bits come along.
    if chown || set.kill_suidgid {
        kill_suidgid(record, set.outside_group);
    }
    if let Some(perm) = set.perm {
        acl::chmod(change, inode, perm)?;
    }
    let record = change.inode_mut(inode)?;
    if set.kill_suidgid {
        kill_suidgid(record, set.outside_group);
    }
    let time = |to: SetTime| match to {
        SetTime::Now => now,
        SetTime::At(time) => time,
    };
    record.atime = set.atime.map_or(record.atime, time);
    record.mtime = set.mtime.map_or(record.mtime, time);
    record.stamp(set.ctime.unwrap_or(now));
    Ok(MetaReply::Attr(record.attr(inode)))
}

/// Setgid without the group's right to execute goes only for those outside the group, as with a chmod.
fn kill_suidgid(record: &mut InodeRecord, outside_group: Option<bool>) {
    if record.kind == FileKind::Directory {
        return;
    }
    record.perm &= !0o4000;
    if record.perm & 0o0010 != 0 || outside_group == Some(true) {
        record.perm &= !0o2000;
    }
}

fn resize(change: &mut Change, inode: InodeId, size: u64, now: Time) -> Step<()> {
    let record = change.inode(inode)?;
    let Some(file) = record.file.clone() else {
        return Err(
            if record.kind == FileKind::Directory { ErrorCode::IS_A_DIRECTORY } else { ErrorCode::INVALID }.into()
        );
    };
    if size > MAX_FILE_BYTES {
        return Err(ErrorCode::FILE_TOO_BIG.into());
    }
    match file.inline_version {
        Some(version) => {
            let mut data = inline::get(change, inode, &file)?;
            if (data.len() as u64) > size || version == 0 {
                data.truncate(usize::try_from(size).unwrap_or(usize::MAX));
                inline::put(change, inode, &data, version + 1)?;
            } else if let Some(file) = &mut change.inode_mut(inode)?.file {
                file.inline_version = Some(version + 1);
            }
        }
        None if file.layout.encoded().is_some() => {
            // Parity would not fit what is left: the client moves the data to a layout that can be changed first.
            return Err(ErrorCode::NOT_SUPPORTED.with("the size of an encoded file is not changed").into());
        }
        // Also when the size grows: what an interrupted write left behind the end must not show.
        None => change.put_record(
            keys::truncate(inode),
            &TruncateRecord { layout: file.layout, size, session: None, sequence: None },
        ),
    }
    let record = change.inode_mut(inode)?;
    record.resize(size);
    record.stamp_content(now);
    Ok(())
}

/// Sets what a directory gives to new files.
pub fn set_pattern(change: &mut Change, env: &Env, dir: InodeId, pattern: StripePattern) -> Step<MetaReply> {
    check_pattern(env, &pattern)?;
    give_pattern(change, env.now, dir, pattern)?;
    Ok(MetaReply::Done)
}

/// Refuses a pattern that nothing here can have.
pub fn check_pattern(env: &Env, pattern: &StripePattern) -> Step<()> {
    pattern.check()?;
    if !env.map.pools.iter().any(|pool| pool.id == pattern.pool) {
        return Err(ErrorCode::INVALID.with(format!("there is no storage pool {}", pattern.pool)).into());
    }
    Ok(())
}

/// The same with a pattern that is checked.
pub fn give_pattern(change: &mut Change, now: Time, dir: InodeId, pattern: StripePattern) -> Step<()> {
    let record = change.inode_mut(dir)?;
    record.stamp(now);
    record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?.pattern = Some(pattern);
    Ok(())
}

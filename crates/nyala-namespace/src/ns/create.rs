// SPDX-License-Identifier: Apache-2.0

//! New regular files, symbolic links and special files. The inode is made in the slot of its entry's directory, so this
//! is always one server and one log record.

use super::acl;
use super::attrs::check_pattern;
use super::env::Env;
use super::inodes::{effective_pattern, new_record, touch_dir};
use super::open;
use crate::change::{Change, Step};
use crate::keys;
use crate::records::{FilePart, InodeRecord};
use nyala_wire::meta::{EntryReply, MAX_SYMLINK_BYTES, MetaReply, NewEntry};
use nyala_wire::{ErrorCode, FileKind, InodeId, StripePattern};

/// Makes and opens a regular file, or opens the one that is there.
pub fn file(change: &mut Change, env: &Env, entry: &NewEntry, exclusive: bool) -> Step<MetaReply> {
    change.dir(entry.parent)?;
    if let Some((_, found)) = change.find_entry(entry.parent, &entry.name)? {
        if exclusive {
            return Err(ErrorCode::EXISTS.into());
        }
        let here = found.kind == FileKind::File && env.is_here(found.inode);
        let file = if here { Some(Box::new(open::open_here(change, env.session, found.inode)?)) } else { None };
        return Ok(MetaReply::Created { new: false, inode: found.inode, kind: found.kind, file });
    }
    let inherited = acl::inherit(change, entry, false)?;
    let record = regular(change, env, entry, inherited.perm, None)?;
    let inode = add(change, env, entry, record)?;
    acl::give(change, inode, inherited.access.as_deref(), None)?;
    let file = if env.implicit_open { open::look(change, inode)? } else { open::open_new(change, env.session, inode)? };
    let file = Some(Box::new(file));
    Ok(MetaReply::Created { new: true, inode, kind: FileKind::File, file })
}

/// Makes a regular file without a name and opens it. It goes when nobody has it open any more, unless it was given a name.
pub fn unnamed(change: &mut Change, env: &Env, entry: &NewEntry) -> Step<MetaReply> {
    change.dir(entry.parent)?;
    let inherited = acl::inherit(change, entry, false)?;
    let mut record = regular(change, env, entry, inherited.perm, None)?;
    record.nlink = 0;
    if let Some(file) = &mut record.file {
        file.unnamed = Some(true);
    }
    let inode = change.allocate(entry.parent.slot())?;
    change.insert_inode(inode, record)?;
    acl::give(change, inode, inherited.access.as_deref(), None)?;
    let file = Some(Box::new(open::open_new(change, env.session, inode)?));
    Ok(MetaReply::Created { new: true, inode, kind: FileKind::File, file })
}

/// Makes a fifo, socket, device, or a regular file that is not opened; `own` is a file's pattern where that is not its directory's.
pub fn node(
    change: &mut Change,
    env: &Env,
    entry: &NewEntry,
    (kind, rdev): (FileKind, u32),
    own: Option<StripePattern>,
) -> Step<MetaReply> {
    if let Some(own) = &own {
        check_pattern(env, own)?;
    }
    change.dir(entry.parent)?;
    refuse_existing(change, entry)?;
    let inherited = acl::inherit(change, entry, false)?;
    let record = match kind {
        FileKind::File => regular(change, env, entry, inherited.perm, own)?,
        FileKind::Directory | FileKind::Symlink => return Err(ErrorCode::INVALID.into()),
        _ => {
            let (parent, _) = change.dir(entry.parent)?;
            InodeRecord { rdev: Some(rdev), ..new_record(parent, kind, inherited.perm, env) }
        }
    };
    let inode = add(change, env, entry, record)?;
    acl::give(change, inode, inherited.access.as_deref(), None)?;
    entry_reply(change, inode)
}

/// Makes a symbolic link.
pub fn symlink(change: &mut Change, env: &Env, entry: &NewEntry, target: &[u8]) -> Step<MetaReply> {
    if target.is_empty() {
        return Err(ErrorCode::NOT_FOUND.into());
    }
    if target.len() > MAX_SYMLINK_BYTES {
        return Err(ErrorCode::NAME_TOO_LONG.into());
    }
    let (parent, _) = change.dir(entry.parent)?;
    let mut record = new_record(parent, FileKind::Symlink, 0o777, env);
    record.size = target.len() as u64;
    refuse_existing(change, entry)?;
    let inode = add(change, env, entry, record)?;
    change.put(keys::data(inode), target.to_vec());
    entry_reply(change, inode)
}

fn refuse_existing(change: &mut Change, entry: &NewEntry) -> Step<()> {
    match change.find_entry(entry.parent, &entry.name)? {
        Some(_) => Err(ErrorCode::EXISTS.into()),
        None => Ok(()),
    }
}

/// The record of a regular file; `own` is its pattern where that is not its directory's.
fn regular(
    change: &mut Change,
    env: &Env,
    entry: &NewEntry,
    perm: u16,
    own: Option<StripePattern>,
) -> Step<InodeRecord> {
    let (parent, part) = change.dir(entry.parent)?;
    let pattern = own.unwrap_or_else(|| effective_pattern(part.pattern, env.map));
    let mut record = new_record(parent, FileKind::File, perm, env);
    let layout = match change.made().and_then(|made| made.layout.as_ref()) {
        Some(layout) => env.layout_again(&pattern, layout)?,
        None => env.layout(&pattern)?,
    };
    record.file = Some(FilePart {
        layout,
        inline_version: (pattern.inline_bytes > 0).then_some(0),
        inline_limit: pattern.inline_bytes,
        allocated: None,
        unnamed: None,
        tail: None,
    });
    Ok(record)
}

fn add(change: &mut Change, env: &Env, entry: &NewEntry, record: InodeRecord) -> Step<InodeId> {
    let inode = change.allocate(entry.parent.slot())?;
    let kind = record.kind;
    change.insert_inode(inode, record)?;
    change.add_entry(entry.parent, &entry.name, inode, kind)?;
    touch_dir(change, entry.parent, env.now)?;
    Ok(inode)
}

pub(super) fn entry_reply(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    let record = change.inode(inode)?;
    Ok(MetaReply::Entry(EntryReply { inode, kind: record.kind, attr: Some(record.attr(inode)) }))
}

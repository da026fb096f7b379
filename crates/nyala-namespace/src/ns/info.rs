// SPDX-License-Identifier: Apache-2.0

//! Operations that only look: lookup, getattr, readlink, parent, entry info.

use super::env::Env;
use super::inodes::effective_pattern;
use crate::change::{Change, Step};
use crate::damage::lost;
use crate::keys;
use crate::records::InodeRecord;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{EntryInfo, EntryReply, MAX_GET_ATTRS, MetaReply};
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, TargetId};

/// What stands under a name.
pub fn lookup(change: &mut Change, env: &Env, parent: InodeId, name: &Name) -> Step<MetaReply> {
    change.dir(parent)?;
    let (_, entry) = change.find_entry(parent, name)?.ok_or(ErrorCode::NOT_FOUND)?;
    let attr = match env.is_here(entry.inode) {
        true => {
            let record = change.find_inode(entry.inode)?;
            Some(record.ok_or_else(|| lost(entry.inode, "there is its name and nothing else"))?.attr(entry.inode))
        }
        false => None,
    };
    Ok(MetaReply::Entry(EntryReply { inode: entry.inode, kind: entry.kind, attr }))
}

/// Attributes of one inode.
pub fn getattr(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Attr(change.inode(inode)?.attr(inode)))
}

/// Attributes of those of many inodes that exist and are here.
pub fn getattrs(change: &mut Change, env: &Env, inodes: &[InodeId]) -> Step<MetaReply> {
    if inodes.len() > MAX_GET_ATTRS {
        return Err(ErrorCode::TOO_BIG.into());
    }
    let mut attrs = Vec::with_capacity(inodes.len());
    for &inode in inodes.iter().filter(|inode| env.is_here(**inode)) {
        attrs.extend(change.find_inode(inode)?.map(|record| record.attr(inode)));
    }
    Ok(MetaReply::Attrs(attrs))
}

/// What a symbolic link points to.
pub fn readlink(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    if change.inode(inode)?.kind != FileKind::Symlink {
        return Err(ErrorCode::INVALID.into());
    }
    let target =
        change.get(&keys::data(inode))?.ok_or_else(|| lost(inode, "it is a symbolic link without a target"))?;
    Ok(MetaReply::Bytes(target.into()))
}

/// The directory above a directory.
pub fn parent(change: &mut Change, dir: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Inode(change.dir(dir)?.1.parent))
}

/// Where an inode and its data are.
pub fn entry_info(change: &mut Change, env: &Env, inode: InodeId) -> Step<MetaReply> {
    let record = change.inode(inode)?;
    Ok(MetaReply::EntryInfo(Box::new(describe(record, inode, env.me, env.map))))
}

/// What is said of an inode on the server `me`.
pub fn describe(record: &InodeRecord, inode: InodeId, me: TargetId, map: &ClusterMap) -> EntryInfo {
    EntryInfo {
        attr: record.attr(inode),
        meta_target: me,
        layout: record.file.as_ref().map(|file| file.layout.clone()),
        inline: record.file.as_ref().is_some_and(|file| file.inline_version.is_some()),
        pattern: record.dir.as_ref().map(|dir| effective_pattern(dir.pattern, map)),
        parent: record.dir.as_ref().map(|dir| dir.parent),
        fragments: record.dir.as_ref().and_then(|dir| dir.fragments.clone()),
    }
}

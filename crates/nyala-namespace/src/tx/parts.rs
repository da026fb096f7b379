// SPDX-License-Identifier: Apache-2.0

//! The parts of transactions: what each locks, what is checked when it is prepared, what is done when it commits.
//! Pure. What was prepared cannot fail to be done: everything that it depends on is locked meanwhile.

use crate::change::{Change, Step};
use crate::locks::LockKey;
use crate::ns::fragments::parts as fragments;
use crate::ns::inodes::touch_dir;
use crate::ns::{acl, deferred_unlink, link, mkdir, remove};
use crate::records::{DirPart, InodeRecord};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId, Name, Time};

/// What a part locks, once it was checked with this result. A new directory is locked as well: the client may hear of
/// it before the participant hears of the decision, and then has to wait rather than not find it.
pub fn locks(part: &TxPart, result: &PartResult) -> Vec<LockKey> {
    match part {
        TxPart::MakeDir { .. } => match result {
            PartResult::Attr(attr) => vec![LockKey::Inode(attr.inode)],
            _ => Vec::new(),
        },
        TxPart::RemoveDir { inode } | TxPart::LinkCount { inode, .. } | TxPart::SetParent { inode, .. } => {
            vec![LockKey::Inode(*inode)]
        }
        TxPart::PutEntry { dir, name, .. }
        | TxPart::PeekEntry { dir, name }
        | TxPart::RemoveEntry { dir, name, .. } => {
            vec![LockKey::Entry(*dir, name.clone()), LockKey::Pin(*dir)]
        }
        TxPart::RenameLock => vec![LockKey::Rename],
        TxPart::MakeFragment { .. } => match result {
            PartResult::Attr(attr) => vec![LockKey::Inode(attr.inode)],
            _ => Vec::new(),
        },
        TxPart::SetFragments { dir, .. } => vec![LockKey::Inode(*dir)],
        TxPart::RemoveFragment { inode }
        | TxPart::GiveEntries { inode, .. }
        | TxPart::TakeEntries { inode, .. }
        | TxPart::SetAttr { inode, .. }
        | TxPart::SetAcl { inode, .. }
        | TxPart::SetPattern { inode, .. } => vec![LockKey::Inode(*inode)],
    }
}

/// Checks that a part can be done. Changes nothing but the allocation of a new directory's number.
pub fn check(change: &mut Change, part: &TxPart, now: Time) -> Step<PartResult> {
    match part {
        TxPart::MakeDir { slot, perm, owner, .. } | TxPart::MakeFragment { slot, perm, owner, .. } => {
            let inode = change.allocate(*slot)?;
            Ok(PartResult::Attr(new_dir_attr(inode, *perm, owner.uid, owner.gid, now)))
        }
        TxPart::RemoveDir { inode } => {
            remove::check_empty(change, *inode)?;
            Ok(PartResult::Ready)
        }
        TxPart::LinkCount { inode, delta } => {
            if *delta > 0 {
                link::check(change, *inode)?;
            }
            let record = change.inode(*inode)?;
            let nlink = record.nlink.saturating_add_signed(i32::from(*delta));
            Ok(PartResult::Attr(Attr { nlink, ctime: record.ctime.max(now), ..record.attr(*inode) }))
        }
        TxPart::SetParent { inode, .. } => {
            change.dir(*inode)?;
            Ok(PartResult::Ready)
        }
        TxPart::PutEntry { dir, name, kind, replaces, .. } => {
            mkdir::check_links(change, *dir, *kind)?;
            let there = change.find_entry(*dir, name)?.map(|(_, entry)| entry.inode);
            if there == *replaces { Ok(PartResult::Ready) } else { Err(ErrorCode::BUSY.into()) }
        }
        TxPart::RemoveEntry { dir, name, inode } => {
            change.dir(*dir)?;
            let there = change.find_entry(*dir, name)?.map(|(_, entry)| entry.inode);
            if there == Some(*inode) { Ok(PartResult::Ready) } else { Err(ErrorCode::BUSY.into()) }
        }
        TxPart::PeekEntry { dir, name } => {
            change.dir(*dir)?;
            let there = change.find_entry(*dir, name)?;
            let entry = there.map(|(_, entry)| (entry.inode, entry.kind));
            Ok(match change.directory(*dir)? {
                whole if whole == *dir => PartResult::Entry(entry),
                dir => PartResult::EntryOf { entry, dir },
            })
        }
        TxPart::RenameLock => Ok(PartResult::Ready),
        TxPart::RemoveFragment { inode } => {
            fragments::check(change, part)?;
            Ok(PartResult::Attr(change.inode(*inode)?.attr(*inode)))
        }
        _ => fragments::check(change, part).map(|()| PartResult::Ready),
    }
}

/// Does a part that [`check`] accepted with this result.
pub fn perform(change: &mut Change, part: &TxPart, result: &PartResult, now: Time) -> Step<()> {
    match part {
        TxPart::MakeDir { parent, pattern, acl, default_acl, depth, .. } => {
            let PartResult::Attr(attr) = result else { return Err(ErrorCode::BAD_MESSAGE.into()) };
            let record = mkdir::as_dir(record_of(attr), DirPart { depth: *depth, ..DirPart::new(*parent, *pattern) });
            change.insert_inode(attr.inode, record)?;
            acl::give(
                change,
                attr.inode,
                acl.as_ref().map(|list| &list[..]),
                default_acl.as_ref().map(|list| &list[..]),
            )
        }
        TxPart::RemoveDir { inode } => remove::remove_empty(change, *inode),
        TxPart::LinkCount { inode, delta } => match delta {
            1.. => link::add_link(change, *inode, now),
            0 => {
                change.inode_mut(*inode)?.stamp(now);
                Ok(())
            }
            _ => deferred_unlink::drop_link(change, *inode, now),
        },
        TxPart::SetParent { inode, parent } => {
            let record = change.inode_mut(*inode)?;
            record.stamp(now);
            record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?.parent = *parent;
            Ok(())
        }
        TxPart::PutEntry { dir, name, inode, kind, .. } => {
            remove(change, *dir, name)?;
            change.add_entry(*dir, name, *inode, *kind)?;
            touch_dir(change, *dir, now)
        }
        TxPart::RemoveEntry { dir, name, .. } => {
            remove(change, *dir, name)?;
            touch_dir(change, *dir, now)
        }
        TxPart::PeekEntry { .. } | TxPart::RenameLock => Ok(()),
        TxPart::MakeFragment { of, pattern, default_acl, at, depth, .. } => {
            let PartResult::Attr(attr) = result else { return Err(ErrorCode::BAD_MESSAGE.into()) };
            let part = DirPart { depth: *depth, ..DirPart::new(*of, *pattern) };
            let record = fragments::as_fragment(mkdir::as_dir(record_of(attr), part), *at);
            change.insert_inode(attr.inode, record)?;
            acl::give(change, attr.inode, None, default_acl.as_ref().map(|list| &list[..]))
        }
        _ => fragments::perform(change, part, now),
    }
}

fn remove(change: &mut Change, dir: InodeId, name: &Name) -> Step<()> {
    match change.find_entry(dir, name)? {
        Some((cookie, old)) => change.remove_entry(dir, cookie, &old),
        None => Ok(()),
    }
}

fn new_dir_attr(inode: InodeId, perm: u16, uid: u32, gid: u32, now: Time) -> Attr {
    Attr {
        inode,
        kind: FileKind::Directory,
        perm,
        nlink: 2,
        uid,
        gid,
        rdev: 0,
        size: 0,
        atime: now,
        mtime: now,
        ctime: now,
        btime: now,
        allocated: None,
        // It may be given access control lists.
        no_xattrs: false,
        split: None,
    }
}

fn record_of(attr: &Attr) -> InodeRecord {
    InodeRecord {
        kind: attr.kind,
        perm: attr.perm,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size,
        atime: attr.atime,
        mtime: attr.mtime,
        ctime: attr.ctime,
        btime: attr.btime,
        rdev: None,
        dir: None,
        file: None,
        xattr_bytes: None,
    }
}

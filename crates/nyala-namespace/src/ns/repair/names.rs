// SPDX-License-Identifier: Apache-2.0

//! Repairs of names.

use super::so::{check, not_so};
use crate::change::{Change, Fault, Step, stored};
use crate::facts::compare::is_misplaced;
use crate::keys;
use crate::ns::inodes::touch_dir;
use crate::records::EntryRecord;
use nyala_kv::Key;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, Time};
use std::ops::ControlFlow;

/// Names that one repair removes at most: a batch has its bounds.
const BATCH_NAMES: usize = 1024;

/// The entry at a place, if it is of this inode and no transaction holds it.
fn entry(change: &Change, dir: InodeId, cookie: u64, inode: InodeId) -> Step<EntryRecord> {
    let entry: EntryRecord = change.record(&keys::entry(dir, cookie))?.ok_or_else(not_so)?;
    check(entry.is_taken() && entry.inode == inode)?;
    match change.locks().entry_blocked(dir, &entry.name, change.tx()) {
        true => Err(Fault::Blocked),
        false => Ok(entry),
    }
}

/// Removes a name.
pub fn remove(change: &mut Change, now: Time, dir: InodeId, cookie: u64, inode: InodeId) -> Step<()> {
    change.dir(dir)?;
    let entry = entry(change, dir, cookie, inode)?;
    change.remove_entry(dir, cookie, &entry)?;
    touch_dir(change, dir, now)
}

/// Removes names in a directory that does not exist.
pub fn remove_all(change: &mut Change, dir: InodeId) -> Step<()> {
    check(change.find_inode(dir)?.is_none())?;
    let rows = change.list(&keys::entries_prefix(dir), BATCH_NAMES)?;
    check(!rows.is_empty())?;
    rows.into_iter().for_each(|(key, _)| change.delete(Key::new(&key)));
    Ok(())
}

/// A name says what its inode is. How many directories the directory has is another repair.
pub fn set_kind(change: &mut Change, (dir, cookie): (InodeId, u64), inode: InodeId, kind: FileKind) -> Step<()> {
    let entry = entry(change, dir, cookie, inode)?;
    check(entry.kind != kind)?;
    change.put_record(keys::entry(dir, cookie), &EntryRecord { kind, ..entry });
    Ok(())
}

/// Puts a name where it is looked for.
pub fn rehash(change: &mut Change, dir: InodeId, cookie: u64, inode: InodeId) -> Step<()> {
    change.dir(dir)?;
    let entry = entry(change, dir, cookie, inode)?;
    let of = change.directory(dir)?;
    check(is_misplaced(change.view(), (dir, Some(of)), cookie, &entry)?)?;
    change.remove_entry(dir, cookie, &entry)?;
    match change.find_entry(dir, &entry.name)? {
        Some(_) => Ok(()),
        None => change.add_entry(dir, &entry.name, inode, entry.kind),
    }
}

/// Gives an inode a name.
pub fn add(change: &mut Change, now: Time, (dir, name): (InodeId, &Name), inode: InodeId, kind: FileKind) -> Step<()> {
    change.dir(dir)?;
    match change.find_entry(dir, name)? {
        Some((_, there)) if there.inode == inode => Ok(()),
        Some(_) => Err(ErrorCode::EXISTS.into()),
        None => {
            change.add_entry(dir, name, inode, kind)?;
            touch_dir(change, dir, now)
        }
    }
}

/// Counts the names in a directory.
pub fn count(change: &mut Change, dir: InodeId) -> Step<()> {
    let (record, part) = change.dir(dir)?;
    let before = (part.entries, record.nlink);
    let prefix = keys::entries_prefix(dir);
    let (mut entries, mut subdirs, mut bad) = (0, 0_u32, None);
    change.view().scan(&prefix, &keys::prefix_end(&prefix), &mut |_, value| {
        match stored::<EntryRecord>(value) {
            Ok(entry) if entry.is_taken() => {
                entries += 1;
                subdirs += u32::from(entry.kind == FileKind::Directory);
            }
            Ok(_) => {}
            Err(error) => bad = Some(error),
        }
        if bad.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = bad {
        return Err(error.into());
    }
    check(before != (entries, subdirs.saturating_add(2)))?;
    let record = change.inode_mut(dir)?;
    record.nlink = subdirs.saturating_add(2);
    record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?.entries = entries;
    Ok(())
}

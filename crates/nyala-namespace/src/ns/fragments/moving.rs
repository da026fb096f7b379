// SPDX-License-Identifier: Apache-2.0

//! Entries go from one fragment to another. Pure.

use super::entries::entries;
use crate::change::{Change, Step, stored};
use crate::keys;
use crate::records::EntryRecord;
use nyala_wire::fragments::{CookieRange, FragmentEntry};
use nyala_wire::{ErrorCode, FileKind, InodeId};

/// Entries go out of a fragment, from the end or the beginning of its range.
pub fn give(change: &mut Change, inode: InodeId, range: CookieRange, behind: bool) -> Step<()> {
    let gone = entries(change, inode, range, u32::MAX)?;
    gone.entries.iter().for_each(|entry| change.delete(keys::entry(inode, entry.cookie)));
    count(change, inode, &gone.entries, -1)?;
    if let Some(own) = own_range(change, inode)? {
        if behind { own.upto = range.from } else { own.from = range.upto }
    }
    Ok(())
}

/// Entries come into a fragment, before or behind its range.
pub fn take(change: &mut Change, inode: InodeId, range: CookieRange, entries: &[FragmentEntry]) -> Step<()> {
    entries.iter().for_each(|entry| change.put(keys::entry(inode, entry.cookie), entry.row.to_vec()));
    count(change, inode, entries, 1)?;
    if let Some(own) = own_range(change, inode)? {
        if own.from == range.upto { own.from = range.from } else { own.upto = range.upto }
    }
    Ok(())
}

fn own_range<'a>(change: &'a mut Change<'_>, inode: InodeId) -> Step<&'a mut Option<CookieRange>> {
    Ok(&mut change.inode_mut(inode)?.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?.range)
}

/// Counts entries that come or go.
fn count(change: &mut Change, inode: InodeId, entries: &[FragmentEntry], by: i32) -> Step<()> {
    let (mut names, mut subdirs) = (0, 0);
    for entry in entries {
        let entry: EntryRecord = stored(&entry.row)?;
        names += i64::from(entry.is_taken());
        subdirs += i32::from(entry.is_taken() && entry.kind == FileKind::Directory);
    }
    let record = change.inode_mut(inode)?;
    record.nlink = record.nlink.saturating_add_signed(subdirs * by);
    let part = record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
    part.entries = part.entries.saturating_add_signed(names * i64::from(by));
    Ok(())
}

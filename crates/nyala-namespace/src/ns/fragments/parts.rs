// SPDX-License-Identifier: Apache-2.0

//! What transactions do with fragments, part by part. Pure.

use super::entries::entries;
use super::moving::{give, take};
use crate::change::{Change, Fault, Step};
use crate::keys;
use crate::ns::inodes::destroy;
use crate::ns::{acl, attrs, xattr};
use crate::records::{DirPart, InodeRecord};
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta_tx::TxPart;
use nyala_wire::{ErrorCode, InodeId, Time};

/// What a part rests on may have changed since its transaction was made up.
fn so(is_so: bool) -> Step<()> {
    if is_so { Ok(()) } else { Err(ErrorCode::BUSY.into()) }
}

/// Whether a part can be done; the new fragment's number is the caller's to allocate.
pub fn check(change: &mut Change, part: &TxPart) -> Step<()> {
    match part {
        TxPart::RemoveFragment { inode } => check_removable(change, *inode),
        TxPart::GiveEntries { inode, range, behind, digest } => {
            if change.is_pinned(*inode) {
                return Err(Fault::Blocked);
            }
            let own = change.dir(*inode)?.1.own_range();
            let at_an_end = if *behind { range.upto == own.upto } else { range.from == own.from };
            let within = range.from <= range.upto && own.from <= range.from && range.upto <= own.upto;
            let there = entries(change, *inode, *range, u32::MAX)?;
            so(within && at_an_end && there.digest() == *digest)
        }
        TxPart::TakeEntries { inode, range, entries, .. } => {
            let own = change.dir(*inode)?.1.own_range();
            let fits = range.from <= range.upto && entries.iter().all(|entry| range.has(entry.cookie));
            so(fits && (range.upto == own.from || range.from == own.upto))
        }
        TxPart::SetFragments { dir, .. } => change.dir(*dir).map(drop),
        TxPart::SetAttr { inode, .. } | TxPart::SetAcl { inode, .. } | TxPart::SetPattern { inode, .. } => {
            change.dir(*inode).map(drop)
        }
        _ => Err(ErrorCode::BAD_MESSAGE.into()),
    }
}

/// Does what [`check`] found can be done.
pub fn perform(change: &mut Change, part: &TxPart, now: Time) -> Step<()> {
    match part {
        TxPart::RemoveFragment { inode } => {
            change.delete_all(&keys::entries_prefix(*inode))?;
            destroy(change, *inode)
        }
        TxPart::GiveEntries { inode, range, behind, .. } => give(change, *inode, *range, *behind),
        TxPart::TakeEntries { inode, range, entries } => take(change, *inode, *range, entries),
        TxPart::SetFragments { dir, fragments, changed } => set(change, *dir, fragments, *changed),
        TxPart::SetAttr { inode, set } => attrs::set(change, now, *inode, set).map(drop),
        TxPart::SetAcl { inode, name, value: Some(value), kill_sgid } => {
            let how = xattr::How::of(false, false, *kill_sgid);
            xattr::set(change, now, *inode, (name, value), how).map(drop)
        }
        TxPart::SetAcl { inode, name, value: None, .. } => acl::remove(change, now, *inode, name).map(drop),
        TxPart::SetPattern { inode, pattern } => attrs::give_pattern(change, now, *inode, *pattern),
        _ => Err(ErrorCode::BAD_MESSAGE.into()),
    }
}

/// Makes a new inode's record a fragment's.
pub fn as_fragment(record: InodeRecord, at: u64) -> InodeRecord {
    let dir = record.dir.map(|part| DirPart { range: Some(CookieRange { from: at, upto: at }), ..part });
    InodeRecord { dir, ..record }
}

fn check_removable(change: &mut Change, inode: InodeId) -> Step<()> {
    if change.is_pinned(inode) {
        return Err(Fault::Blocked);
    }
    let (_, part) = change.dir(inode)?;
    so(part.range.is_some_and(|range| range.is_empty()) && part.entries == 0)
}

fn set(change: &mut Change, dir: InodeId, fragments: &[Fragment], changed: Option<Time>) -> Step<()> {
    let record = change.inode_mut(dir)?;
    if let Some(changed) = changed {
        record.mtime = record.mtime.max(changed);
        record.stamp(changed);
    }
    let part = record.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
    part.fragments = if fragments.is_empty() { None } else { Some(fragments.to_vec()) };
    Ok(())
}

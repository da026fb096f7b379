// SPDX-License-Identifier: Apache-2.0

//! Repairs of fragments of directories that are split.

use super::so::check;
use crate::change::{Change, Step};
use crate::ns::inodes::destroy;
use crate::records::{DirPart, InodeRecord};
use nyala_wire::fragments::{COOKIE_END, CookieRange};
use nyala_wire::meta::FragmentRepair;
use nyala_wire::{ErrorCode, InodeId, Time};

/// Does one of them.
pub fn run(change: &mut Change, now: Time, repair: &FragmentRepair) -> Step<()> {
    match repair {
        FragmentRepair::Remove(inode) => remove(change, *inode),
        FragmentRepair::Make { inode, dir, range } => make(change, now, *inode, *dir, *range),
    }
}

/// Removes a fragment's record; its names stay, as those of a directory that does not exist.
fn remove(change: &mut Change, inode: InodeId) -> Step<()> {
    check(change.dir(inode)?.1.range.is_some())?;
    destroy(change, inode)
}

/// Makes a fragment that was lost. What it had in common with its directory is set anew with the next change there.
fn make(change: &mut Change, now: Time, inode: InodeId, dir: InodeId, range: CookieRange) -> Step<()> {
    check(change.find_inode(inode)?.is_none())?;
    if range.from > range.upto || range.upto > COOKIE_END {
        return Err(ErrorCode::INVALID.into());
    }
    let part = DirPart { range: Some(range), ..DirPart::new(dir, None) };
    change.insert_inode(inode, InodeRecord::root_directory(part, now))
}

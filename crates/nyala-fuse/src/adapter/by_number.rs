// SPDX-License-Identifier: Apache-2.0

//! Look-ups by number: somebody opens a file handle (`open_by_handle_at`, an NFS server) of what the kernel has forgotten.
//!
//! The kernel asks for `.` in the inode whose number is in the handle; to know where a directory is, it then asks for `..`
//! in it, and for its name by a listing. Numbers are never used again, so that the generation is always 0 and a number
//! alone tells whether something is still what it was.
//!
//! **Failure model.** A handle is bytes that anybody with the right to open them may have made up: a number that is nobody's
//! is ESTALE, and so is a file without a name, even while it is open somewhere (who has it open *here* has it in the kernel,
//! which does not ask). So is a slot that nobody serves by the map that this client has. A withdrawal may overtake the answer, and the kernel gets to the inode without a name that would be
//! looked up again ([`super::cache`]): such an answer's attributes may not be kept.

use super::convert::{errno, inode};
use super::fs::NyalaFs;
use super::moved::SHIFT;
use crate::types::*;
use crate::{Errno, Ino};
use nyala_wire::{ErrorCode, FileKind};

/// Whether this is a name that only look-ups by number use.
pub fn is_asked(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

/// The inode itself (`.`), or the directory above it (`..`).
pub async fn lookup(fs: &NyalaFs, ino: Ino, name: &[u8]) -> Result<Entry> {
    let fail = |error: nyala_client::Error| match error.is(ErrorCode::NOT_FOUND) {
        true => Errno::ESTALE,
        false => errno("find by number", ino, error),
    };
    // Who asks a slot that nobody serves waits until somebody does.
    if fs.client.map().slot_target(inode(ino).slot()).is_none() {
        return Err(Errno::ESTALE);
    }
    let (wanted, node) = match name {
        b".." => (fs.client.parent(inode(ino)).await.map_err(fail)?, None),
        _ => (inode(ino), Some((ino.0 >> SHIFT) as u8 & 0b11)),
    };
    let attr = fs.client.getattr(wanted).await.map_err(fail)?;
    let is_dir = attr.kind == FileKind::Directory;
    // Only directories have several nodes.
    if attr.nlink == 0 || (!is_dir && node.is_some_and(|node| node != 0)) {
        return Err(Errno::ESTALE);
    }
    let mut entry = fs.entry(&attr, false, false);
    if is_dir {
        entry.ino = fs.cache.moved.numbered(wanted, node);
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_names_that_are_no_names() {
        assert!(is_asked(b".") && is_asked(b".."));
        assert!(!is_asked(b"...") && !is_asked(b"a") && !is_asked(b".a"));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Directories that are split: each entry is in the fragment that has its cookie, and each fragment counts its own.

use nyala_namespace::keys;
use nyala_namespace::records::{DirPart, EntryRecord, InodeRecord};
use nyala_wire::fragments::CookieRange;
use nyala_wire::{FileKind, InodeId};
use std::collections::BTreeMap;

/// The names of a directory, which are taken out of `entries`.
pub fn names(
    inodes: &BTreeMap<InodeId, InodeRecord>,
    entries: &mut BTreeMap<InodeId, Vec<EntryRecord>>,
    dir: InodeId,
) -> Vec<EntryRecord> {
    let whole = inodes[&dir].dir.as_ref().unwrap();
    assert!(whole.fragments().iter().map(|fragment| fragment.upto).is_sorted(), "fragments of {dir}");
    let mut list = Vec::new();
    for fragment in whole.fragments().iter().map(|fragment| fragment.inode).chain([dir]) {
        let (record, part) = fragment_of(inodes, dir, fragment);
        let here = entries.remove(&fragment).unwrap_or_default();
        assert_eq!(part.entries, here.len() as u64, "entries of {fragment}");
        let subdirs = here.iter().filter(|entry| entry.kind == FileKind::Directory).count();
        assert_eq!(record.nlink as usize, 2 + subdirs, "links of {fragment}");
        let mut cookies = here.iter().map(|entry| keys::cookie(dir, entry.name.as_bytes()));
        assert!(cookies.all(|cookie| part.own_range().has(cookie)), "places in {fragment}");
        list.extend(here);
    }
    list
}

/// A fragment of a directory, or the directory itself.
fn fragment_of(inodes: &BTreeMap<InodeId, InodeRecord>, dir: InodeId, inode: InodeId) -> (&InodeRecord, &DirPart) {
    let record = inodes.get(&inode).unwrap_or_else(|| panic!("fragment {inode} of {dir} is missing"));
    let part = record.dir.as_ref().expect("a directory");
    if inode != dir {
        let whole = inodes[&dir].dir.as_ref().unwrap();
        let at = whole.fragments().iter().position(|fragment| fragment.inode == inode).unwrap();
        let from = at.checked_sub(1).map_or(0, |before| whole.fragments()[before].upto);
        let range = CookieRange { from, upto: whole.fragments()[at].upto };
        assert_eq!((part.parent, part.range), (dir, Some(range)), "fragment {inode}");
    }
    (record, part)
}

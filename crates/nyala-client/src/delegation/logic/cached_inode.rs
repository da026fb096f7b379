// SPDX-License-Identifier: Apache-2.0

//! What is cached of an inode under its delegation, except a file's content.

use super::known_names::KnownNames;
use nyala_wire::meta::Listing;
use nyala_wire::{Attr, FileKind, InodeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is cached of an inode.
#[derive(Debug, Default)]
pub struct CachedInode {
    /// Its attributes; those of a loaded file are with the file.
    pub attr: Option<Attr>,
    /// Target of a symbolic link.
    pub link: Option<Vec<u8>>,
    /// Values of extended attributes; `None` for one that does not exist.
    pub xattrs: HashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Names of all extended attributes.
    pub xattr_names: Option<Vec<Vec<u8>>>,
    /// Names in a directory.
    pub names: KnownNames,
    /// Parts of a directory's listing by the cookie they start after, without attributes.
    listings: BTreeMap<u64, Arc<Listing>>,
}

/// Most extended attributes that are cached of one inode.
const MAX_XATTRS: usize = 64;

impl CachedInode {
    /// Whether it is known to be a directory.
    pub fn is_dir(&self) -> bool {
        self.attr.as_ref().is_some_and(|attr| attr.kind == FileKind::Directory)
    }

    /// How many names it holds.
    pub fn weight(&self) -> usize {
        self.names.weight() + self.listings.values().map(|listing| listing.entries.len()).sum::<usize>()
    }

    /// Forgets all names.
    pub fn drop_names(&mut self) {
        self.names = KnownNames::default();
        self.listings = BTreeMap::new();
    }

    /// What is under a name, if that is known.
    pub fn entry(&self, name: &[u8]) -> Option<Option<InodeId>> {
        self.names.entry(name, self.has_none())
    }

    /// What is under a name; whether it is one more that is kept.
    pub fn put_entry(&mut self, name: Vec<u8>, is: Option<InodeId>) -> bool {
        self.names.put(name, is)
    }

    /// This client changes what is under a name.
    pub fn forget_entry(&mut self, name: &[u8]) {
        let has_none = self.has_none();
        self.names.forget(name, has_none);
    }

    /// Whether to think about asking for all names: after how many that were not there, `first` at least.
    pub fn consider_gathering(&mut self, first: u32) -> Option<u32> {
        let has_none = self.has_none();
        self.names.consider_gathering(first, has_none)
    }

    fn has_none(&self) -> bool {
        // Of a directory that is split, other names may be in other fragments.
        self.attr.as_ref().is_some_and(|attr| attr.kind == FileKind::Directory && attr.size == 0 && !attr.is_split())
    }

    /// Keeps a part of the listing. With the last one that was missing all names are known.
    pub fn put_listing(&mut self, after: u64, part: Listing) {
        for entry in &part.entries {
            self.put_entry(entry.name.as_bytes().to_vec(), Some(entry.inode));
        }
        self.listings.insert(after, Arc::new(part));
        if self.has_whole_listing() {
            self.names.are_all();
        }
    }

    fn has_whole_listing(&self) -> bool {
        let (mut after, mut parts) = (0, 0);
        while let Some(part) = self.listings.get(&after).filter(|_| parts < self.listings.len()) {
            match part.entries.last() {
                _ if part.end => return true,
                Some(last) => (after, parts) = (last.cookie, parts + 1),
                None => return false,
            }
        }
        false
    }

    /// Keeps an extended attribute.
    pub fn put_xattr(&mut self, name: &[u8], value: Option<Vec<u8>>) {
        if self.xattrs.len() < MAX_XATTRS {
            self.xattrs.insert(name.to_vec(), value);
        }
    }

    /// The inode was changed locally: invalidates all but names and content.
    pub fn changed(&mut self) {
        if self.has_none() {
            self.names.are_all();
        }
        self.attr = None;
        self.xattrs = HashMap::new();
        self.xattr_names = None;
    }

    /// The same, and entries of it if it is a directory: its listing is to be asked anew.
    pub fn directory_changed(&mut self) {
        self.changed();
        self.listings.clear();
    }

    /// A part of the listing that starts after `after` and has at most `max` entries.
    pub fn listing(&self, after: u64, max: u32) -> Option<Listing> {
        let part = self.listings.get(&after)?;
        let mut listing = Listing { entries: part.entries.clone(), ..**part };
        if listing.entries.len() > max as usize {
            listing.entries.truncate(max as usize);
            (listing.end, listing.next) = (false, None);
        }
        Some(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::all_names::MAX_UNCERTAIN;
    use super::*;
    use nyala_wire::Name;
    use nyala_wire::meta::ListedEntry;

    const FILE: InodeId = InodeId(77);

    fn directory(size: u64) -> Attr {
        let time = nyala_wire::Time::default();
        Attr {
            inode: InodeId(5),
            kind: FileKind::Directory,
            perm: 0o755,
            nlink: 2,
            uid: 0,
            gid: 0,
            rdev: 0,
            size,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
            allocated: None,
            no_xattrs: true,
            split: None,
        }
    }

    fn part(cookies: std::ops::Range<u64>, end: bool) -> Listing {
        let entry = |cookie: u64| ListedEntry {
            cookie,
            name: Name::new(cookie.to_string().as_bytes()).unwrap(),
            inode: InodeId(cookie),
            kind: FileKind::File,
            attr: None,
        };
        Listing { entries: cookies.map(entry).collect(), end, next: None }
    }

    #[test]
    fn an_empty_directory_has_no_names_but_those_that_are_put_there() {
        let mut dir = CachedInode::default();
        assert_eq!(dir.entry(b"a"), None);
        dir.attr = Some(directory(1));
        assert_eq!(dir.entry(b"a"), None);
        dir.attr = Some(directory(0));
        assert_eq!(dir.entry(b"a"), Some(None));
        dir.directory_changed();
        dir.forget_entry(b"a");
        assert_eq!((dir.entry(b"a"), dir.entry(b"b")), (None, Some(None)), "it is being made");
        assert!(dir.put_entry(b"a".to_vec(), Some(FILE)));
        assert_eq!(dir.entry(b"a"), Some(Some(FILE)));
        dir.forget_entry(b"a");
        assert_eq!(dir.entry(b"a"), None, "nobody has heard whether it was removed");
        dir.drop_names();
        assert_eq!(dir.entry(b"b"), None);
        dir.attr = Some(directory(0));
        dir.directory_changed();
        (0..=MAX_UNCERTAIN).for_each(|number| dir.forget_entry(number.to_string().as_bytes()));
        assert_eq!(dir.entry(b"b"), None);
    }

    #[test]
    fn with_all_of_a_listing_all_names_are_known() {
        let mut dir = CachedInode::default();
        dir.put_listing(5, part(6..8, true));
        assert_eq!((dir.entry(b"7"), dir.entry(b"9")), (Some(Some(InodeId(7))), None), "the beginning is missing");
        dir.forget_entry(b"8");
        dir.put_listing(0, part(1..6, false));
        assert_eq!((dir.entry(b"1"), dir.entry(b"9")), (Some(Some(InodeId(1))), Some(None)));
        let mut gap = CachedInode::default();
        gap.put_listing(0, part(1..3, false));
        gap.put_listing(5, part(6..8, true));
        assert_eq!(gap.entry(b"9"), None);
        let mut still = CachedInode::default();
        still.put_listing(0, Listing { entries: Vec::new(), end: false, next: None });
        still.put_listing(1, part(1..2, false));
        assert_eq!(still.entry(b"9"), None, "and it ends");
        let mut empty = CachedInode::default();
        empty.put_listing(0, part(0..0, true));
        assert_eq!(empty.entry(b"9"), Some(None));
    }
}

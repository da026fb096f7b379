// SPDX-License-Identifier: Apache-2.0

//! What is cached of an inode under its delegation, except a file's content.

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
    /// Names in a directory; `None` for one that does not exist.
    pub entries: HashMap<Vec<u8>, Option<InodeId>>,
    /// Parts of a directory's listing by the cookie they start after, without attributes.
    pub listings: BTreeMap<u64, Arc<Listing>>,
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
        self.entries.len() + self.listings.values().map(|listing| listing.entries.len()).sum::<usize>()
    }

    /// Forgets all names.
    pub fn drop_names(&mut self) {
        self.entries = HashMap::new();
        self.listings = BTreeMap::new();
    }

    /// Keeps an extended attribute.
    pub fn put_xattr(&mut self, name: &[u8], value: Option<Vec<u8>>) {
        if self.xattrs.len() < MAX_XATTRS {
            self.xattrs.insert(name.to_vec(), value);
        }
    }

    /// The inode was changed locally: invalidates all but names and content.
    pub fn changed(&mut self) {
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
        let mut listing = Listing { entries: part.entries.clone(), end: part.end };
        if listing.entries.len() > max as usize {
            listing.entries.truncate(max as usize);
            listing.end = false;
        }
        Some(listing)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The reply to readdir and readdirplus, filled entry by entry until it is full. Pure.

use crate::abi::replies::{Dirent, EntryOut};
use crate::encode;
use crate::types::{Entry, Ino};
use std::mem::size_of;
use zerocopy::{FromZeros, IntoBytes};

/// No reply is larger, whatever size a request names.
const MAX_BYTES: usize = 1 << 20;

/// Takes the entries of a directory, up to the size that the kernel asked for.
#[derive(Debug)]
pub struct DirBuffer {
    bytes: Vec<u8>,
    limit: usize,
    plus: bool,
}

impl DirBuffer {
    /// A buffer for `limit` bytes. `plus`: entries come with attributes (readdirplus).
    pub fn new(limit: usize, plus: bool) -> DirBuffer {
        DirBuffer { bytes: Vec::new(), limit: limit.min(MAX_BYTES), plus }
    }

    /// Whether attributes are asked for.
    pub fn is_plus(&self) -> bool {
        self.plus
    }

    /// How many more entries could fit at the most, at least one: names are short, and rarely so short.
    pub fn room_for(&self) -> u32 {
        /// A name as short as most.
        const NAME_BYTES: usize = 8;
        let head = if self.plus { size_of::<EntryOut>() } else { 0 } + size_of::<Dirent>();
        u32::try_from((self.limit - self.bytes.len()) / (head + NAME_BYTES)).unwrap_or(u32::MAX).max(1)
    }

    /// Whether there is no entry yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a name without attributes (`.` and `..`, or where they are not at hand). `cookie` is where the next
    /// readdir goes on after this entry and is never zero; `kind` is a `DT_…` value. False: full, the entry is not in.
    #[must_use]
    pub fn add(&mut self, ino: u64, cookie: u64, kind: u8, name: &[u8]) -> bool {
        self.push(None, ino, cookie, kind, name)
    }

    /// Adds a name with its inode; the kernel then holds one more reference to the inode, if true is returned and this
    /// is a readdirplus. False: full, the entry is not in.
    #[must_use]
    pub fn add_entry(&mut self, entry: &Entry, cookie: u64, name: &[u8]) -> bool {
        let kind = ((entry.attr.mode & libc::S_IFMT) >> 12) as u8;
        self.push(Some(entry), entry.attr.ino, cookie, kind, name)
    }

    fn push(&mut self, entry: Option<&Entry>, ino: u64, cookie: u64, kind: u8, name: &[u8]) -> bool {
        let head = if self.plus { size_of::<EntryOut>() } else { 0 } + size_of::<Dirent>();
        let padded = (head + name.len()).next_multiple_of(8);
        if padded > self.limit - self.bytes.len() {
            return false;
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.limit.min(64 * 1024));
        }
        if self.plus {
            let out = entry.filter(|entry| entry.ino != Ino(0)).map_or_else(EntryOut::new_zeroed, encode::entry_out);
            self.bytes.extend_from_slice(out.as_bytes());
        }
        let dirent = Dirent { ino, off: cookie, namelen: name.len() as u32, kind: u32::from(kind) };
        self.bytes.extend_from_slice(dirent.as_bytes());
        self.bytes.extend_from_slice(name);
        let end = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(end, 0);
        true
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_padded_and_the_limit_holds() {
        let mut buf = DirBuffer::new(32 + 32 + 31, false);
        assert!(buf.add(5, 1, libc::DT_DIR, b"a"));
        assert!(buf.add(6, 2, libc::DT_REG, b"12345678"));
        assert!(!buf.add(7, 3, libc::DT_REG, b"c"));
        let bytes = buf.into_bytes();
        assert_eq!(bytes.len(), 64);
        assert_eq!((bytes[0], bytes[8], bytes[16], bytes[20], &bytes[24..32]), (5, 1, 1, 4, &b"a\0\0\0\0\0\0\0"[..]));
        assert_eq!((bytes[32], bytes[40], bytes[48], &bytes[56..64]), (6, 2, 8, &b"12345678"[..]));
    }

    #[test]
    fn plus_entries_without_an_inode_are_zero() {
        let mut buf = DirBuffer::new(4096, true);
        assert!(buf.add(5, 1, libc::DT_DIR, b"."));
        let bytes = buf.into_bytes();
        assert_eq!(bytes.len(), 128 + 24 + 8);
        assert!(bytes[..128].iter().all(|byte| *byte == 0));
        assert_eq!(bytes[128], 5);
    }

    #[test]
    fn a_request_for_more_than_any_reply_holds_is_cut() {
        let mut buf = DirBuffer::new(usize::MAX, false);
        let mut count = 0;
        while buf.add(1, count + 1, libc::DT_REG, b"12345678") {
            count += 1;
        }
        assert_eq!(count, (MAX_BYTES / 32) as u64);
    }
}

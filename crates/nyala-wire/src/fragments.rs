// SPDX-License-Identifier: Apache-2.0

//! Directories that are split: entries are spread by a hash of their names over *fragments*, each an inode in a slot of its own.
//!
//! An entry's cookie begins with the hash of its name. Each fragment has the entries whose cookies are in one range. The directory
//! itself has the range behind that of its last fragment, so one that is not split has all. Cookies do not depend on where an entry is.

use crate::ids::InodeId;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

/// Number of entries of one directory whose names can have the same 55-bit hash.
pub const COLLISIONS: u64 = 256;

/// All cookies are below this one.
pub const COOKIE_END: u64 = 1 << 63;

/// The first cookie that a name may have in a directory; it has this one or, when names collide, one of the following
/// [`COLLISIONS`]. SipHash-2-4 of the name under the key (directory, constant), upper 55 bits, never below 256: small
/// cookies are left for `.` and `..`, and all are below [`COOKIE_END`].
pub fn cookie(dir: InodeId, name: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(dir.0, 0x4e79_616c_6120_656e);
    hasher.write(name);
    (hasher.finish() >> 9).max(1) << 8
}

/// An inode with some of a split directory's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Fragment {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// It has the entries whose cookies are below this one, and not below that of the fragment before.
    #[n(1)]
    pub upto: u64,
}

/// Cookies, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CookieRange {
    /// The first one.
    #[n(0)]
    pub from: u64,
    /// The first one behind.
    #[n(1)]
    pub upto: u64,
}

impl CookieRange {
    /// Whether a cookie is in it.
    pub fn has(self, cookie: u64) -> bool {
        (self.from..self.upto).contains(&cookie)
    }

    /// Whether it has no cookies.
    pub fn is_empty(self) -> bool {
        self.from >= self.upto
    }
}

/// An entry on its way between fragments.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FragmentEntry {
    /// Its cookie.
    #[n(0)]
    pub cookie: u64,
    /// Its row, as the tables have it.
    #[n(1)]
    pub row: ByteVec,
}

/// The inode of a directory that has the entries from a cookie on.
pub fn holder(dir: InodeId, fragments: &[Fragment], cookie: u64) -> InodeId {
    fragments.iter().find(|fragment| cookie < fragment.upto).map_or(dir, |fragment| fragment.inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open_and_the_directory_has_the_rest() {
        let fragment = |inode, upto| Fragment { inode: InodeId(inode), upto };
        let (dir, fragments) = (InodeId(9), [fragment(1, 512), fragment(2, 512), fragment(3, 1024)]);
        let holders: Vec<u64> =
            [0, 511, 512, 1023, 1024, COOKIE_END - 1].map(|cookie| holder(dir, &fragments, cookie).0).to_vec();
        assert_eq!(holders, [1, 1, 3, 3, 9, 9]);
        assert_eq!(holder(dir, &[], 7), dir);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What a checkpoint needs of an ordered store on disk; the tree is the one in use, tests bring their own.

use std::ops::Bound;

use crate::StoreError;
use nyala_kv::{Change, Visit};

/// Kept by the ordered store together with its content, and replaced in the same atomic commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointMeta {
    /// Ties the log to the checkpoint.
    pub store_id: u128,
    /// Every record up to this one is in the ordered store.
    pub lsn: u64,
    /// Number of the log segment that replay has to start from.
    pub sequence: u64,
    /// Byte in that segment where the record after `lsn` starts, unless that is in the next segment.
    pub offset: u64,
}

/// What a look at a part of an ordered store found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Pages that were compared with their checksums.
    pub pages: u64,
    /// Those that are not what was written, or cannot be read.
    pub damage: Vec<StoreError>,
    /// Where to go on; `None`: that was the end.
    pub next: Option<Vec<u8>>,
}

/// An ordered map on disk with atomic, durable commits. Readers see the state before or after a commit, never within.
pub trait OrderedStore: Send + Sync {
    /// What the last commit left; `None` for a new store.
    fn meta(&self) -> Result<Option<CheckpointMeta>, StoreError>;
    /// The value of `key`.
    fn get(&self, key: &[u8]) -> Result<Option<crate::Value>, StoreError>;
    /// The same without a read of the disk; `None`: that would take one, or is not known.
    fn peek(&self, key: &[u8]) -> Option<Option<crate::Value>> {
        let _ = key;
        None
    }
    /// A snapshot of the range, in key order.
    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError>;
    /// Compares about so many pages, from `from` on, with their checksums; nothing where there are none.
    fn verify(&self, from: &[u8], pages: u64) -> Verified {
        let (_, _) = (from, pages);
        Verified::default()
    }
    /// Bytes that are allocated and that commits can use, as of the last commit.
    fn free_bytes(&self) -> u64;
    /// Bytes that its content takes, as of the last commit; 0 if it does not know.
    fn used_bytes(&self) -> u64 {
        0
    }
    /// Memory of what was read of it and is kept, bytes; 0 if it keeps nothing by itself.
    fn cached_bytes(&self) -> u64 {
        0
    }
    /// Applies all changes (in key order) and `meta`, atomically and durably.
    fn commit(&self, changes: &mut dyn Iterator<Item = Change<'_>>, meta: CheckpointMeta) -> Result<(), StoreError>;
}

/// Whether no key can lie in the range (a B-tree panics when asked for an inverted one).
pub(crate) fn is_empty_range(from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
    }
}

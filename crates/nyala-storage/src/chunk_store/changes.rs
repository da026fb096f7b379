// SPDX-License-Identifier: Apache-2.0

//! Whether a chunk file has changed since somebody looked: for reads that go on without its worker.
//!
//! **Failure model.** A reader has checksums of one moment and data of a later one. A change in between must be noticed,
//! or the client would see a mismatch that is none. A worker counts before it touches a file; a reader compares after
//! its data is there. Files share counters, so that a reader may see a change that was another's: it then asks the
//! worker, which is only slower.

use nyala_wire::storage::ChunkFileId;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNTERS: usize = 256;

/// Counters of the changes of one worker's files.
pub(super) struct Changes {
    counters: [AtomicU64; COUNTERS],
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { counters: [const { AtomicU64::new(0) }; COUNTERS] }
    }
}

impl Changes {
    fn counter(&self, file: ChunkFileId) -> &AtomicU64 {
        let mixed = (file.inode.0 ^ u64::from(file.index) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.counters[(mixed >> 56) as usize % COUNTERS]
    }

    /// The file is about to change.
    pub fn count(&self, file: ChunkFileId) {
        self.counter(file).fetch_add(1, Ordering::SeqCst);
    }

    /// How often it did.
    pub fn seen(&self, file: ChunkFileId) -> u64 {
        self.counter(file).load(Ordering::SeqCst)
    }
}

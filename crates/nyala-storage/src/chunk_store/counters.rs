// SPDX-License-Identifier: Apache-2.0

//! What a target counts.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)*) => {
        /// Counters of one target; any thread adds.
        #[derive(Debug, Default)]
        pub struct ChunkCounters {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        impl ChunkCounters {
            /// All counters by name.
            pub fn values(&self) -> Vec<(&'static str, u64)> {
                vec![$(($key, self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    /// Writes done.
    writes = "op.write",
    /// Bytes written.
    write_bytes = "write.bytes",
    /// Reads done.
    reads = "op.read",
    /// Bytes read.
    read_bytes = "read.bytes",
    /// Other operations done.
    others = "op.other",
    /// Bytes read and compared by walks.
    checked_bytes = "check.bytes",
    /// Reads and writes done on the thread of their connection.
    without_worker = "op.without_worker",
    /// Reads whose data went to the network from the page cache, without a copy.
    zero_copy = "op.zero_copy",
    /// Operations that failed, for any reason.
    failed = "op.failed",
    /// Writes that arrived damaged.
    damaged = "write.damaged",
    /// Blocks found not to match their checksum.
    checksum_errors = "checksum.errors",
    /// Blocks that were torn in an unacknowledged write and got the checksum of what is there.
    torn_blocks = "recovery.torn_blocks",
    /// Blocks of unsynced files that got the checksum of what is there after a crash of the machine.
    rechecked_blocks = "recovery.rechecked_blocks",
    /// Failures of the file system other than a full disk.
    io_errors = "io.errors",
    /// Syncs that failed.
    sync_errors = "sync.errors",
    /// File syncs done.
    syncs = "sync.count",
    /// Chunk files removed.
    removed = "remove.count",
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

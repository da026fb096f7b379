// SPDX-License-Identifier: Apache-2.0

//! What a target counts.

use nyala_metrics::Counters;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug)]
        pub enum Count {
            $($(#[$doc])* $name,)*
        }

        /// Names, in the order of [`Count`].
        const NAMES: &[&str] = &[$($key),*];
    };
}

counters! {
    /// Writes done.
    Writes = "op.write",
    /// Bytes written.
    WriteBytes = "write.bytes",
    /// Reads done.
    Reads = "op.read",
    /// Bytes read.
    ReadBytes = "read.bytes",
    /// Other operations done.
    Others = "op.other",
    /// Bytes read and compared by walks.
    CheckedBytes = "check.bytes",
    /// Reads and writes done on the thread of their connection.
    WithoutWorker = "op.without_worker",
    /// Reads whose data went to the network from the page cache, without a copy.
    ZeroCopy = "op.zero_copy",
    /// Operations that failed, for any reason.
    Failed = "op.failed",
    /// Writes that arrived damaged.
    Damaged = "write.damaged",
    /// Blocks found not to match their checksum.
    ChecksumErrors = "checksum.errors",
    /// Blocks that were torn in an unacknowledged write and got the checksum of what is there.
    TornBlocks = "recovery.torn_blocks",
    /// Blocks of unsynced files that got the checksum of what is there after a crash of the machine.
    RecheckedBlocks = "recovery.rechecked_blocks",
    /// Failures of the file system other than a full disk.
    IoErrors = "io.errors",
    /// Syncs that failed.
    SyncErrors = "sync.errors",
    /// File syncs done.
    Syncs = "sync.count",
    /// Chunk files removed.
    Removed = "remove.count",
}

/// Counters of one target. Threads add to cells of their own.
#[derive(Debug)]
pub struct ChunkCounters(Counters);

impl Default for ChunkCounters {
    fn default() -> ChunkCounters {
        ChunkCounters(Counters::new(NAMES.len()))
    }
}

impl ChunkCounters {
    /// So many more.
    #[inline]
    pub fn add(&self, what: Count, n: u64) {
        self.0.add(what as usize, n);
    }

    /// How many there were.
    pub fn get(&self, what: Count) -> u64 {
        self.0.get(what as usize)
    }

    /// All counters by name.
    pub fn values(&self) -> Vec<(&'static str, u64)> {
        NAMES.iter().enumerate().map(|(number, name)| (*name, self.0.get(number))).collect()
    }
}

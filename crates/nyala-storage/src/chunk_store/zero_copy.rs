// SPDX-License-Identifier: Apache-2.0

//! Reads of what the page cache has, without a copy.
//!
//! **Failure model.** The bytes leave when the network takes them, which is later: a change that comes in between goes out in part
//! or whole, under the checksums of before. So this is only for those who compare. What is thrown out of the page cache in
//! between is read from the disk by whoever sends it.

use super::counters::Count;
use super::disk::ChunkFile;
use super::optimistic::OptimisticRead;
use nyala_transport::buffers::LARGE;
use std::sync::Arc;

/// Data that the page cache has: to be sent from there, without a copy. What is changed meanwhile is sent old or new, so that
/// whoever gets it may find that it does not match, and has to ask for a compared read.
pub struct ZeroCopyRead {
    /// Where the data starts in the chunk file, bytes.
    pub start: u64,
    /// How much it is, bytes.
    pub len: usize,
    /// CRC-32C of each block, padded with zeros.
    pub crcs: Vec<u32>,
    /// The chunk file.
    pub file: Arc<dyn ChunkFile>,
}

impl OptimisticRead {
    /// The data where it is, if it is large and in memory.
    pub fn zero_copy(&self) -> Option<ZeroCopyRead> {
        let (start, len) = (self.plan.start(), self.plan.there);
        let file = self.handle().filter(|_| len >= LARGE)?;
        let crcs = self.plan.whole_crcs()?;
        if file.descriptor(false).is_none() || !file.is_cached(start, len) {
            return None;
        }
        let counters = &self.shared.counters;
        counters.add(Count::WithoutWorker, 1);
        counters.add(Count::ZeroCopy, 1);
        counters.add(Count::Reads, 1);
        counters.add(Count::ReadBytes, len as u64);
        Some(ZeroCopyRead { start, len, crcs, file: file.clone() })
    }
}

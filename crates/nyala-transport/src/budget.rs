// SPDX-License-Identifier: Apache-2.0

//! A limit on the bytes that requests may occupy at once.
//!
//! **Failure model.** Many peers may send large requests at once, or be faster than the disks. A request's bytes are
//! taken from the budget before they are read from the socket and given back when the last piece of the request is
//! dropped; while nothing is left, nothing is read, and TCP slows the senders down. Body and payload are taken in one
//! step, so that two half-read requests cannot wait for each other. Requests of other servers (replication) have a
//! budget of their own: two servers whose clients filled everything could otherwise wait for each other for ever.

use nyala_wire::frame::{MAX_BODY, MAX_PAYLOAD};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The least that a budget holds: one request of every maximal length.
pub const MIN_BUDGET: usize = 2 * (MAX_BODY + MAX_PAYLOAD);

/// A number of bytes, shared by every connection of a server (and by several servers, if cloned to them).
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    semaphore: Arc<Semaphore>,
    total: usize,
}

/// Bytes taken from a budget; given back when dropped.
pub(crate) type Permit = OwnedSemaphorePermit;

impl MemoryBudget {
    /// A budget of so many bytes, at least [`MIN_BUDGET`].
    pub fn new(bytes: usize) -> MemoryBudget {
        let total = bytes.clamp(MIN_BUDGET, Semaphore::MAX_PERMITS);
        MemoryBudget { semaphore: Arc::new(Semaphore::new(total)), total }
    }

    /// Bytes in all.
    pub fn total_bytes(&self) -> usize {
        self.total
    }

    /// Bytes that requests occupy now.
    pub fn used_bytes(&self) -> usize {
        self.total - self.semaphore.available_permits()
    }

    /// Waits until so many bytes are free. First come, first served.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Permit> {
        debug_assert!(bytes <= MIN_BUDGET, "lengths are bounded before they get here");
        // None only when the semaphore is closed, which nobody does.
        self.semaphore.clone().acquire_many_owned(bytes as u32).await.ok()
    }
}

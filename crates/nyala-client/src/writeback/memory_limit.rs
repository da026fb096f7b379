// SPDX-License-Identifier: Apache-2.0

//! The limit on bytes written and not yet on a server, for the whole client. Writers wait while it is used up, and get
//! room in the order in which they asked: those who write one file together stay close to each other, so that what they
//! write joins into whole units.
//!
//! **Failure model.** A writer may stop waiting at any time: what it was given goes back, and another one sees to it that
//! something is written out.

use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Smallest limit: a few pieces of a write.
pub(crate) const MIN_LIMIT: usize = 512 << 10;

pub(crate) struct MemoryLimit {
    limit: usize,
    room: Semaphore,
    used: AtomicUsize,
    /// Of the used bytes, those on their way to storage.
    flying: AtomicUsize,
    /// Somebody who waits should look whether enough is on its way.
    freed: Notify,
}

impl MemoryLimit {
    pub(crate) fn new(limit: usize) -> MemoryLimit {
        let limit = limit.clamp(MIN_LIMIT, Semaphore::MAX_PERMITS);
        MemoryLimit {
            limit,
            room: Semaphore::new(limit),
            used: AtomicUsize::new(0),
            flying: AtomicUsize::new(0),
            freed: Notify::new(),
        }
    }

    /// Takes bytes if there is room. Callers ask for at most half the limit at a time.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let permit = self.room.try_acquire_many(permits(bytes));
        permit.map(|permit| self.taken(permit, bytes)).is_ok()
    }

    fn taken(&self, permit: SemaphorePermit<'_>, bytes: usize) {
        permit.forget();
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Waits for room; `reclaim` is called while waiting whenever something was freed, and should make sure that more
    /// will be.
    pub(crate) async fn take(&self, bytes: usize, mut reclaim: impl FnMut()) {
        if self.try_take(bytes) {
            return;
        }
        let room = self.room.acquire_many(permits(bytes));
        tokio::pin!(room);
        loop {
            let freed = self.freed.notified();
            reclaim();
            tokio::select! {
                biased;
                permit = &mut room => {
                    // The semaphore is never closed.
                    if let Ok(permit) = permit {
                        self.taken(permit, bytes);
                    }
                    // The others may wait for something that only this one was told of.
                    self.freed.notify_one();
                    return;
                }
                () = freed => {}
            }
        }
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
            assert!(before >= bytes, "{bytes} bytes given back of {before} taken");
            self.room.add_permits(bytes);
            self.freed.notify_one();
        }
    }

    /// Bytes go on their way to storage, or are there or back.
    pub(crate) fn begin_send(&self, bytes: usize) {
        self.flying.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(crate) fn end_send(&self, bytes: usize) {
        let before = self.flying.fetch_sub(bytes, Ordering::AcqRel);
        assert!(before >= bytes, "{bytes} bytes landed of {before} on their way");
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Is enough on its way that those who wait will soon have room?
    pub(crate) fn is_moving(&self) -> bool {
        self.flying.load(Ordering::Acquire) > self.limit / 8
    }

    /// Do half-filled buffers take so much that no more of them should be begun?
    pub(crate) fn is_tight(&self) -> bool {
        self.used().saturating_sub(self.flying.load(Ordering::Acquire)) > self.limit / 2
    }

    /// So much of one file that who goes on behind it is ahead of others.
    pub(crate) fn much(&self) -> usize {
        self.limit / 4
    }

    /// Most bytes that one write takes at a time.
    pub(crate) fn piece(&self) -> usize {
        (self.limit / 4).min(1 << 20)
    }
}

/// Callers take a few MiB at most.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

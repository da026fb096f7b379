// SPDX-License-Identifier: Apache-2.0

//! The limit on bytes written and not yet on a server, for the whole client. Writers wait while it is used up.

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Smallest limit: a few pieces of a write.
pub(crate) const MIN_LIMIT: usize = 512 << 10;

pub(crate) struct Budget {
    limit: usize,
    used: Mutex<usize>,
    freed: Notify,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Budget {
        Budget { limit: limit.max(MIN_LIMIT), used: Mutex::new(0), freed: Notify::new() }
    }

    /// Takes bytes if there is room. Callers ask for at most half the limit at a time.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let mut used = self.used.lock();
        let fits = *used + bytes <= self.limit;
        if fits {
            *used += bytes;
        }
        fits
    }

    /// Waits for room; `pressed` is called before every wait and should make somebody write something out.
    pub(crate) async fn take(&self, bytes: usize, mut pressed: impl FnMut()) {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.try_take(bytes) {
                return;
            }
            pressed();
            freed.await;
        }
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            let mut used = self.used.lock();
            assert!(*used >= bytes, "{bytes} bytes given back of {} taken", *used);
            *used -= bytes;
            drop(used);
            self.freed.notify_waiters();
        }
    }

    pub(crate) fn used(&self) -> usize {
        *self.used.lock()
    }

    /// Is so much used that half-filled buffers should go out as well?
    pub(crate) fn is_tight(&self) -> bool {
        self.used() > self.limit / 4 * 3
    }

    /// Most bytes that one write takes at a time.
    pub(crate) fn piece(&self) -> usize {
        (self.limit / 4).min(1 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_room() {
        let budget = std::sync::Arc::new(Budget::new(MIN_LIMIT));
        assert!(budget.try_take(MIN_LIMIT));
        assert!(!budget.try_take(1));
        let other = budget.clone();
        let waiting = tokio::spawn(async move {
            let mut pressed = 0;
            other.take(10, || pressed += 1).await;
            pressed
        });
        tokio::task::yield_now().await;
        budget.give_back(10);
        assert_eq!(waiting.await.unwrap(), 1);
        assert_eq!(budget.used(), MIN_LIMIT);
    }
}

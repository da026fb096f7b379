// SPDX-License-Identifier: Apache-2.0

//! A member's own view of its lease. Read on every request, so it is two atomics and no lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted from when the last acknowledged heartbeat was sent.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// Time at which two thirds of the lease are over, milliseconds; 0 when there is none.
    until_ms: AtomicU64,
}

impl Lease {
    /// A heartbeat sent at `sent_ms` was acknowledged with a lease of `lease_ms`.
    pub(super) fn renew(&self, sent_ms: u64, lease_ms: u32) {
        self.until_ms.store(sent_ms + u64::from(lease_ms) * 2 / 3, Ordering::Release);
    }

    /// The lease is over now.
    pub(super) fn end(&self) {
        self.until_ms.store(0, Ordering::Release);
    }

    /// Milliseconds for which the member may go on serving.
    pub(super) fn left_ms(&self, now_ms: u64) -> u64 {
        self.until_ms.load(Ordering::Acquire).saturating_sub(now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_from_the_sending() {
        let lease = Lease::default();
        assert_eq!(lease.left_ms(0), 0);
        lease.renew(10_000, 3000);
        assert_eq!((lease.left_ms(10_000), lease.left_ms(11_999), lease.left_ms(12_000)), (2000, 1, 0));
        lease.end();
        assert_eq!(lease.left_ms(10_000), 0);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A member's own view of its lease. Read on every request, so it is atomics and no lock.
//!
//! **Failure model.** A request looks while a heartbeat renews or the service ends. One that sees the new time must see the map version
//! and the period that belong to it, or newer ones; once the lease has ended, no late acknowledgement brings it back. `tests/lease.rs`
//! tries every order of the steps, and what each load may see by the memory model.

use crate::sync::{AtomicU64, Ordering};
use nyala_wire::MapVersion;

/// What `until_ms` holds once the lease is over for good.
const ENDED: u64 = u64::MAX;

/// Counted from when the last acknowledged heartbeat was sent.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// Time at which two thirds of the lease are over, milliseconds; 0 before the first.
    until_ms: AtomicU64,
    /// The newest map version that a lease was granted under.
    version: AtomicU64,
    /// Counts the times without a gap for which the lease was good.
    period: AtomicU64,
}

impl Lease {
    /// A heartbeat sent at `sent_ms` was acknowledged, at `now_ms`, with a lease of `lease_ms`. No effect after [`Lease::end`].
    pub(super) fn renew(&self, sent_ms: u64, now_ms: u64, lease_ms: u32, version: MapVersion) {
        // First: who reads the time first then reads a version and a period that are not older than its.
        self.version.fetch_max(version.0, Ordering::AcqRel);
        if self.left_ms(now_ms) == 0 {
            // By the time of the answer, not of the question: it may have waited at management until after we were offline.
            self.period.fetch_add(1, Ordering::AcqRel);
        }
        let until = sent_ms + u64::from(lease_ms) * 2 / 3;
        // An error means that the lease has ended, and then it stays so.
        let _ = self.until_ms.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now != ENDED).then_some(until));
    }

    /// Until when the member may serve, and the map that it must have for that.
    pub(super) fn until(&self) -> (u64, MapVersion) {
        let until = self.until_ms.load(Ordering::Acquire);
        (if until == ENDED { 0 } else { until }, MapVersion(self.version.load(Ordering::Acquire)))
    }

    /// The number of the present time without a gap, from 1.
    pub(super) fn period(&self) -> u64 {
        self.period.load(Ordering::Acquire)
    }

    /// The lease is over, for good.
    pub(super) fn end(&self) {
        // A read-modify-write, as renewals are: the checker then knows one order of all of them.
        self.until_ms.swap(ENDED, Ordering::AcqRel);
    }

    /// Milliseconds for which the member may go on serving.
    pub(super) fn left_ms(&self, now_ms: u64) -> u64 {
        match self.until_ms.load(Ordering::Acquire) {
            ENDED => 0,
            until => until.saturating_sub(now_ms),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The clocks that requests are measured with. Failure model: none of its own.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A moment of the machine's monotonic clock, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(super) u64);

impl Moment {
    /// The time since an earlier moment; none since a later one.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// How well a request is measured. Both show the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// To the nanosecond: of requests that are followed.
    Exact,
    /// To the kernel's last tick, which is some milliseconds ago at most. Takes a few loads, and asks no counter of the processor.
    Coarse,
}

impl Clock {
    /// The moment that it shows.
    pub fn read(self) -> Moment {
        let now = clock_gettime(match self {
            Clock::Exact => ClockId::Monotonic,
            Clock::Coarse => ClockId::MonotonicCoarse,
        });
        Moment(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
    }
}

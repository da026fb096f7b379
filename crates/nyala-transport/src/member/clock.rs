// SPDX-License-Identifier: Apache-2.0

//! The clock that leases are counted with.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds since the machine started, sleep included; never goes back. (`Instant` stands still while the machine
/// sleeps, and a server that wakes up would take a lease for valid that ended long ago.)
pub fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    (now.tv_sec as u64) * 1_000_000 + (now.tv_nsec as u64) / 1000
}

/// The same in milliseconds.
pub fn monotonic_ms() -> u64 {
    monotonic_us() / 1000
}

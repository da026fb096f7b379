// SPDX-License-Identifier: Apache-2.0

//! What can be set about the rate of a resync.

/// Intervals from one rest to the next; more after a long one, so that it rests a quarter of the time at most.
pub(super) const CYCLE: u32 = 10;
pub(super) const REST_PART: u32 = 4;
/// A rest ends after so many requests, or intervals.
pub(super) const REST_REQUESTS: u64 = 16;
pub(super) const REST_INTERVALS: u32 = 5;

/// Limits of a resync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// Lowest rate, bytes per second.
    pub min_bytes_per_s: u64,
    /// Highest rate, bytes per second.
    pub max_bytes_per_s: u64,
    /// Requests may take so much longer than without a resync, percent; three times that where there are few.
    pub slower_percent: u64,
    /// Length of an interval, milliseconds.
    pub interval_ms: u64,
}

impl Default for ShareLimits {
    fn default() -> ShareLimits {
        ShareLimits { min_bytes_per_s: 8 << 20, max_bytes_per_s: 4 << 30, slower_percent: 8, interval_ms: 100 }
    }
}

/// What is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnderWay {
    /// There is something to copy.
    pub pending: bool,
    /// Copies.
    pub copies: usize,
    /// Clients' requests.
    pub requests: usize,
}

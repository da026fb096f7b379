// SPDX-License-Identifier: Apache-2.0

//! The buckets of every latency histogram: from 8 µs to 16.8 s, each twice the one before, and one for what took longer. One set
//! for all, so that histograms of servers and mounts can be added up.

/// The first bucket ends at 2 to this power, microseconds.
const FIRST: u32 = 3;
/// Bounds of buckets; there is one bucket more.
pub const BOUNDS: usize = 22;
/// Cells of a histogram: its buckets, and the sum of all times, microseconds.
pub(crate) const CELLS: usize = BOUNDS + 2;
pub(crate) const SUM: usize = BOUNDS + 1;

/// The upper bound of a bucket, microseconds: what took exactly so long is in it.
pub fn bound(bucket: usize) -> u64 {
    1 << (FIRST + bucket as u32)
}

/// The bucket of a time.
#[inline]
pub(crate) fn bucket(us: u64) -> usize {
    // The power of two at or above it.
    let power = u64::BITS - us.saturating_sub(1).leading_zeros();
    power.saturating_sub(FIRST).min(BOUNDS as u32) as usize
}

/// A histogram as it was at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Events in each bucket, those of the ones below not counted; the last one has no upper bound.
    pub buckets: [u64; BOUNDS + 1],
    /// Sum of all times, microseconds.
    pub sum_us: u64,
}

impl Snapshot {
    /// Number of events.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl std::ops::AddAssign for Snapshot {
    fn add_assign(&mut self, other: Snapshot) {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, more)| *bucket += more);
        self.sum_us += other.sum_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_bucket_whose_bound_is_not_below_it() {
        for us in (0..70_000).chain([1 << 24, (1 << 24) + 1, u64::MAX]) {
            let expected = (0..BOUNDS).position(|bucket| us <= bound(bucket)).unwrap_or(BOUNDS);
            assert_eq!(bucket(us), expected, "{us} µs");
        }
        assert_eq!((bound(0), bound(BOUNDS - 1)), (8, 16_777_216));
    }
}

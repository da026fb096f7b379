// SPDX-License-Identifier: Apache-2.0

//! Latency histograms.

use crate::buckets::{CELLS, SUM, Snapshot, bucket};
use crate::shards::Shards;
use std::sync::atomic::{AtomicU64, Ordering};

/// A histogram for each of a number of kinds. An event costs its thread two additions to cells of its own.
#[derive(Debug)]
pub struct Histograms(Shards);

impl Histograms {
    /// For kinds below this number.
    pub fn new(kinds: usize) -> Histograms {
        Histograms(Shards::new(kinds * CELLS))
    }

    /// An event of this kind took so long.
    #[inline(always)]
    pub fn add(&self, kind: usize, us: u64) {
        // A kind that there is not would be found by its cell.
        let (cells, first) = (self.0.own(), kind.wrapping_mul(CELLS));
        cells.add(first.wrapping_add(bucket(us)), 1);
        cells.add(first.wrapping_add(SUM), us);
    }

    /// The histogram of one kind.
    pub fn get(&self, kind: usize) -> Snapshot {
        let at = |cell| self.0.sum(kind * CELLS + cell);
        Snapshot { buckets: std::array::from_fn(at), sum_us: at(SUM) }
    }
}

/// One histogram in one place, for what is rare: syncs, checkpoints.
#[derive(Debug)]
pub struct Histogram([AtomicU64; CELLS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([const { AtomicU64::new(0) }; CELLS])
    }
}

impl Histogram {
    /// Something took so long.
    pub fn add(&self, us: u64) {
        self.0[bucket(us)].fetch_add(1, Ordering::Relaxed);
        self.0[SUM].fetch_add(us, Ordering::Relaxed);
    }

    /// What it was.
    pub fn get(&self) -> Snapshot {
        let at = |cell: usize| self.0[cell].load(Ordering::Relaxed);
        Snapshot { buckets: std::array::from_fn(at), sum_us: at(SUM) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_own_buckets_and_sums() {
        let (all, one) = (Histograms::new(3), Histogram::default());
        for us in [1, 8, 9, 5_000_000] {
            all.add(1, us);
            one.add(us);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| all.add(1, 9));
        });
        one.add(9);
        assert_eq!(all.get(1), one.get());
        let got = all.get(1);
        assert_eq!((got.count(), got.sum_us, got.buckets[0], got.buckets[1]), (5, 5_000_027, 2, 2));
        assert_eq!((all.get(0), all.get(2)), (Snapshot::default(), Snapshot::default()));
    }
}

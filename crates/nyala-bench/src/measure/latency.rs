// SPDX-License-Identifier: Apache-2.0

//! Latencies of operations and their percentiles.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest latency that is told apart: an hour, ns.
const MAX_NS: u64 = 3_600_000_000_000;

/// Latencies, to one part in a hundred.
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Latency {
        let histogram = Histogram::new_with_bounds(1, MAX_NS, 2).expect("the bounds are constants that are allowed");
        Latency { histogram }
    }
}

/// Percentiles, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the operations took at most this.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    /// One more operation.
    pub fn record(&mut self, took: Duration) {
        self.histogram.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1));
    }

    /// Takes over what another measured.
    pub fn add(&mut self, other: &Latency) {
        self.histogram.add(&other.histogram).expect("both have the same bounds");
    }

    /// How many operations.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The percentiles; zero without operations.
    pub fn percentiles(&self) -> Percentiles {
        let us = |ns: u64| ns as f64 / 1000.0;
        let at = |quantile| us(self.histogram.value_at_quantile(quantile));
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: us(self.histogram.max()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_spread() {
        let (mut one, mut two) = (Latency::default(), Latency::default());
        (1..=500).for_each(|us| one.record(Duration::from_micros(us)));
        (501..=1000).for_each(|us| two.record(Duration::from_micros(us)));
        one.add(&two);
        assert_eq!(one.count(), 1000);
        let got = one.percentiles();
        for (got, want) in [(got.p50, 500.0), (got.p90, 900.0), (got.p99, 990.0), (got.max, 1000.0)] {
            assert!((got / want - 1.0).abs() < 0.01, "{got} is not {want}");
        }
    }

    #[test]
    fn nothing_and_extremes_are_no_error() {
        let mut latency = Latency::default();
        assert_eq!(latency.percentiles(), Percentiles::default());
        latency.record(Duration::ZERO);
        latency.record(Duration::MAX);
        assert_eq!(latency.count(), 2);
        assert!(latency.percentiles().max >= 3.5e9);
    }
}

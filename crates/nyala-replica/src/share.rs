// SPDX-License-Identifier: Apache-2.0

//! How fast a resync may go: a share of the bandwidth that follows the load.
//!
//! While nobody else works, the rate doubles every interval up to the maximum. While somebody does, the controller compares
//! the mean time of a request with what it was without a resync: clearly slower halves the rate, else it grows by a
//! twentieth of the maximum. It never goes below the minimum, so that a resync ends.

/// Limits of a resync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// Lowest rate, bytes per second.
    pub min_bytes_per_s: u64,
    /// Highest rate, bytes per second.
    pub max_bytes_per_s: u64,
    /// Requests may take so much longer than without a resync, percent.
    pub slower_percent: u64,
    /// Length of an interval, milliseconds.
    pub interval_ms: u64,
}

impl Default for ShareLimits {
    fn default() -> ShareLimits {
        ShareLimits { min_bytes_per_s: 8 << 20, max_bytes_per_s: 4 << 30, slower_percent: 25, interval_ms: 100 }
    }
}

/// The controller of one primary.
#[derive(Clone, Debug)]
pub struct Share {
    limits: ShareLimits,
    rate: u64,
    tokens: u64,
    interval_began_ms: u64,
    requests: u64,
    request_us: u64,
    copied: bool,
    /// Mean time of a request without a resync, microseconds; 0 for not known.
    calm_us: u64,
}

impl Share {
    /// At the minimum, for a start.
    pub fn new(limits: ShareLimits) -> Share {
        let rate = limits.min_bytes_per_s;
        Share { limits, rate, tokens: 0, interval_began_ms: 0, requests: 0, request_us: 0, copied: false, calm_us: 0 }
    }

    /// A client's request took so long.
    pub fn request(&mut self, took_us: u64) {
        self.requests += 1;
        self.request_us = self.request_us.saturating_add(took_us);
    }

    /// Time goes by; `left` says whether there is something to copy.
    pub fn tick(&mut self, now_ms: u64, left: bool) {
        let gone_ms = now_ms.saturating_sub(self.interval_began_ms);
        if gone_ms < self.limits.interval_ms {
            return;
        }
        self.interval_began_ms = now_ms;
        self.adapt();
        // What was not used in an interval is gone: no burst after a pause.
        let tokens = self.rate.saturating_mul(gone_ms.min(2 * self.limits.interval_ms)) / 1000;
        self.tokens = if left { tokens.max(1) } else { 0 };
        (self.requests, self.request_us, self.copied) = (0, 0, false);
    }

    /// Takes the right to copy `bytes`; the last copy of an interval may overdraw.
    pub fn take(&mut self, bytes: u64) -> bool {
        if self.tokens == 0 {
            return false;
        }
        self.tokens = self.tokens.saturating_sub(bytes);
        self.copied = true;
        true
    }

    /// Present rate, bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    fn adapt(&mut self) {
        let ShareLimits { min_bytes_per_s: min, max_bytes_per_s: max, slower_percent, .. } = self.limits;
        let mean_us = self.request_us.checked_div(self.requests).unwrap_or(0);
        if !self.copied && mean_us > 0 {
            self.calm_us = if self.calm_us == 0 { mean_us } else { (7 * self.calm_us + mean_us) / 8 };
        }
        let slower = self.calm_us > 0 && mean_us * 100 > self.calm_us * (100 + slower_percent);
        self.rate = if self.requests == 0 {
            self.rate.saturating_mul(2)
        } else if slower {
            self.rate / 2
        } else {
            self.rate + max / 20
        }
        .clamp(min, max);
    }
}

/// How far a resync is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes copied in this run.
    pub copied_bytes: u64,
    /// Bytes left, as far as is known: regions count in full.
    pub left_bytes: u64,
    /// Mean rate of this run, bytes per second.
    pub bytes_per_s: u64,
    /// Estimated time left, milliseconds; `None` while nothing was copied.
    pub estimate_ms: Option<u64>,
    /// Stopped by an operator.
    pub stopped: bool,
}

impl Progress {
    /// From what was copied since `began_ms`.
    pub fn of(copied_bytes: u64, left_bytes: u64, began_ms: u64, now_ms: u64, stopped: bool) -> Progress {
        let gone_ms = now_ms.saturating_sub(began_ms).max(1);
        let bytes_per_s = copied_bytes.saturating_mul(1000) / gone_ms;
        let estimate_ms = left_bytes.saturating_mul(1000).checked_div(bytes_per_s);
        Progress { copied_bytes, left_bytes, bytes_per_s, estimate_ms, stopped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ShareLimits =
        ShareLimits { min_bytes_per_s: 1000, max_bytes_per_s: 100_000, slower_percent: 25, interval_ms: 100 };

    fn run(share: &mut Share, from: u64, intervals: u64, took_us: Option<u64>) -> u64 {
        let mut copied = 0;
        for n in 0..intervals {
            share.tick((from + n) * 100, true);
            took_us.into_iter().for_each(|us| share.request(us));
            while share.take(50) {
                copied += 50;
            }
        }
        copied
    }

    #[test]
    fn idle_goes_fast_and_load_slows_it_down_but_not_to_nothing() {
        let mut share = Share::new(LIMITS);
        for n in 1..20 {
            share.tick(n * 100, false);
            share.request(1000);
            assert!(!share.take(1), "there is nothing to copy");
        }
        run(&mut share, 20, 20, None);
        assert_eq!(share.rate(), LIMITS.max_bytes_per_s);
        run(&mut share, 40, 20, Some(2000));
        assert_eq!(share.rate(), LIMITS.min_bytes_per_s);
        assert!(run(&mut share, 60, 10, Some(2000)) >= 900, "the minimum is kept");
        run(&mut share, 70, 10, Some(1100));
        assert!(share.rate() > LIMITS.max_bytes_per_s / 4, "requests are as fast as before: {}", share.rate());
    }

    #[test]
    fn progress_estimates() {
        let progress = Progress::of(5000, 10_000, 1000, 3000, false);
        assert_eq!((progress.bytes_per_s, progress.estimate_ms), (2500, Some(4000)));
        assert_eq!(Progress::of(0, 10, 5, 5, true).estimate_ms, None);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! How fast a resync may go: a share of the bandwidth that follows the load.
//!
//! What requests take without copies is measured again and again: at the start of a resync, and then for one interval of
//! each [`CYCLE`], nothing is copied (a *rest*). What the same requests take while copies are under way is compared with that, kind by
//! kind, interval by interval. Clearly slower: the rate goes down by a quarter; else up by a quarter, and until it was too high for
//! the first time, it doubles. Nobody there: it doubles. It never goes below the minimum, so that a resync ends.
//!
//! Before and after are compared within seconds, and with the same members: what requests took before the resync, when one member
//! less had to be written, says nothing.

mod limits;
mod times;

pub use limits::ShareLimits;
use times::Times;

/// Intervals from one rest to the next.
const CYCLE: u32 = 10;
/// A rest ends after so many requests, or intervals.
const REST_REQUESTS: u64 = 16;
const REST_INTERVALS: u32 = 5;
/// The controller of one primary.
#[derive(Clone, Debug, Default)]
pub struct Share {
    limits: ShareLimits,
    rate: u64,
    tokens: u64,
    interval_began_ms: u64,
    /// Whether there was something to copy in the last interval.
    running: bool,
    /// Intervals of the cycle that have passed; the first ones are the rest.
    intervals: u32,
    resting: bool,
    /// Requests of this rest, and whether others ended in it that had begun before.
    rested: u64,
    late: bool,
    /// Until then, copies were under way.
    copied_ms: u64,
    calm: Times,
    busy: Times,
    /// The rate has been too high once.
    found: bool,
}

impl Share {
    /// At the minimum, for a start.
    pub fn new(limits: ShareLimits) -> Share {
        Share { limits, rate: limits.min_bytes_per_s, ..Share::default() }
    }

    /// A client's request of so many bytes was done between these times.
    pub fn request(&mut self, write: bool, bytes: u64, began_ms: u64, now_ms: u64) {
        let us = now_ms.saturating_sub(began_ms).saturating_mul(1000);
        match self.resting {
            false => self.busy.add(write, bytes, us),
            true if began_ms > self.copied_ms => {
                self.rested += 1;
                self.calm.add(write, bytes, us);
            }
            // It began when copies were under way.
            true => self.late = true,
        }
    }

    /// Time goes by; `copying` copies are under way; `left` says whether there is something to copy.
    pub fn tick(&mut self, now_ms: u64, left: bool, copying: usize) {
        if copying > 0 {
            self.copied_ms = now_ms;
        }
        let gone_ms = now_ms.saturating_sub(self.interval_began_ms);
        if gone_ms < self.limits.interval_ms {
            return;
        }
        self.interval_began_ms = now_ms;
        if !left {
            (self.tokens, self.running) = (0, false);
            return;
        }
        if !std::mem::replace(&mut self.running, true) {
            *self = Share {
                running: true,
                interval_began_ms: now_ms,
                copied_ms: self.copied_ms,
                ..Share::new(self.limits)
            };
            return self.rest();
        }
        self.intervals += 1;
        let nobody = self.rested == 0 && !self.late;
        let enough = nobody || self.rested >= REST_REQUESTS || self.intervals >= REST_INTERVALS;
        if self.resting && !enough {
            return;
        }
        if !self.resting {
            self.adapt();
            if self.intervals >= CYCLE {
                return self.rest();
            }
        }
        self.resting = false;
        // What was not used in an interval is gone: no burst after a pause.
        let tokens = self.rate.saturating_mul(gone_ms.min(2 * self.limits.interval_ms)) / 1000;
        self.tokens = tokens.max(1);
    }

    /// Takes the right to copy `bytes`; the last copy of an interval may overdraw.
    pub fn take(&mut self, bytes: u64, now_ms: u64) -> bool {
        if self.tokens == 0 {
            return false;
        }
        self.tokens = self.tokens.saturating_sub(bytes);
        self.copied_ms = now_ms;
        true
    }

    /// A copy has ended.
    pub fn copied(&mut self, now_ms: u64) {
        self.copied_ms = now_ms;
    }

    /// Present rate, bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    fn rest(&mut self) {
        (self.tokens, self.intervals, self.resting) = (0, 0, true);
        (self.rested, self.late) = (0, false);
        self.calm.fade();
    }

    fn adapt(&mut self) {
        let ShareLimits { min_bytes_per_s: min, max_bytes_per_s: max, slower_percent, .. } = self.limits;
        let busy = std::mem::take(&mut self.busy);
        let (took, would) = busy.against(&self.calm);
        let slower = would > 0 && took.saturating_mul(100) > would.saturating_mul(100 + slower_percent);
        self.found |= slower;
        self.rate = match slower {
            true => self.rate - self.rate / 4,
            false if self.found && busy.requests() > 0 => self.rate.saturating_add(self.rate / 4),
            false => self.rate.saturating_mul(2),
        }
        .clamp(min, max);
    }
}

#[cfg(test)]
mod tests;

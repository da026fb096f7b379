// SPDX-License-Identifier: Apache-2.0

//! How fast a resync may go: a share of the bandwidth that follows the load.
//!
//! At the start of a resync, and for one interval of each [`CYCLE`], nothing is copied (a *rest*): what requests take then is compared
//! with what they take while copies are under way (`times`), and the rate follows (`rate`).

mod bucket;
mod limits;
mod rate;
mod times;

use bucket::Bucket;
use limits::{CYCLE, REST_INTERVALS, REST_PART, REST_REQUESTS};
pub use limits::{ShareLimits, UnderWay};
use rate::Seen;
use times::{Times, Verdict};

/// The controller of one primary.
#[derive(Clone, Debug, Default)]
pub struct Share {
    limits: ShareLimits,
    rate: u64,
    tokens: Bucket,
    interval_began_us: u64,
    /// There was something to copy in the last interval.
    running: bool,
    /// Intervals of the cycle that have passed, the first of them are the rest, and how many it has.
    intervals: u32,
    cycle: u32,
    resting: bool,
    /// Requests of this rest, and whether others ended in it that had begun before.
    rested: u64,
    late: bool,
    /// Until then, copies were under way.
    copied_us: u64,
    calm: Times,
    /// What requests took since something followed from it.
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
    pub fn request(&mut self, write: bool, bytes: u64, began_us: u64, now_us: u64) {
        let us = now_us.saturating_sub(began_us);
        match self.resting {
            false => self.busy.add(write, bytes, us),
            true if began_us > self.copied_us => {
                self.rested += 1;
                self.calm.add(write, bytes, us);
            }
            true => self.late = true, // it began when copies were under way
        }
    }

    /// Time goes by.
    pub fn tick(&mut self, now_us: u64, under_way: UnderWay) {
        if under_way.copies > 0 {
            self.copied_us = now_us;
        }
        self.tokens.fill(now_us, if self.resting || !self.running { 0 } else { self.rate }, self.limits.interval_ms);
        let gone_us = now_us.saturating_sub(self.interval_began_us);
        if gone_us < self.limits.interval_ms * 1000 {
            return;
        }
        self.interval_began_us = now_us;
        if !under_way.pending {
            self.tokens.empty();
            self.running = false;
            return;
        }
        if !std::mem::replace(&mut self.running, true) {
            let (copied_us, limits) = (self.copied_us, self.limits);
            *self = Share { running: true, interval_began_us: now_us, copied_us, ..Share::new(limits) };
            return self.rest();
        }
        self.intervals += 1;
        if self.resting {
            let nobody = self.rested == 0 && !self.late && under_way.requests == 0;
            if !nobody && self.rested < REST_REQUESTS && self.intervals < REST_INTERVALS {
                return;
            }
            self.tokens.begin();
            (self.resting, self.cycle) = (false, CYCLE.max(REST_PART * self.intervals));
            return;
        }
        self.adapt(under_way.requests);
        if self.intervals >= self.cycle {
            self.rest();
        }
    }

    /// Takes the right to copy `bytes`; the last copy may overdraw, and is paid for later.
    pub fn take(&mut self, bytes: u64, now_us: u64) -> bool {
        if !self.tokens.take(bytes) {
            return false;
        }
        self.copied_us = now_us;
        true
    }

    /// A copy that `taken` was taken for has only `bytes`: most files are much smaller than a region.
    pub fn sized(&mut self, taken: u64, bytes: u64) {
        self.tokens.sized(taken, bytes);
    }

    /// A copy has ended.
    pub fn copied(&mut self, now_us: u64) {
        self.copied_us = now_us;
    }

    /// Present rate, bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    fn rest(&mut self) {
        self.tokens.empty();
        (self.intervals, self.resting) = (0, true);
        (self.rested, self.late) = (0, false);
        self.calm.fade();
        self.busy.fade();
    }

    /// After an interval, with so many requests under way.
    fn adapt(&mut self, requests: usize) {
        let verdict = self.busy.against(&self.calm, self.limits.slower_percent);
        let nobody = self.busy.requests() == 0 && requests == 0;
        self.found |= matches!(verdict, Verdict::Slower(_));
        let ends = self.intervals >= self.cycle;
        let rate =
            rate::next(&self.limits, self.rate, self.tokens.used(), Seen { verdict, nobody, ends, found: self.found });
        if matches!(verdict, Verdict::Slower(_) | Verdict::Fine) || nobody {
            self.busy = Times::default();
        }
        if std::mem::replace(&mut self.rate, rate) != rate {
            self.tokens.count_anew();
        }
    }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: Apache-2.0

//! The clock of one machine, which may run faster or slower than time does, and whose time of day may be set. Pure.

use super::sched::Nanos;

/// Parts of a rate: a clock of this rate runs as time does.
pub const EVEN: u64 = 1_000_000;

/// What it has counted, and how it goes on.
#[derive(Clone, Copy, Debug)]
pub struct OwnClock {
    /// The time at which its rate was last changed.
    since: Nanos,
    /// What it had counted then.
    counted: Nanos,
    /// What it counts while [`EVEN`] passes.
    rate: u64,
    /// By how much its time of day is ahead.
    ahead: i64,
}

impl Default for OwnClock {
    fn default() -> OwnClock {
        OwnClock { since: 0, counted: 0, rate: EVEN, ahead: 0 }
    }
}

fn scaled(span: Nanos, by: u64, over: u64) -> Nanos {
    // Nearly all clocks are even ones, and are asked all the time.
    if by == over {
        return span;
    }
    (u128::from(span) * u128::from(by)).div_ceil(u128::from(over)).try_into().unwrap_or(Nanos::MAX)
}

impl OwnClock {
    /// What it has counted at a time.
    pub fn counts(&self, now: Nanos) -> Nanos {
        let passed = now.saturating_sub(self.since);
        if self.rate == EVEN {
            return self.counted.saturating_add(passed);
        }
        let since = u128::from(passed) * u128::from(self.rate) / u128::from(EVEN);
        self.counted.saturating_add(since.try_into().unwrap_or(Nanos::MAX))
    }

    /// The time that passes while it counts so much, rounded up: nobody is woken before its own clock says so.
    pub fn lasts(&self, span: Nanos) -> Nanos {
        scaled(span, EVEN, self.rate)
    }

    /// The time at which it has counted so much.
    pub fn reaches(&self, counted: Nanos) -> Nanos {
        self.since.saturating_add(self.lasts(counted.saturating_sub(self.counted)))
    }

    /// What it counts by, with what it is ahead of others in its time of day.
    pub fn ahead(&self) -> i64 {
        self.ahead
    }

    /// Its time of day is set, by so much forwards or backwards.
    pub fn set_ahead(&mut self, ahead: i64) {
        self.ahead = ahead;
    }

    /// From now on it counts `rate` while [`EVEN`] passes.
    pub fn set_rate(&mut self, now: Nanos, rate: u64) {
        (self.counted, self.since, self.rate) = (self.counts(now), now, rate.max(1));
    }

    /// When something is due that was due at `at` by the clock as it was before.
    pub fn moved(&self, before: &OwnClock, at: Nanos) -> Nanos {
        self.reaches(before.counts(at)).max(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_clock_shows_the_time() {
        let clock = OwnClock::default();
        for time in [0, 1, 7_000_000_001, u64::MAX / 2] {
            assert_eq!((clock.counts(time), clock.lasts(time), clock.reaches(time)), (time, time, time));
        }
    }

    #[test]
    fn nobody_wakes_early_by_its_own_clock_and_time_never_goes_back() {
        for rate in [900_000, 999_999, 1_000_001, 1_100_000] {
            let mut clock = OwnClock::default();
            clock.set_rate(5_000_000_000, rate);
            assert_eq!(clock.counts(5_000_000_000), 5_000_000_000);
            for counted in [5_000_000_001, 6_000_000_000, 17_123_456_789] {
                let at = clock.reaches(counted);
                assert!(clock.counts(at) >= counted && clock.counts(at - 2) <= counted, "{rate} {counted} {at}");
            }
            let before = clock;
            clock.set_rate(9_000_000_000, EVEN);
            assert_eq!(clock.counts(9_000_000_000), before.counts(9_000_000_000));
            assert_eq!(clock.counts(clock.moved(&before, 12_000_000_000)), before.counts(12_000_000_000));
            assert_eq!(clock.moved(&before, 8_000_000_000), 9_000_000_000, "what is due stays due");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! How many slow operations there were, and which of them are logged. Pure; failure model: see [`super::slow`].

use super::clock::Moment;
use std::collections::BTreeMap;

/// Most lines in a second.
pub const LINES: u32 = 10;
/// How far back [`SlowOperations::lately`](super::SlowOperations::lately) looks, minutes; the current one counts as whole.
pub const LATELY_MINUTES: u64 = 5;

/// What was seen so far, and what may be logged now. Pure.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many there were, by the part that took longest.
    pub by_part: BTreeMap<&'static str, u64>,
    /// How many there were in the last minutes.
    pub lately: Lately,
    /// The second in which lines were written last, how many, and how many were left out since.
    second: u64,
    lines: u32,
    left_out: u64,
}

impl Seen {
    /// Counts one; with how many were left out before it if it may be logged.
    pub fn take(&mut self, now: Moment, longest: &'static str) -> Option<u64> {
        *self.by_part.entry(longest).or_default() += 1;
        self.lately.add(now);
        let second = now.0 / 1_000_000_000;
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        if self.lines >= LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Counts by minute.
#[derive(Debug, Default)]
pub(super) struct Lately([(u64, u64); LATELY_MINUTES as usize]);

impl Lately {
    fn minute(now: Moment) -> u64 {
        now.0 / 60_000_000_000
    }

    fn add(&mut self, now: Moment) {
        let minute = Lately::minute(now);
        let (of, count) = &mut self.0[(minute % LATELY_MINUTES) as usize];
        if *of != minute {
            (*of, *count) = (minute, 0);
        }
        *count += 1;
    }

    /// Those of the last minutes.
    pub fn count(&self, now: Moment) -> u64 {
        let minute = Lately::minute(now);
        self.0.iter().filter(|(of, _)| of + LATELY_MINUTES > minute).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn lines_are_limited_and_what_is_left_out_is_counted() {
        let mut seen = Seen::default();
        let at = |ms: u64| Moment(100 * SECOND + ms * 1_000_000);
        let logged: Vec<_> = (0..50).filter_map(|_| seen.take(at(0), "disk")).collect();
        assert_eq!(logged, vec![0; LINES as usize]);
        assert_eq!(seen.take(at(999), "log"), None);
        assert_eq!(seen.take(at(1000), "log"), Some(51 - u64::from(LINES)));
        assert_eq!(seen.take(at(1000), "log"), Some(0));
        assert_eq!(seen.by_part, BTreeMap::from([("disk", 50), ("log", 3)]));
    }

    #[test]
    fn the_last_minutes_are_counted_and_no_more() {
        let mut lately = Lately::default();
        let at = |minute: u64| Moment((1000 + minute) * 60 * SECOND);
        lately.add(at(0));
        (0..3).for_each(|_| lately.add(at(2)));
        assert_eq!(lately.count(at(4)), 4);
        assert_eq!(lately.count(at(5)), 3);
        lately.add(at(5));
        assert_eq!((lately.count(at(6)), lately.count(at(7)), lately.count(at(60))), (4, 1, 0));
    }
}

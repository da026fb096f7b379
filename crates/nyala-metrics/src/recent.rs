// SPDX-License-Identifier: Apache-2.0

//! How long operations took lately, and how long those under way have taken so far: what tells a disk that is slow now from one that was.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// "Lately" is so long; "before" is the same time before that.
pub const WINDOW: Duration = Duration::from_secs(5);
/// What began within so long shares a slot.
const SLOT: Duration = Duration::from_secs(1);

/// Operations of one kind, on one disk. Costs its caller a lock, so it is for what waits for a disk.
#[derive(Debug, Default)]
pub struct Recent(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    under_way: BTreeMap<u64, Instant>,
    slots: VecDeque<(Instant, Times)>,
}

/// How many operations ended, and how long they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// All of them together, microseconds.
    pub us: u64,
}

/// What [`Recent`] says of a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lately {
    /// Those that ended in the last [`WINDOW`].
    pub now: Times,
    /// Those that ended in the one before that.
    pub before: Times,
    /// How long the oldest of those under way has taken so far; zero if there is none.
    pub waiting: Duration,
}

/// An operation under way, until it is told its end or is dropped.
#[derive(Debug)]
pub struct Running<'a> {
    recent: &'a Recent,
    number: u64,
    began: Instant,
}

impl Recent {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Whatever a thread did that panicked, these are sums.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation begins.
    pub fn begin(&self, at: Instant) -> Running<'_> {
        let mut inner = self.inner();
        inner.next += 1;
        let number = inner.next;
        inner.under_way.insert(number, at);
        Running { recent: self, number, began: at }
    }

    /// What there was lately.
    pub fn lately(&self, at: Instant) -> Lately {
        let inner = self.inner();
        let mut lately = Lately::default();
        for (began, times) in &inner.slots {
            let part = match at.saturating_duration_since(*began) {
                age if age < WINDOW => &mut lately.now,
                age if age < 2 * WINDOW => &mut lately.before,
                _ => continue,
            };
            part.count += times.count;
            part.us = part.us.saturating_add(times.us);
        }
        // Numbers rise, so the first one began first.
        lately.waiting = inner.under_way.values().next().map_or(Duration::ZERO, |b| at.saturating_duration_since(*b));
        lately
    }
}

impl Running<'_> {
    /// It ended, and was so many operations.
    pub fn end(self, at: Instant, operations: u64) {
        let took = at.saturating_duration_since(self.began);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut inner = self.recent.inner();
        let fits = inner.slots.back().is_some_and(|(began, _)| at.saturating_duration_since(*began) < SLOT);
        if !fits {
            inner.slots.push_back((at, Times::default()));
            while inner.slots.front().is_some_and(|(began, _)| at.saturating_duration_since(*began) >= 2 * WINDOW) {
                inner.slots.pop_front();
            }
        }
        if let Some((_, times)) = inner.slots.back_mut() {
            times.count += operations;
            times.us = times.us.saturating_add(us);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.recent.inner().under_way.remove(&self.number);
    }
}

impl Lately {
    /// As counters by name, `disk.WHOSE.KIND.WHAT`, as STATS has them.
    pub fn counters(&self, whose: &dyn Display, kind: &str) -> Vec<(String, u64)> {
        let waiting = u64::try_from(self.waiting.as_millis()).unwrap_or(u64::MAX);
        let all = [
            ("count", self.now.count),
            ("us", self.now.us),
            ("before_count", self.before.count),
            ("before_us", self.before.us),
            ("waiting_ms", waiting),
        ];
        all.into_iter().map(|(what, value)| (format!("disk.{whose}.{kind}.{what}"), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_ended_is_in_the_window_of_its_end_and_leaves_it() {
        let (recent, start) = (Recent::default(), Instant::now());
        for n in 0..30 {
            recent.begin(start + n * 100 * MS).end(start + n * 100 * MS + 20 * MS, 2);
        }
        let at = |ms: u32| recent.lately(start + ms * MS);
        assert_eq!(at(3000).now, Times { count: 60, us: 600_000 });
        assert_eq!(at(3000).before, Times::default());
        assert_eq!((at(9000).now.count, at(9000).before.count), (0, 60), "a window later");
        let (now, before) = (at(6100).now.count, at(6100).before.count);
        assert!(now > 0 && before > 0 && now + before == 60, "in between: {now} and {before}");
        assert_eq!(at(30_000), Lately::default());
    }

    #[test]
    fn the_oldest_under_way_is_told_until_it_ends_or_is_given_up() {
        let (recent, start) = (Recent::default(), Instant::now());
        let (first, second) = (recent.begin(start), recent.begin(start + 500 * MS));
        let waiting = || recent.lately(start + 2000 * MS).waiting;
        assert_eq!(waiting(), 2000 * MS);
        first.end(start + 1000 * MS, 1);
        assert_eq!(waiting(), 1500 * MS);
        drop(second);
        assert_eq!(waiting(), Duration::ZERO);
        assert_eq!(recent.lately(start + 2000 * MS).now.count, 1, "what is given up is in no mean");
    }

    #[test]
    fn the_memory_is_bounded_however_long_it_lasts() {
        let (recent, start) = (Recent::default(), Instant::now());
        for second in 0..1000 {
            recent.begin(start + second * 1000 * MS).end(start + second * 1000 * MS, 1);
        }
        assert!(recent.inner().slots.len() <= 11);
        assert!(recent.inner().under_way.is_empty());
    }

    #[test]
    fn counters_have_the_names_that_others_read() {
        let lately = Lately { now: Times { count: 1, us: 2 }, before: Times { count: 3, us: 4 }, waiting: 5 * MS };
        let said: Vec<String> = lately.counters(&101, "sync").iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            said.join(" "),
            "disk.101.sync.count=1 disk.101.sync.us=2 disk.101.sync.before_count=3 disk.101.sync.before_us=4 \
             disk.101.sync.waiting_ms=5"
        );
    }
}

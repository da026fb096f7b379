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
        inner.under_way.remove(&self.number);
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
        drop(inner);
        // It owns nothing, and is out of the list already: no second look for it.
        std::mem::forget(self);
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
mod tests;

// SPDX-License-Identifier: Apache-2.0

//! What happens at which time, in order; of what happens at one time, what was set first. Pure.

use super::net::Segment;
use super::sched::{Nanos, Tid};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// What happens at a time.
pub enum Timer {
    /// The wait of a thread with this number is over.
    Wake(Tid, u64),
    Arrival(Segment),
}

struct Entry {
    at: Nanos,
    number: u64,
    timer: Timer,
}

impl Ord for Entry {
    /// The first one is the greatest, which is what a heap gives.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// All that are set.
#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Entry>,
    set: u64,
}

impl Timers {
    pub fn set(&mut self, at: Nanos, timer: Timer) {
        self.set += 1;
        self.heap.push(Entry { at, number: self.set, timer });
    }

    /// When the first one comes.
    pub fn first(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The first one, if its time has come.
    pub fn take_due(&mut self, now: Nanos) -> Option<Timer> {
        let first = self.heap.peek_mut()?;
        (first.at <= now).then(|| PeekMut::pop(first).timer)
    }

    /// Some of them come at other times.
    pub fn move_some(&mut self, which: impl Fn(&Timer) -> bool, to: impl Fn(Nanos) -> Nanos) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        entries.iter_mut().filter(|entry| which(&entry.timer)).for_each(|entry| entry.at = to(entry.at));
        self.heap = entries.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(timers: &mut Timers, now: Nanos) -> Vec<Tid> {
        let taken = std::iter::from_fn(|| timers.take_due(now));
        taken.map(|timer| if let Timer::Wake(thread, _) = timer { thread } else { Tid::MAX }).collect()
    }

    #[test]
    fn they_come_by_their_times_and_then_as_they_were_set() {
        let mut timers = Timers::default();
        for (thread, at) in [(0, 7), (1, 5), (2, 7), (3, 5), (4, 9)] {
            timers.set(at, Timer::Wake(thread, 0));
        }
        assert_eq!(timers.first(), Some(5));
        assert!(order(&mut timers, 4).is_empty());
        assert_eq!(order(&mut timers, 8), [1, 3, 0, 2]);
        assert_eq!(timers.first(), Some(9));
    }

    #[test]
    fn those_that_are_moved_keep_their_numbers() {
        let mut timers = Timers::default();
        (0..6).for_each(|thread| timers.set(10, Timer::Wake(thread, 0)));
        timers.move_some(|timer| matches!(timer, Timer::Wake(1 | 4, _)), |at| at - 3);
        timers.move_some(|timer| matches!(timer, Timer::Wake(2, _)), |at| at + 1);
        assert_eq!(order(&mut timers, 11), [1, 4, 0, 3, 5, 2]);
    }
}

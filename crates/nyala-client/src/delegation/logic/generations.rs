// SPDX-License-Identifier: Apache-2.0

//! Detects replies that predate a local change.
//!
//! A reply that was under way during a local change may show the state before it and must not be cached. A request notes the
//! generation before it is sent; a change marks its beginning and its end. Inodes and names share counters by hash: at
//! worst a reply is not cached that could have been. A change may concern inodes that are not known here (what a removed
//! name pointed to): it then counts for every inode that was not known when the request was sent.

use std::hash::{DefaultHasher, Hash, Hasher};

const COUNTERS: usize = 16_384;

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// When a change last began or ended.
    at: u64,
    running: u32,
}

impl Counter {
    fn quiet_since(&self, noted: u64) -> bool {
        self.running == 0 && self.at <= noted
    }

    fn begin(&mut self, now: u64) {
        self.at = now;
        self.running += 1;
    }

    fn end(&mut self, now: u64) {
        self.at = now;
        self.running = self.running.saturating_sub(1);
    }
}

/// Local changes, under way and completed.
#[derive(Debug)]
pub struct Generations {
    counters: Vec<Counter>,
    /// Changes of things that are not known.
    unknown: Counter,
    /// Beginnings and ends so far.
    now: u64,
}

impl Default for Generations {
    fn default() -> Generations {
        Generations { counters: vec![Counter::default(); COUNTERS], unknown: Counter::default(), now: 0 }
    }
}

/// A generation; `None` while a change is under way.
pub type Noted = Option<u64>;

impl Generations {
    /// The counter of a thing.
    pub fn slot(thing: impl Hash) -> usize {
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        (hasher.finish() % COUNTERS as u64) as usize
    }

    /// Before a request about one thing is sent.
    pub fn note(&self, slot: usize) -> Noted {
        (self.counters[slot].running == 0).then_some(self.now)
    }

    /// Now, whatever is under way: to ask later about a thing that does not exist yet.
    pub fn moment(&self) -> Noted {
        Some(self.now)
    }

    /// It did not change since.
    pub fn same(&self, slot: usize, noted: Noted) -> bool {
        noted.is_some_and(|noted| self.counters[slot].quiet_since(noted))
    }

    /// Before a request about inodes that are not known yet.
    pub fn note_unknown(&self) -> Noted {
        (self.unknown.running == 0).then_some(self.now)
    }

    /// One of them, as it turned out to be, did not change since.
    pub fn same_unknown(&self, slot: usize, noted: Noted) -> bool {
        self.same(slot, noted.filter(|noted| self.unknown.quiet_since(*noted)))
    }

    /// A change begins; what to give to [`Generations::end`].
    pub fn begin(&mut self, slot: usize) -> Noted {
        self.now += 1;
        let counter = &mut self.counters[slot];
        counter.begin(self.now);
        (counter.running == 1).then_some(self.now)
    }

    /// It is over; whether it was the only one meanwhile, so that its outcome is how things are.
    pub fn end(&mut self, slot: usize, begun: Noted) -> bool {
        self.now += 1;
        let alone = begun == Some(self.counters[slot].at);
        self.counters[slot].end(self.now);
        alone
    }

    /// A change of something that is not known begins.
    pub fn begin_unknown(&mut self) {
        self.now += 1;
        self.unknown.begin(self.now);
    }

    /// It is over.
    pub fn end_unknown(&mut self) {
        self.now += 1;
        self.unknown.end(self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_from_before_during_and_after_a_change() {
        let mut generations = Generations::default();
        let (one, other) = (Generations::slot(1), Generations::slot(2));
        assert_ne!(one, other);
        let (before, unknown) = (generations.note(one), generations.note_unknown());
        assert!(generations.same(one, before) && generations.same_unknown(one, unknown));
        let begun = generations.begin(one);
        let (during, unknown_during) = (generations.note(one), generations.note_unknown());
        assert!(
            !generations.same(one, before)
                && !generations.same(one, during)
                && generations.same(other, generations.note(other))
        );
        assert!(!generations.same_unknown(one, unknown) && !generations.same_unknown(one, unknown_during));
        assert!(generations.same_unknown(other, unknown), "it did not turn out to be the one that changed");
        assert!(generations.end(one, begun));
        assert!(!generations.same(one, before) && !generations.same(one, during));
        assert!(!generations.same_unknown(one, unknown) && !generations.same_unknown(one, unknown_during));
        assert!(
            generations.same(one, generations.note(one)) && generations.same_unknown(one, generations.note_unknown())
        );
    }

    #[test]
    fn a_change_of_something_unknown_may_be_of_anything_that_is() {
        let mut generations = Generations::default();
        let (one, before) = (Generations::slot(1), generations.note_unknown());
        let known = generations.note(one);
        generations.begin_unknown();
        assert!(!generations.same_unknown(one, before) && generations.note_unknown().is_none());
        generations.begin_unknown();
        generations.end_unknown();
        assert!(generations.note_unknown().is_none(), "one is still under way");
        generations.end_unknown();
        assert!(!generations.same_unknown(one, before) && generations.same_unknown(one, generations.note_unknown()));
        assert!(generations.same(one, known), "who knows what he asks about has it found and named");
    }

    #[test]
    fn of_two_changes_at_once_neither_outcome_counts() {
        let mut generations = Generations::default();
        let (a, b) = (generations.begin(7), generations.begin(7));
        assert!(!generations.end(7, a));
        assert!(generations.note(7).is_none());
        assert!(!generations.end(7, b));
        let c = generations.begin(7);
        assert!(generations.end(7, c));
    }
}

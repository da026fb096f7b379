// SPDX-License-Identifier: Apache-2.0

//! Is an answer older than a change of this client's own?
//!
//! A reply that was on its way while this client changed something may show how it was before; it must not be kept. Who
//! asks notes first how things stand; who changes says when it begins and ends. Things share counters by hash: at worst
//! an answer is not kept that could have been. Some changes concern things that nobody here knows (what was behind a name
//! that is removed): they concern all that is not known when it is asked about.

use std::hash::{DefaultHasher, Hash, Hasher};

const COUNTERS: usize = 4096;

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

/// Changes under way and done.
#[derive(Debug)]
pub struct Epochs {
    counters: Vec<Counter>,
    /// Changes of things that are not known.
    unknown: Counter,
    /// Beginnings and ends so far.
    now: u64,
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs { counters: vec![Counter::default(); COUNTERS], unknown: Counter::default(), now: 0 }
    }
}

/// How things stood; `None` while they are changing.
pub type Noted = Option<u64>;

impl Epochs {
    /// The counter of a thing.
    pub fn slot(thing: impl Hash) -> usize {
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        (hasher.finish() % COUNTERS as u64) as usize
    }

    /// Before asking about one thing.
    pub fn note(&self, slot: usize) -> Noted {
        (self.counters[slot].running == 0).then_some(self.now)
    }

    /// It did not change since.
    pub fn same(&self, slot: usize, noted: Noted) -> bool {
        noted.is_some_and(|noted| self.counters[slot].quiet_since(noted))
    }

    /// Before asking about things not known yet.
    pub fn note_unknown(&self) -> Noted {
        (self.unknown.running == 0).then_some(self.now)
    }

    /// One of them, as it turned out to be, did not change since.
    pub fn same_unknown(&self, slot: usize, noted: Noted) -> bool {
        self.same(slot, noted.filter(|noted| self.unknown.quiet_since(*noted)))
    }

    /// A change begins; what to give to [`Epochs::end`].
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
        let mut epochs = Epochs::default();
        let (one, other) = (Epochs::slot(1), Epochs::slot(2));
        assert_ne!(one, other);
        let (before, unknown) = (epochs.note(one), epochs.note_unknown());
        assert!(epochs.same(one, before) && epochs.same_unknown(one, unknown));
        let begun = epochs.begin(one);
        let (during, unknown_during) = (epochs.note(one), epochs.note_unknown());
        assert!(!epochs.same(one, before) && !epochs.same(one, during) && epochs.same(other, epochs.note(other)));
        assert!(!epochs.same_unknown(one, unknown) && !epochs.same_unknown(one, unknown_during));
        assert!(epochs.same_unknown(other, unknown), "it did not turn out to be the one that changed");
        assert!(epochs.end(one, begun));
        assert!(!epochs.same(one, before) && !epochs.same(one, during));
        assert!(!epochs.same_unknown(one, unknown) && !epochs.same_unknown(one, unknown_during));
        assert!(epochs.same(one, epochs.note(one)) && epochs.same_unknown(one, epochs.note_unknown()));
    }

    #[test]
    fn a_change_of_something_unknown_may_be_of_anything_that_is() {
        let mut epochs = Epochs::default();
        let (one, before) = (Epochs::slot(1), epochs.note_unknown());
        let known = epochs.note(one);
        epochs.begin_unknown();
        assert!(!epochs.same_unknown(one, before) && epochs.note_unknown().is_none());
        epochs.begin_unknown();
        epochs.end_unknown();
        assert!(epochs.note_unknown().is_none(), "one is still under way");
        epochs.end_unknown();
        assert!(!epochs.same_unknown(one, before) && epochs.same_unknown(one, epochs.note_unknown()));
        assert!(epochs.same(one, known), "who knows what he asks about has it found and named");
    }

    #[test]
    fn of_two_changes_at_once_neither_outcome_counts() {
        let mut epochs = Epochs::default();
        let (a, b) = (epochs.begin(7), epochs.begin(7));
        assert!(!epochs.end(7, a));
        assert!(epochs.note(7).is_none());
        assert!(!epochs.end(7, b));
        let c = epochs.begin(7);
        assert!(epochs.end(7, c));
    }
}

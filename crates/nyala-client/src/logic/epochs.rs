// SPDX-License-Identifier: Apache-2.0

//! Is an answer older than a change of this client's own?
//!
//! A reply that was on its way while this client changed something may show how it was before; it must not be kept. Who
//! asks notes first how things stand; who changes says when it begins and ends. Things share counters by hash: at worst
//! an answer is not kept that could have been.

use std::hash::{DefaultHasher, Hash, Hasher};

const COUNTERS: usize = 4096;

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    epoch: u64,
    running: u32,
}

/// Changes under way and done.
#[derive(Debug)]
pub struct Epochs {
    counters: Vec<Counter>,
    all: Counter,
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs { counters: vec![Counter::default(); COUNTERS], all: Counter::default() }
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
        (self.counters[slot].running == 0).then_some(self.counters[slot].epoch)
    }

    /// Nothing changed since.
    pub fn same(&self, slot: usize, noted: Noted) -> bool {
        noted == Some(self.counters[slot].epoch)
    }

    /// Before asking about things not known yet.
    pub fn note_all(&self) -> Noted {
        (self.all.running == 0).then_some(self.all.epoch)
    }

    /// Nothing at all changed since.
    pub fn all_same(&self, noted: Noted) -> bool {
        noted == Some(self.all.epoch)
    }

    /// A change begins; what to give to [`Epochs::end`].
    pub fn begin(&mut self, slot: usize) -> Noted {
        self.all.epoch += 1;
        self.all.running += 1;
        let counter = &mut self.counters[slot];
        counter.epoch += 1;
        counter.running += 1;
        (counter.running == 1).then_some(counter.epoch)
    }

    /// It is over; whether it was the only one meanwhile, so that its outcome is how things are.
    pub fn end(&mut self, slot: usize, begun: Noted) -> bool {
        self.all.epoch += 1;
        self.all.running = self.all.running.saturating_sub(1);
        let counter = &mut self.counters[slot];
        let alone = begun == Some(counter.epoch);
        counter.epoch += 1;
        counter.running = counter.running.saturating_sub(1);
        alone
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
        let (before, all) = (epochs.note(one), epochs.note_all());
        assert!(epochs.same(one, before) && epochs.all_same(all));
        let begun = epochs.begin(one);
        let during = epochs.note(one);
        assert!(!epochs.same(one, before) && !epochs.same(one, during) && epochs.same(other, epochs.note(other)));
        assert!(epochs.note_all().is_none());
        assert!(epochs.end(one, begun));
        assert!(!epochs.same(one, before) && !epochs.same(one, during) && !epochs.all_same(all));
        assert!(epochs.same(one, epochs.note(one)) && epochs.all_same(epochs.note_all()));
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

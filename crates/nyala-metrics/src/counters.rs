// SPDX-License-Identifier: Apache-2.0

//! Counters by kind.

use crate::shards::Shards;

/// A counter for each of a number of kinds.
#[derive(Debug)]
pub struct Counters(Shards);

impl Counters {
    /// For kinds below this number.
    pub fn new(kinds: usize) -> Counters {
        Counters(Shards::new(kinds))
    }

    /// So many more of this kind.
    #[inline]
    pub fn add(&self, kind: usize, n: u64) {
        self.0.own().add(kind, n);
    }

    /// How many there were.
    pub fn get(&self, kind: usize) -> u64 {
        self.0.sum(kind)
    }
}

/// One counter that many threads add to.
#[derive(Debug)]
pub struct Counter(Shards);

impl Default for Counter {
    fn default() -> Counter {
        Counter(Shards::new(1))
    }
}

impl Counter {
    /// So many more.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.own().add(0, n);
    }

    /// How many there were.
    pub fn get(&self) -> u64 {
        self.0.sum(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_apart_and_over_all_threads() {
        let counters = Counters::new(20);
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| (0..20).for_each(|kind| counters.add(kind, kind as u64)))));
        });
        assert_eq!((counters.get(0), counters.get(7), counters.get(19)), (0, 28, 76));
    }
}

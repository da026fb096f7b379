// SPDX-License-Identifier: Apache-2.0

//! Chance from a seed: SplitMix64 with what a world needs besides.

use nyala_wire::SplitMix64;
use std::ops::Range;

/// A sequence determined by its seed.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A sequence of its own that follows from this one.
    pub fn fork(&mut self) -> Random {
        Random::new(self.bits())
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit.max(1))
    }

    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    pub fn range(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of them, if there is any.
    pub fn pick_of<T>(&mut self, mut of: Vec<T>) -> Option<T> {
        let at = self.index(of.len());
        (at < of.len()).then(|| of.swap_remove(at))
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }
}

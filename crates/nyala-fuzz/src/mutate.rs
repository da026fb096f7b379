// SPDX-License-Identifier: Apache-2.0

//! Inputs that nearly are what they were made from.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// Longest input, bytes.
const MOST: usize = 16 << 10;
/// Numbers at which code goes wrong: borders of lengths, counts and signs.
const EDGES: [u64; 12] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 60, u64::MAX];

/// A sequence of mutations; a seed gives the same one always.
pub struct Mutator {
    seed: u64,
    drawn: u64,
}

impl Mutator {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { seed, drawn: 0 }
    }

    /// A number below `limit`, or 0.
    fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        let bits = BuildHasherDefault::<DefaultHasher>::default().hash_one((self.seed, self.drawn));
        (bits % limit.max(1) as u64) as usize
    }

    fn range(&mut self, len: usize) -> Range<usize> {
        let start = self.below(len + 1);
        start..start + self.below((len - start).min(64) + 1)
    }

    /// One of the inputs, changed in a few places.
    pub fn next(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = pool.get(self.below(pool.len())).cloned().unwrap_or_default();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, pool);
        }
        bytes.truncate(MOST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let len = bytes.len();
        match self.below(9) {
            0 if len > 0 => bytes[self.below(len)] ^= 1 << self.below(8),
            1 if len > 0 => bytes[self.below(len)] = EDGES[self.below(5)] as u8,
            2 if len > 0 => bytes[self.below(len)] = self.below(256) as u8,
            3 if len > 0 => {
                let at = self.below(len);
                bytes[at] = bytes[at].wrapping_add(if self.below(2) == 0 { 1 } else { u8::MAX });
            }
            4 if len > 0 => {
                // A whole number, least significant byte first or last.
                let (at, width) = (self.below(len), 1 << self.below(4));
                let mut number = EDGES[self.below(EDGES.len())].to_le_bytes()[..width].to_vec();
                if self.below(2) == 0 {
                    number.reverse();
                }
                let end = len.min(at + width);
                bytes[at..end].copy_from_slice(&number[..end - at]);
            }
            5 => bytes.truncate(self.below(len + 1)),
            6 => drop(bytes.drain(self.range(len))),
            7 => {
                let (from, at) = (self.range(len), self.below(len + 1));
                let copy = bytes[from].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let other = pool.get(self.below(pool.len())).map_or(&[][..], Vec::as_slice);
                let (from, into) = (self.range(other.len()), self.range(len));
                bytes.splice(into, other[from].iter().copied());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_changes_and_another_one_others() {
        let pool = vec![vec![7; 40], vec![9; 10], Vec::new()];
        let run = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..500).map(|_| mutator.next(&pool)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert!(run(1).iter().any(|bytes| bytes.len() > 40) && run(1).iter().any(Vec::is_empty));
    }

    #[test]
    fn nothing_to_start_from_and_very_long_inputs_are_no_error() {
        let mut mutator = Mutator::new(3);
        assert!((0..200).all(|_| mutator.next(&[]).is_empty()));
        let long = vec![vec![1; MOST]];
        assert!((0..200).all(|_| mutator.next(&long).len() <= MOST));
    }
}

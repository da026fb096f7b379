// SPDX-License-Identifier: Apache-2.0

//! Counts by a key that is known only at run time: who asks.

use crate::shards::{Cells, Shards};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// What stands for those whom [`ByKey`] has no place for.
pub const OTHERS_WORD: &str = "others";

/// Keys in a shard; a power of two.
const KEYS: usize = 1024;
/// Places that are looked at for a key.
const PROBES: usize = 16;
/// Under this key is counted what found no place.
pub const OTHERS: u64 = u64::MAX;

/// Counters for each of up to about a thousand keys, `N` for a key. Never more memory than that, whoever asks: what finds no place is
/// counted under [`OTHERS`].
#[derive(Debug)]
pub struct ByKey<const N: usize>(Shards);

impl<const N: usize> Default for ByKey<N> {
    fn default() -> ByKey<N> {
        ByKey(Shards::new((KEYS + 1) * (N + 1)))
    }
}

impl<const N: usize> ByKey<N> {
    /// So many more of each for this key.
    #[inline(always)]
    pub fn add(&self, key: u64, more: [u64; N]) {
        let cells = self.0.own();
        let start = start(key);
        let place = match cells.at(start * (N + 1)).load(Ordering::Relaxed) == key.wrapping_add(1) {
            true => start,
            false => find::<N>(cells, key),
        };
        for (n, more) in more.iter().enumerate() {
            if *more > 0 {
                cells.add(place * (N + 1) + 1 + n, *more);
            }
        }
    }

    /// The counts of every key.
    pub fn get(&self) -> BTreeMap<u64, [u64; N]> {
        let mut all = BTreeMap::new();
        for cells in self.0.all() {
            for place in 0..=KEYS {
                let first = place * (N + 1);
                // A place holds its key plus one, so that 0 is a free one.
                let key = match (place, cells.at(first).load(Ordering::Relaxed)) {
                    (KEYS, _) => OTHERS,
                    (_, 0) => continue,
                    (_, held) => held - 1,
                };
                let counts: &mut [u64; N] = all.entry(key).or_insert([0; N]);
                for (n, count) in counts.iter_mut().enumerate() {
                    *count += cells.at(first + 1 + n).load(Ordering::Relaxed);
                }
            }
        }
        all.retain(|key, counts| *key != OTHERS || counts.iter().any(|count| *count > 0));
        all
    }
}

/// Where a key is looked for first. Fibonacci hashing: the upper bits of the product depend on all bits of the key.
#[inline(always)]
fn start(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KEYS.ilog2())) as usize
}

/// The place of a key, taken if it has none.
#[cold]
fn find<const N: usize>(cells: Cells<'_>, key: u64) -> usize {
    if key == OTHERS {
        return KEYS;
    }
    for probe in 0..PROBES {
        let place = (start(key) + probe) % KEYS;
        let held = cells.at(place * (N + 1));
        // Somebody may have taken the free place meanwhile, for this key or for another.
        match held.compare_exchange(0, key + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return place,
            Err(held) if held == key + 1 => return place,
            Err(_) => {}
        }
    }
    KEYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_apart_and_over_all_threads() {
        let counts = ByKey::<2>::default();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..100).for_each(|key| counts.add(key * 7919, [1, key])));
            }
        });
        let all = counts.get();
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|(key, counts)| *counts == [40, 40 * key / 7919]), "{all:?}");
    }

    #[test]
    fn strangers_beyond_the_room_are_counted_together() {
        let counts = ByKey::<1>::default();
        (0..10_000).for_each(|key| counts.add(key, [1]));
        let all = counts.get();
        assert!(all.len() <= KEYS + 1 && all[&OTHERS] > [8000], "{} keys", all.len());
        assert_eq!(all.values().map(|[count]| count).sum::<u64>(), 10_000);
    }
}

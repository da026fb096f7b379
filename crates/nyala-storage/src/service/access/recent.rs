// SPDX-License-Identifier: Apache-2.0

//! What clients have shown, in bounded memory: the newest is kept.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;

/// Entries that are remembered for sure; up to twice as many are.
pub const REMEMBERED: usize = 1 << 16;

/// A map of what was shown last.
pub struct Recent<K, V> {
    /// The newer half, and the older one, which goes when the newer is full.
    halves: Mutex<[HashMap<K, V>; 2]>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent { halves: Mutex::new([HashMap::new(), HashMap::new()]) }
    }
}

impl<K: Eq + Hash, V: Copy + Ord> Recent<K, V> {
    /// What is remembered of it: the greatest that was shown.
    pub fn get(&self, key: &K) -> Option<V> {
        let [newer, older] = &*self.halves.lock();
        newer.get(key).max(older.get(key)).copied()
    }

    /// Remembers it.
    pub fn remember(&self, key: K, value: V) {
        let mut halves = self.halves.lock();
        if halves[0].len() >= REMEMBERED {
            halves.swap(0, 1);
            halves[0].clear();
        }
        let known = halves[0].entry(key).or_insert(value);
        *known = value.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_are_kept() {
        let known = Recent::default();
        let all = 3 * REMEMBERED;
        (0..all).for_each(|n| known.remember(n, ()));
        let kept = (0..all).filter(|n| known.get(n).is_some()).count();
        assert!((REMEMBERED..=2 * REMEMBERED).contains(&kept), "{kept}");
        assert!((all - REMEMBERED..all).all(|n| known.get(&n).is_some()));
    }

    #[test]
    fn the_greatest_that_was_shown_counts() {
        let known = Recent::default();
        known.remember("a", 2);
        known.remember("a", 1);
        assert_eq!((known.get(&"a"), known.get(&"b")), (Some(2), None));
    }
}

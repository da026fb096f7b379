// SPDX-License-Identifier: Apache-2.0

//! Maps by numbers that this server, or another member, gives out in order: no stranger chooses them, so that they need no hash that is
//! made for strangers, which costs several times as much. The same steps leave the same map, in every run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by such numbers; nothing may depend on the order of its values.
pub type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Mixes numbers.
#[derive(Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing; the odd factor is 2^64 by the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The map takes its place from the low bits, where the product is not mixed.
        self.0.rotate_left(20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::hash::BuildHasher;

    #[test]
    fn numbers_in_order_are_spread() {
        let map: ByNumber<u64, ()> = ByNumber::default();
        for place in [|hash: u64| hash & 1023, |hash: u64| hash >> 54] {
            let places: BTreeSet<u64> = (0..1024_u64).map(|number| place(map.hasher().hash_one(number))).collect();
            assert!(places.len() > 512, "{}", places.len());
        }
        assert_ne!(map.hasher().hash_one((1_u16, 2_u16)), map.hasher().hash_one((2_u16, 1_u16)));
    }
}

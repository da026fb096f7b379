// SPDX-License-Identifier: Apache-2.0

//! A table by inode that grows piece by piece.
//!
//! A hash table that is full moves all it has into one twice as large, whose memory the kernel zeroes first: with a million
//! delegations that takes so long that every client notices. Of one in many parts a part at a time does it.

use nyala_wire::InodeId;
use std::collections::HashMap;

/// Bits of an inode's hash that choose its part.
const BITS: u32 = 8;

/// What is kept by inode.
#[derive(Debug)]
pub struct ShardedMap<V> {
    parts: Vec<HashMap<InodeId, V>>,
}

impl<V> Default for ShardedMap<V> {
    fn default() -> ShardedMap<V> {
        ShardedMap { parts: (0..1 << BITS).map(|_| HashMap::new()).collect() }
    }
}

/// Multiplied by 2^64 divided by the golden ratio, consecutive numbers go to parts far from each other.
fn part(inode: InodeId) -> usize {
    (inode.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)) as usize
}

impl<V> ShardedMap<V> {
    /// What is kept of an inode.
    pub fn get(&self, inode: InodeId) -> Option<&V> {
        self.parts[part(inode)].get(&inode)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, inode: InodeId) -> Option<&mut V> {
        self.parts[part(inode)].get_mut(&inode)
    }

    /// The same, made if there is nothing.
    pub fn or_default(&mut self, inode: InodeId) -> &mut V
    where
        V: Default,
    {
        self.parts[part(inode)].entry(inode).or_default()
    }

    /// Keeps nothing of an inode any more.
    pub fn remove(&mut self, inode: InodeId) -> Option<V> {
        self.parts[part(inode)].remove(&inode)
    }

    /// All that is kept, in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.parts.iter().flat_map(HashMap::values)
    }

    /// All of them, by inode.
    pub fn iter(&self) -> impl Iterator<Item = (InodeId, &V)> {
        self.parts.iter().flatten().map(|(inode, value)| (*inode, value))
    }

    /// Keeps only what `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(InodeId, &mut V) -> bool) {
        self.parts.iter_mut().for_each(|part| part.retain(|inode, value| keep(*inode, value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn is_a_table(ops in proptest::collection::vec((0_u8..4, 0_u64..40, any::<u8>()), 0..200)) {
            let (mut spread, mut model) = (ShardedMap::default(), BTreeMap::new());
            for (op, inode, value) in ops {
                match op {
                    0 => *spread.or_default(InodeId(inode)) = value,
                    1 => prop_assert_eq!(spread.remove(InodeId(inode)), model.remove(&inode)),
                    2 => spread.get_mut(InodeId(inode)).into_iter().for_each(|had| *had = value),
                    _ => spread.retain(|_, had| *had >= value),
                }
                match op {
                    0 => { model.insert(inode, value); }
                    2 => { model.entry(inode).and_modify(|had| *had = value); }
                    3 => model.retain(|_, had| *had >= value),
                    _ => {}
                }
                prop_assert_eq!(spread.get(InodeId(inode)), model.get(&inode));
                let (mut all, mut wanted): (Vec<u8>, Vec<u8>) = (spread.values().copied().collect(), model.values().copied().collect());
                all.sort_unstable();
                wanted.sort_unstable();
                prop_assert_eq!(all, wanted);
            }
        }
    }

    #[test]
    fn inodes_in_a_row_go_to_all_parts_alike() {
        let mut spread = ShardedMap::default();
        (1 << 32..(1 << 32) + 64_000).for_each(|number| *spread.or_default(InodeId(number)) = ());
        let sizes: Vec<usize> = spread.parts.iter().map(HashMap::len).collect();
        assert!(sizes.iter().all(|size| (200..300).contains(size)), "{sizes:?}");
    }
}

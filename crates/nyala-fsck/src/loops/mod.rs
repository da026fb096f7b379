// SPDX-License-Identifier: Apache-2.0

//! Directories that hang in a loop instead of below the root, found in bounded memory.
//!
//! Every directory has one above. Each round replaces, for every directory, an ancestor by that one's ancestor of the same distance, so
//! the distance doubles: after `k` rounds it is 2^k, and whoever hangs below the root has arrived there. What never arrives leads into
//! a loop; the ancestors of those become fewer from round to round, until only members of loops are left: then their number stays.
//! A round is two external sorts. Directories below one that does not exist arrive nowhere, and are not in a loop.

mod members;

pub use members::Loops;

use crate::sort::{Scratch, Sorted, Sorter};
use nyala_wire::InodeId;
use std::collections::BTreeMap;
use std::io;

/// Members of loops that are kept; of more the loops are reported in a later check.
pub const KEPT_MEMBERS: usize = 10_000;
/// More than the logarithm of any number of directories.
const MOST_ROUNDS: u32 = 64;
/// Where a directory arrives whose ancestor does not exist.
const NOWHERE: u64 = 0;

const RECORD_BYTES: usize = 24;

/// Three numbers in the order in which they are compared.
fn record(first: u64, second: u64, third: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    for (place, number) in bytes.chunks_exact_mut(8).zip([first, second, third]) {
        place.copy_from_slice(&number.to_be_bytes()); // why big-endian: records are ordered by their bytes
    }
    bytes
}

fn parse(record: &[u8]) -> io::Result<[u64; 3]> {
    let record: &[u8; RECORD_BYTES] = record.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let mut numbers = [0; 3];
    for (number, place) in numbers.iter_mut().zip(record.chunks_exact(8)) {
        *number = place.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    }
    Ok(numbers)
}

/// The pairs of a round, ordered in both ways: (directory, ancestor, above) and (ancestor, directory, above).
pub struct Pairs {
    by_dir: Sorter,
    by_ancestor: Sorter,
    limit: usize,
}

impl Pairs {
    /// None yet. `limit`: bytes in memory.
    pub fn new(limit: usize) -> Pairs {
        Pairs { by_dir: Sorter::new(limit / 4), by_ancestor: Sorter::new(limit / 4), limit }
    }

    /// Bytes in memory now.
    pub fn in_memory(&self) -> usize {
        self.by_dir.in_memory() + self.by_ancestor.in_memory()
    }

    /// A directory, and the one above it. The root is its own.
    pub fn push(&mut self, scratch: &mut dyn Scratch, dir: InodeId, above: InodeId) -> io::Result<()> {
        let above = if dir == InodeId::ROOT { dir.0 } else { above.0 };
        self.add(scratch, dir.0, above, above)
    }

    fn add(&mut self, scratch: &mut dyn Scratch, dir: u64, ancestor: u64, above: u64) -> io::Result<()> {
        self.by_dir.push(scratch, &record(dir, ancestor, above))?;
        self.by_ancestor.push(scratch, &record(ancestor, dir, above))
    }

    /// Finds the loops.
    pub fn loops(self, scratch: &mut dyn Scratch) -> io::Result<Loops> {
        let (mut pairs, mut before) = (self, (u64::MAX, u64::MAX));
        for _ in 0..MOST_ROUNDS {
            let limit = pairs.limit;
            let (by_dir, by_ancestor) = (pairs.by_dir.finish(scratch)?, pairs.by_ancestor.finish(scratch)?);
            let mut next = Pairs::new(limit);
            let open = round(scratch, by_dir, by_ancestor, &mut next)?;
            if open.0 == 0 {
                return Ok(Loops::default());
            }
            if open == before {
                return next.members(scratch);
            }
            (pairs, before) = (next, open);
        }
        Err(io::Error::other("directories do not come to an end"))
    }

    /// All ancestors that are left are members of loops.
    fn members(self, scratch: &mut dyn Scratch) -> io::Result<Loops> {
        let (mut by_ancestor, mut above) = (self.by_ancestor.finish(scratch)?, BTreeMap::new());
        while let Some(record) = by_ancestor.next()? {
            let [ancestor, ..] = parse(record)?;
            if is_open(ancestor) && above.len() < KEPT_MEMBERS {
                above.insert(InodeId(ancestor), InodeId(NOWHERE));
            }
        }
        let mut by_dir = self.by_dir.finish(scratch)?;
        while let Some(record) = by_dir.next()? {
            let [dir, _, parent] = parse(record)?;
            if let Some(place) = above.get_mut(&InodeId(dir)) {
                *place = InodeId(parent);
            }
        }
        Ok(Loops { above })
    }
}

fn is_open(ancestor: u64) -> bool {
    ancestor != NOWHERE && ancestor != InodeId::ROOT.0
}

/// Doubles all distances; how many directories have not arrived, and how many ancestors those have together.
fn round(
    scratch: &mut dyn Scratch,
    mut by_dir: Sorted,
    mut by_ancestor: Sorted,
    next: &mut Pairs,
) -> io::Result<(u64, u64)> {
    let (mut open, mut ancestors, mut last) = (0, 0, NOWHERE);
    let mut known = by_dir.next()?.map(parse).transpose()?;
    while let Some([ancestor, dir, above]) = by_ancestor.next()?.map(parse).transpose()? {
        while let Some([of, ..]) = known.filter(|[of, ..]| *of < ancestor) {
            known = by_dir.next()?.map(parse).transpose()?;
            debug_assert!(known.is_none_or(|[then, ..]| then >= of));
        }
        let farther = known.filter(|[of, ..]| *of == ancestor).map_or(NOWHERE, |[_, farther, _]| farther);
        next.add(scratch, dir, farther, above)?;
        if is_open(ancestor) && is_open(farther) {
            open += 1;
            ancestors += u64::from(last != ancestor);
            last = ancestor;
        }
    }
    Ok((open, ancestors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::MemScratch;
    use proptest::prelude::*;

    fn found(dirs: &[(u64, u64)]) -> Loops {
        let (mut scratch, mut pairs) = (MemScratch::default(), Pairs::new(0));
        dirs.iter().for_each(|(dir, above)| pairs.push(&mut scratch, InodeId(*dir), InodeId(*above)).unwrap());
        pairs.loops(&mut scratch).unwrap()
    }

    /// Members of loops, by walking up from each directory.
    fn walked(dirs: &BTreeMap<u64, u64>) -> Vec<u64> {
        let is_member = |dir: u64| {
            let mut at = dir;
            for _ in 0..=dirs.len() {
                match dirs.get(&at) {
                    Some(above) if at != 1 => at = *above,
                    _ => return false,
                }
                if at == dir {
                    return true;
                }
            }
            false
        };
        dirs.keys().copied().filter(|dir| is_member(*dir)).collect()
    }

    proptest! {
        #[test]
        fn members_are_those_that_come_back_to_themselves(above in proptest::collection::vec(1_u64..60, 1..50)) {
            let dirs: BTreeMap<u64, u64> = [(1, 1)].into_iter().chain((2..).zip(above)).collect();
            let loops = found(&dirs.iter().map(|(dir, above)| (*dir, *above)).collect::<Vec<_>>());
            prop_assert_eq!(loops.above.keys().map(|dir| dir.0).collect::<Vec<_>>(), walked(&dirs));
            for (dir, above) in &loops.above {
                prop_assert_eq!(above.0, dirs[&dir.0]);
                let members = loops.of(*dir);
                prop_assert!(members.contains(dir) && members.iter().min() == members.first());
            }
        }
    }

    #[test]
    fn a_loop_with_a_long_tail_and_a_deep_tree() {
        let mut dirs: Vec<(u64, u64)> = (1..3000).map(|dir| (dir, (dir - 1).max(1))).collect();
        // 10,000 → 10,001 → 10,002 → 10,000, and 500 directories that hang from it.
        dirs.extend([(10_000, 10_001), (10_001, 10_002), (10_002, 10_000)]);
        dirs.extend((20_000..20_500).map(|dir| (dir, if dir == 20_000 { 10_001 } else { dir - 1 })));
        // Below a directory that is not there.
        dirs.extend([(30_000, 29_999), (30_001, 30_000)]);
        let loops = found(&dirs);
        let members: Vec<u64> = loops.above.keys().map(|dir| dir.0).collect();
        assert_eq!(members, [10_000, 10_001, 10_002]);
        assert_eq!(loops.of(InodeId(10_001)), [10_000, 10_001, 10_002].map(InodeId));
        assert!(loops.of(InodeId(20_000)).is_empty() && loops.of(InodeId::ROOT).is_empty());
        assert_eq!(found(&[(1, 1), (2, 1)]), Loops::default());
        assert_eq!(found(&[(1, 1), (7, 7)]).of(InodeId(7)), [InodeId(7)]);
    }
}

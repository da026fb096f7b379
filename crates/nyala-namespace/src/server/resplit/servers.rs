// SPDX-License-Identifier: Apache-2.0

//! Where another fragment of a directory goes. Pure.

use nyala_wire::map::ClusterMap;
use nyala_wire::{InodeId, Slot, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// The metadata servers, with their slots.
#[derive(Debug)]
pub struct Servers<'a> {
    map: &'a ClusterMap,
    slots: BTreeMap<TargetId, Vec<(Slot, u16)>>,
}

impl Servers<'_> {
    /// All that have slots.
    pub fn of(map: &ClusterMap) -> Servers<'_> {
        let mut slots: BTreeMap<TargetId, Vec<(Slot, u16)>> = BTreeMap::new();
        for range in &map.slots {
            slots.entry(range.target).or_default().push((range.first, range.count));
        }
        Servers { map, slots }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// A random slot of a random server that has none of these fragments. `random`: entropy.
    pub fn slot_besides(&self, me: TargetId, fragments: &[InodeId], random: u64) -> Option<Slot> {
        let own = fragments.iter().filter_map(|inode| self.map.slot_target(inode.slot()));
        let own: BTreeSet<TargetId> = own.chain([me]).collect();
        let others: Vec<&Vec<(Slot, u16)>> =
            self.slots.iter().filter(|(target, _)| !own.contains(target)).map(|(_, slots)| slots).collect();
        let count = others.len() as u64;
        let ranges = others.get(random.checked_rem(count)? as usize)?;
        let all: u64 = ranges.iter().map(|(_, count)| u64::from(*count)).sum();
        let mut at = (random / count).checked_rem(all)?;
        for (first, count) in ranges.iter() {
            if at < u64::from(*count) {
                return Some(Slot(first.0 + at as u16));
            }
            at -= u64::from(*count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::SlotRange;

    #[test]
    fn another_fragment_goes_to_a_server_that_has_none() {
        let range = |first, count, target| SlotRange { first: Slot(first), count, target: TargetId(target) };
        let slots = vec![range(0, 4, 1), range(4, 4, 2), range(8, 2, 3), range(10, 2, 2)];
        let map = ClusterMap { slots, ..ClusterMap::default() };
        let servers = Servers::of(&map);
        let inode = |slot| InodeId::new(Slot(slot), 7).unwrap();
        assert_eq!(servers.count(), 3);
        let of_3: BTreeSet<Slot> =
            (0..100).filter_map(|random| servers.slot_besides(TargetId(1), &[inode(0), inode(11)], random)).collect();
        assert_eq!(of_3.into_iter().collect::<Vec<_>>(), [Slot(8), Slot(9)]);
        let any: BTreeSet<Slot> =
            (0..100).filter_map(|random| servers.slot_besides(TargetId(3), &[], random)).collect();
        assert_eq!(any.len(), 10, "{any:?}");
        assert_eq!(servers.slot_besides(TargetId(1), &[inode(4), inode(8)], 5), None);
    }
}

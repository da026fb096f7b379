// SPDX-License-Identifier: Apache-2.0

//! Which slots go where, so that metadata servers have about as many inodes each, or one of them has none. Pure.
//!
//! Of a slot nobody knows how many inodes are in it. New directories go to slots at random, and files where their directories are, so the
//! slots of a server count as equally full.

use nyala_wire::{InodeId, Slot, TargetId};
use std::cmp::Reverse;

/// What a metadata server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotLoad {
    /// The server.
    pub server: TargetId,
    /// Its slots that are not on their way.
    pub slots: Vec<Slot>,
    /// Its inodes.
    pub inodes: u64,
}

/// A server while slots are given out: in thousandths of inodes.
struct Load {
    server: TargetId,
    /// Slots that may go, the one to go first last.
    slots: Vec<Slot>,
    each: u128,
    sum: u128,
}

fn loads(servers: &[SlotLoad]) -> Vec<Load> {
    let load = |of: &SlotLoad| {
        let (mut slots, sum) = (of.slots.clone(), u128::from(of.inodes) * 1000);
        slots.sort_unstable();
        Load { server: of.server, each: sum / slots.len().max(1) as u128, slots, sum }
    };
    servers.iter().map(load).collect()
}

/// Moves that make servers about equally full. Each keeps a slot, and the root stays where it is.
pub fn even_out(servers: &[SlotLoad]) -> Vec<(Slot, TargetId)> {
    fill(servers, |_| true)
}

/// The same with slots for some servers only.
pub fn fill(servers: &[SlotLoad], takes: impl Fn(TargetId) -> bool) -> Vec<(Slot, TargetId)> {
    let mut loads = loads(servers);
    let mut moves = Vec::new();
    loop {
        let may_give = |load: &&mut Load| load.slots.len() > 1 && load.slots.last() != Some(&InodeId::ROOT.slot());
        let taking = loads.iter().filter(|load| takes(load.server)).map(|load| (load.sum, load.server));
        let Some(least) = taking.min() else { return moves };
        let Some(most) = loads.iter_mut().filter(may_give).max_by_key(|load| (load.sum, Reverse(load.server))) else {
            return moves;
        };
        let each = most.each;
        if each == 0 || most.sum < least.0 + 2 * each {
            return moves;
        }
        most.sum -= each;
        moves.extend(most.slots.pop().map(|slot| (slot, least.1)));
        loads.iter_mut().filter(|load| load.server == least.1).for_each(|load| load.sum += each);
    }
}

/// Moves after which one server has no slots; the others get them, the emptiest first. `None`: there is no other.
pub fn empty_out(servers: &[SlotLoad], leaving: TargetId) -> Option<Vec<(Slot, TargetId)>> {
    let (mut gone, mut others): (Vec<Load>, Vec<Load>) =
        loads(servers).into_iter().partition(|load| load.server == leaving);
    let Some(from) = gone.pop() else { return Some(Vec::new()) };
    // At least something each, so that slots of an empty server are spread as well.
    let each = from.each.max(1);
    let mut moves = Vec::with_capacity(from.slots.len());
    for slot in from.slots {
        let to = others.iter_mut().min_by_key(|load| (load.sum, load.server))?;
        to.sum += each;
        moves.push((slot, to.server));
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load(server: u16, first: u16, count: u16, inodes: u64) -> SlotLoad {
        SlotLoad { server: TargetId(server), slots: (first..first + count).map(Slot).collect(), inodes }
    }

    #[test]
    fn a_new_server_gets_its_share_and_a_leaving_one_keeps_nothing() {
        let servers = [load(1, 0, 64, 1_000_000), load(2, 64, 64, 1_000_000), load(3, 128, 64, 0)];
        let moves = even_out(&servers);
        assert!(moves.iter().all(|(_, to)| *to == TargetId(3)) && (40..=43).contains(&moves.len()), "{}", moves.len());
        assert!(moves.iter().all(|(slot, _)| slot.0 < 128 && slot.0 != 0));
        assert!(even_out(&servers[..2]).is_empty() && even_out(&servers[..1]).is_empty() && even_out(&[]).is_empty());
        let moves = empty_out(&servers, TargetId(1)).unwrap();
        assert_eq!((moves.len(), moves.iter().filter(|(_, to)| *to == TargetId(3)).count()), (64, 64));
        assert_eq!(empty_out(&servers[..1], TargetId(1)), None);
        let spread = empty_out(&[load(1, 0, 4, 0), load(2, 4, 4, 0), load(3, 8, 4, 0)], TargetId(1)).unwrap();
        assert_eq!(spread.iter().map(|(_, to)| to.0).collect::<Vec<_>>(), [2, 3, 2, 3]);
    }

    proptest! {
        /// Nobody is fuller afterwards than the fullest was, or emptier than the emptiest; what remains uneven is less than two slots.
        #[test]
        fn it_never_gets_worse(of in prop::collection::vec((1_u16..20, 0_u64..100_000), 1..6)) {
            let mut first = 0;
            let mut servers = Vec::new();
            for (at, (slots, inodes)) in (1..).zip(of) {
                servers.push(load(at, first, slots, inodes));
                first += slots;
            }
            let moves = even_out(&servers);
            let sum = |server: &SlotLoad| {
                let each = |load: &SlotLoad| u128::from(load.inodes) * 1000 / load.slots.len() as u128;
                let gone = moves.iter().filter(|(slot, _)| server.slots.contains(slot)).count() as u128;
                let came = moves.iter().filter(|(_, to)| *to == server.server);
                let came: u128 = came.map(|(slot, _)| each(servers.iter().find(|s| s.slots.contains(slot)).unwrap())).sum();
                u128::from(server.inodes) * 1000 - gone * each(server) + came
            };
            let before: Vec<u128> = servers.iter().map(|server| u128::from(server.inodes) * 1000).collect();
            let after: Vec<u128> = servers.iter().map(sum).collect();
            prop_assert!(after.iter().max() <= before.iter().max() && after.iter().min() >= before.iter().min());
            for server in &servers {
                let left = server.slots.iter().filter(|slot| !moves.iter().any(|(moved, _)| moved == *slot)).count();
                prop_assert!(left >= 1);
            }
        }
    }
}

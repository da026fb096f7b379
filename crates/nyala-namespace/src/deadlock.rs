// SPDX-License-Identifier: Apache-2.0

//! Deadlocks of byte-range locks: who waits for whom in a circle. Pure: edges in, a verdict out.
//!
//! Who waits needs all locks in its way to go, so a circle never ends by itself. On one server the one whose waiting
//! closes it is refused. Over several servers nobody sees who came last: there the highest owner of a circle is refused,
//! whichever servers look, so each circle loses exactly one. What servers say about their edges is of different moments; only
//! an edge that was there before and after ([`lasting`]) was there in between, so that all of a circle were at once.

use nyala_wire::meta_tx::{LockEdge, LockOwner};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Most owners that one search looks at; a larger tangle is left alone.
const MAX_OWNERS: usize = 10_000;

/// Whether `me` waits, by way of others, for itself.
pub fn closes_circle(me: LockOwner, mut waits_for: impl FnMut(LockOwner) -> Vec<LockOwner>) -> bool {
    let (mut seen, mut next) = (HashSet::new(), waits_for(me));
    while let Some(owner) = next.pop() {
        if owner == me {
            return true;
        }
        if seen.len() < MAX_OWNERS && seen.insert(owner) {
            next.extend(waits_for(owner));
        }
    }
    false
}

/// Whether `me` is the highest owner of a circle of these edges.
pub fn is_victim(me: LockOwner, edges: &BTreeSet<LockEdge>) -> bool {
    let mut of: BTreeMap<LockOwner, Vec<LockOwner>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.waiter <= me && edge.holder <= me) {
        of.entry(edge.waiter).or_default().push(edge.holder);
    }
    closes_circle(me, |owner| of.get(&owner).cloned().unwrap_or_default())
}

/// The edges that were there both times.
pub fn lasting(before: &BTreeSet<LockEdge>, after: &BTreeSet<LockEdge>) -> BTreeSet<LockEdge> {
    before.intersection(after).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::SessionId;
    use proptest::prelude::*;

    fn owner(n: u64) -> LockOwner {
        LockOwner { session: SessionId(n / 4), owner: n % 4 }
    }

    fn edge(waiter: u64, holder: u64, wait: u64) -> LockEdge {
        LockEdge { waiter: owner(waiter), holder: owner(holder), wait }
    }

    /// All circles that pass no owner twice, by trying every way.
    fn circles(edges: &BTreeSet<LockEdge>) -> BTreeSet<BTreeSet<LockOwner>> {
        fn walk(
            at: LockOwner,
            way: &mut Vec<LockOwner>,
            edges: &BTreeSet<LockEdge>,
            found: &mut BTreeSet<BTreeSet<LockOwner>>,
        ) {
            for edge in edges.iter().filter(|edge| edge.waiter == at) {
                if edge.holder == way[0] {
                    found.insert(way.iter().copied().collect());
                } else if !way.contains(&edge.holder) {
                    way.push(edge.holder);
                    walk(edge.holder, way, edges, found);
                    way.pop();
                }
            }
        }
        let mut found = BTreeSet::new();
        for start in edges.iter().map(|edge| edge.waiter) {
            walk(start, &mut vec![start], edges, &mut found);
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_circle_has_its_victim_and_no_other(pairs in proptest::collection::vec((0..7_u64, 0..7_u64), 0..12)) {
            let edges: BTreeSet<LockEdge> = pairs.iter().map(|(a, b)| edge(*a, *b, 0)).collect();
            let expected: BTreeSet<LockOwner> =
                circles(&edges).iter().filter_map(|circle| circle.last().copied()).collect();
            let victims: BTreeSet<LockOwner> = (0..7).map(owner).filter(|me| is_victim(*me, &edges)).collect();
            prop_assert_eq!(victims, expected);
            let of = |owner| edges.iter().filter(|edge| edge.waiter == owner).map(|edge| edge.holder).collect();
            for me in (0..7).map(owner) {
                prop_assert_eq!(closes_circle(me, of), circles(&edges).iter().any(|circle| circle.contains(&me)));
            }
        }
    }

    #[test]
    fn an_edge_that_went_and_came_back_was_not_there_in_between() {
        let before = BTreeSet::from([edge(1, 2, 7), edge(2, 1, 3)]);
        let after = BTreeSet::from([edge(1, 2, 8), edge(2, 1, 3)]);
        assert!(is_victim(owner(2), &before) && is_victim(owner(2), &after));
        assert!(!is_victim(owner(2), &lasting(&before, &after)));
        assert!(is_victim(owner(2), &lasting(&before, &before)));
    }

    #[test]
    fn a_tangle_without_end_ends() {
        let many = |n: LockOwner| vec![LockOwner { session: n.session, owner: n.owner + 1 }];
        assert!(!closes_circle(owner(1), many));
    }
}

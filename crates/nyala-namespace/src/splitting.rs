// SPDX-License-Identifier: Apache-2.0

//! How many fragments a directory should have, and what is to be done next about it. Pure.
//!
//! A directory that outgrows the limit gets two, four, … fragments, at most one for each metadata server, of equal ranges; each step
//! follows from what the directory is now, so there is nothing to remember and nothing to undo when it grows or shrinks meanwhile.
//! One that has shrunk to a quarter of the limit, or is empty, becomes whole again.

use nyala_wire::fragments::{COLLISIONS, COOKIE_END};

/// A directory that has less than one in so many of the limit becomes whole again.
const MERGE_BELOW: u64 = 4;
/// A fragment has a directory looked at whenever its number of entries is a multiple of the limit divided by this.
const LOOKS: u64 = 32;
/// At the latest after so many.
const MOST_BETWEEN_LOOKS: u64 = 256;

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another fragment, behind the others.
    Add,
    /// The last fragment, which has no cookies any more, goes.
    Drop,
    /// The end of a fragment's range moves.
    Move {
        /// Which fragment.
        at: usize,
        /// To this cookie, in as many steps as it takes.
        to: u64,
    },
}

/// Whether a directory should be looked at, now that there are so many entries in it, or in this fragment.
pub fn is_worth_a_look(entries: u64, split: bool, above: u64) -> bool {
    let between = (above / LOOKS).clamp(1, MOST_BETWEEN_LOOKS);
    above > 0 && (split || entries > above) && entries.is_multiple_of(between)
}

/// What to do about a directory whose fragments end at these cookies. `total`: its entries; `above`: the limit, 0 for none: then nothing
/// is split any more, and only what is empty becomes whole; `servers`: metadata servers.
pub fn next(ends: &[u64], total: u64, servers: usize, above: u64) -> Option<Next> {
    let now = ends.len() as u64 + 1;
    let wanted = wanted(now, total, servers as u64, above);
    if wanted == 1 {
        let at = ends.len().checked_sub(1)?;
        let to = at.checked_sub(1).map_or(0, |before| ends[before]);
        return Some(if ends[at] > to { Next::Move { at, to } } else { Next::Drop });
    }
    let end = |at: usize| ends.get(at).copied().unwrap_or(COOKIE_END);
    let ideal = |at: usize| COOKIE_END / wanted * (at as u64 + 1) / COLLISIONS * COLLISIONS;
    let up = |at: usize| Next::Move { at, to: ideal(at).min(end(at + 1)) };
    let down = |at: usize| Next::Move { at, to: at.checked_sub(1).map_or(0, end).max(ideal(at)) };
    let moves = |next: &Next| !matches!(next, Next::Move { at, to } if *to == ends[*at]);
    // Those that grow from the last on, those that shrink from the first on: each has the room that the one before it has left.
    let grows = (0..ends.len()).rev().filter(|at| ends[*at] < ideal(*at)).map(up).find(moves);
    let shrinks = || (0..ends.len()).filter(|at| ends[*at] > ideal(*at)).map(down).find(moves);
    grows.or_else(shrinks).or((now < wanted).then_some(Next::Add))
}

fn wanted(now: u64, total: u64, servers: u64, above: u64) -> u64 {
    if now > 1 && (total == 0 || total < above / MERGE_BELOW) {
        return 1;
    }
    let needed = match above {
        0 => 1,
        _ if total <= above => 1,
        _ => (total / above + 1).next_power_of_two(),
    };
    needed.min(servers).max(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Does what is to be done until there is nothing more; how many steps, and the ends.
    fn settle(mut ends: Vec<u64>, total: u64, servers: usize, above: u64) -> (usize, Vec<u64>) {
        for steps in 0..1000 {
            match next(&ends, total, servers, above) {
                None => return (steps, ends),
                Some(Next::Add) => ends.push(ends.last().copied().unwrap_or(0)),
                Some(Next::Drop) => drop(ends.pop()),
                Some(Next::Move { at, to }) => ends[at] = to,
            }
            assert!(ends.is_sorted() && ends.iter().all(|end| *end < COOKIE_END), "{ends:?}");
        }
        panic!("it never ends: {ends:?}");
    }

    #[test]
    fn it_is_split_in_two_four_and_as_many_as_there_are_servers() {
        let part = |n: u64| COOKIE_END / n;
        assert_eq!(settle(vec![], 100, 8, 100).1, []);
        assert_eq!(settle(vec![], 101, 1, 100).1, [], "there is one server");
        assert_eq!(settle(vec![], 101, 8, 100), (2, vec![part(2)]));
        assert_eq!(settle(vec![], 301, 8, 100), (6, vec![part(4), part(2), part(4) * 3]));
        let thirds: Vec<u64> = (1..3).map(|n| part(3) * n / COLLISIONS * COLLISIONS).collect();
        assert_eq!(settle(vec![], 1 << 40, 3, 100).1, thirds);
        assert_eq!(settle(vec![part(2)], 301, 4, 100).1, [part(4), part(2), part(4) * 3], "it has grown");
    }

    #[test]
    fn it_stays_split_until_it_is_small() {
        let halves = vec![COOKIE_END / 2];
        assert_eq!(settle(halves.clone(), 25, 2, 100), (0, halves.clone()));
        assert_eq!(settle(halves.clone(), 24, 2, 100), (2, vec![]));
        assert_eq!(settle(halves.clone(), 24, 2, 0), (0, halves.clone()), "without a limit nothing changes");
        assert_eq!(settle(halves, 0, 2, 0).1, [], "but what is empty may have to go");
    }

    #[test]
    fn looks_are_few() {
        let looks = |split, above| (0..20_000).filter(|n| is_worth_a_look(*n, split, above)).count();
        assert_eq!((looks(false, 8192), looks(false, 0), looks(true, 0)), (46, 0, 0));
        assert!(is_worth_a_look(0, true, 8192) && is_worth_a_look(17, false, 16));
    }

    proptest! {
        #[test]
        fn it_always_ends_in_what_is_wanted(
            ends in proptest::collection::vec(0..COOKIE_END / COLLISIONS, 0..9),
            total in 0..10_000_u64,
            servers in 1..9_usize,
            above in 0..1000_u64,
        ) {
            let mut ends: Vec<u64> = ends.into_iter().map(|end| end * COLLISIONS).collect();
            ends.sort_unstable();
            let wanted = wanted(ends.len() as u64 + 1, total, servers as u64, above);
            let (_, settled) = settle(ends, total, servers, above);
            prop_assert_eq!(settled.len() as u64 + 1, wanted);
            for (at, end) in settled.iter().enumerate() {
                let ideal = COOKIE_END / wanted * (at as u64 + 1) / COLLISIONS * COLLISIONS;
                prop_assert_eq!(*end, ideal);
            }
        }
    }
}

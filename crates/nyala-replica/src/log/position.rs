// SPDX-License-Identifier: Apache-2.0

//! Places in a group's log, and which primary's term each record is of.
//!
//! Records are numbered without a gap over the group's whole life. A primary's first record begins its term, so a record's
//! number tells its term, and two logs that have a record of the same number and term are the same up to there: both were
//! written by the one primary of that term, which had taken up everything before.

use minicbor::{Decode, Encode};

/// Terms that are remembered; a member that was away for more of them is given everything.
const KEPT_TERMS: usize = 64;

/// A place in a log: behind its record `index`, which is of `term`. The order is that of what a new primary has to take up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Position {
    /// Term of the record; 0 for records of before there was a group.
    #[n(0)]
    pub term: u32,
    /// Number of the record; 0 for "before everything".
    #[n(1)]
    pub index: u64,
}

/// With which record each term began, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms(Vec<(u32, u64)>);

impl Terms {
    /// Terms with their first records, as they were remembered; what is out of order is left out.
    pub fn new(terms: impl IntoIterator<Item = (u32, u64)>) -> Terms {
        let mut known = Terms::default();
        terms.into_iter().for_each(|(term, first)| known.begin(term, first));
        known
    }

    /// A term begins with a record. One that does not come after all others is ignored.
    pub fn begin(&mut self, term: u32, first: u64) {
        if self.0.last().is_none_or(|(last, at)| term > *last && first > *at) {
            self.0.push((term, first));
            let surplus = self.0.len().saturating_sub(KEPT_TERMS);
            self.0.drain(..surplus);
        }
    }

    /// The term of a record; 0 for one of before the first that is known.
    pub fn term_of(&self, index: u64) -> u32 {
        let after = self.0.partition_point(|(_, first)| *first <= index);
        after.checked_sub(1).map_or(0, |at| self.0[at].0)
    }

    /// The place behind a record.
    pub fn position(&self, index: u64) -> Position {
        Position { term: self.term_of(index), index }
    }

    /// Whether a log of these terms with `last` records has this place in it.
    pub fn contain(&self, position: Position, last: u64) -> bool {
        position.index <= last && self.term_of(position.index) == position.term
    }

    /// All that are known.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Forgets the terms that begin behind a record.
    pub fn cut_behind(&mut self, index: u64) {
        self.0.retain(|(_, first)| *first <= index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_the_term_that_began_last_before_it() {
        let terms = Terms::new([(1, 10), (4, 20), (3, 25), (6, 30)]);
        assert_eq!([9, 10, 19, 20, 29, 30, 99].map(|index| terms.term_of(index)), [0, 1, 1, 4, 4, 6, 6]);
        assert!(terms.contain(Position { term: 1, index: 19 }, 40));
        assert!(!terms.contain(Position { term: 1, index: 20 }, 40), "its own records of a term that was over");
        assert!(!terms.contain(Position { term: 6, index: 41 }, 40), "more than there is");
        assert!(Position { term: 4, index: 20 } > Position { term: 1, index: 25 });
        assert_eq!(Terms::new((1..=100).map(|term| (term, u64::from(term)))).iter().count(), KEPT_TERMS);
    }
}

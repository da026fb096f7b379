// SPDX-License-Identifier: Apache-2.0

//! What a member that does not have everything has missed, and what it has got of that since.
//!
//! A stripe that it was given takes part in writes at once, though it is not synced there yet. Were it to miss those, one that is written
//! again and again would never be caught up.

use nyala_raid::StripeId;
use nyala_raid::member::Missed;
use std::collections::BTreeMap;
use std::ops::Range;

/// Of one member; all is empty for a good one.
#[derive(Default)]
pub(crate) struct Behind {
    /// Stripes that it has missed, and the number of the note. The tables of the good members say so too.
    missed: BTreeMap<StripeId, u64>,
    /// Stripes that it has got since, and the number of that. None of it needs to be durable there yet.
    given: BTreeMap<StripeId, u64>,
    /// The last number.
    number: u64,
}

impl Behind {
    /// What is known of a stripe.
    pub fn of(&self, stripe: StripeId) -> Missed {
        match (self.given.contains_key(&stripe), self.missed.contains_key(&stripe)) {
            (true, _) => Missed::Given,
            (false, true) => Missed::Writes,
            (false, false) => Missed::Nothing,
        }
    }

    /// Stripes that were missed and are not durably caught up.
    pub fn count(&self) -> usize {
        self.missed.len()
    }

    /// Whether it has everything that was noted; durably, once it is synced.
    pub fn has_all(&self) -> bool {
        self.missing(None).next().is_none()
    }

    /// It misses a stripe, as the tables of the good members say or soon will.
    pub fn note(&mut self, stripe: StripeId) {
        self.number += 1;
        self.missed.insert(stripe, self.number);
        self.given.remove(&stripe);
    }

    /// The number of a stripe's note; 0 if there is none.
    pub fn number_of(&self, stripe: StripeId) -> u64 {
        self.missed.get(&stripe).copied().unwrap_or_default()
    }

    /// It has got a stripe; the caller has the stripe's lock.
    pub fn give(&mut self, stripe: StripeId) {
        self.number += 1;
        self.given.insert(stripe, self.number);
    }

    /// It has got all of these that it misses.
    pub fn give_all(&mut self, stripes: Range<StripeId>) {
        // A range that ends before it starts would be a panic, and holds nothing.
        let range = stripes.start..stripes.end.max(stripes.start);
        let missed: Vec<StripeId> = self.missed.range(range).map(|(stripe, _)| *stripe).collect();
        missed.into_iter().for_each(|stripe| self.give(stripe));
    }

    /// Stripes up to `last` (none: all) that it misses, with the numbers of their notes.
    pub fn missing(&self, last: Option<StripeId>) -> impl Iterator<Item = (StripeId, u64)> + '_ {
        let reached = move |(stripe, _): &(&StripeId, &u64)| last.is_none_or(|last| **stripe <= last);
        let missed = self.missed.iter().take_while(reached).filter(|(stripe, _)| !self.given.contains_key(stripe));
        missed.map(|(stripe, number)| (*stripe, *number))
    }

    /// What it was given, with the numbers of that.
    pub fn given(&self) -> Vec<(StripeId, u64)> {
        self.given.iter().map(|(stripe, number)| (*stripe, *number)).collect()
    }

    /// What it was given until then is durable there, and forgotten here unless it was noted or given again. Returns what the tables of the
    /// good members may forget.
    pub fn synced(&mut self, given: &[(StripeId, u64)]) -> Vec<StripeId> {
        let mut recorded = Vec::new();
        for (stripe, number) in given {
            if self.given.get(stripe) == Some(number) {
                self.given.remove(stripe);
                recorded.extend(self.missed.remove(stripe).map(|_| *stripe));
            }
        }
        recorded
    }

    /// A stripe cannot be rebuilt: that this member missed it too says nothing any more, unless it was noted again. Returns whether the
    /// tables of the good members may forget it.
    pub fn lost(&mut self, stripe: StripeId, number: u64) -> bool {
        let same = self.missed.get(&stripe) == Some(&number);
        same && self.missed.remove(&stripe).is_some()
    }

    /// It has left: what it had and was not synced may be gone.
    pub fn forget_unsynced(&mut self) {
        self.given.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_raid::ObjectId;

    fn stripe(number: u64) -> StripeId {
        StripeId { object: ObjectId(1), number }
    }

    #[test]
    fn what_is_given_is_forgotten_with_the_sync_that_covers_it() {
        let mut behind = Behind::default();
        (0..3).for_each(|number| behind.note(stripe(number)));
        behind.give(stripe(1));
        behind.give(stripe(9));
        assert_eq!(behind.missing(None).map(|(stripe, _)| stripe.number).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(behind.missing(Some(stripe(1))).count(), 1);
        assert_eq!((behind.of(stripe(1)), behind.of(stripe(9))), (Missed::Given, Missed::Given));
        let (given, number) = (behind.given(), behind.number_of(stripe(0)));
        // Given again after the sync began: the next one counts.
        behind.give(stripe(9));
        assert_eq!(behind.synced(&given), [stripe(1)], "nobody noted the other one");
        assert_eq!((behind.of(stripe(1)), behind.of(stripe(9))), (Missed::Nothing, Missed::Given));
        behind.note(stripe(9));
        assert_eq!(behind.of(stripe(9)), Missed::Writes);
        behind.note(stripe(0));
        assert!(!behind.lost(stripe(0), number), "noted again since");
        assert!(behind.lost(stripe(0), behind.number_of(stripe(0))));
    }

    #[test]
    fn who_leaves_has_nothing_that_was_not_synced() {
        let mut behind = Behind::default();
        behind.note(stripe(1));
        behind.give(stripe(1));
        behind.forget_unsynced();
        behind.give_all(stripe(5)..stripe(0));
        assert_eq!((behind.of(stripe(1)), behind.count(), behind.has_all()), (Missed::Writes, 1, false));
    }
}

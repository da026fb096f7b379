// SPDX-License-Identifier: Apache-2.0

//! Units of which a part has gone out. What is left of them can never be a whole unit; it is as good as one when it fills all
//! that lies between two parts that have gone. Without this it would stay until somebody presses, take the room of
//! others, and so have more units broken.

use crate::writeback::logic::ranges::RangeSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// Most units that are remembered; of others the rest goes out late.
const MOST: usize = 1024;

/// What has gone of the units that are broken, by their start.
#[derive(Debug, Default)]
pub(super) struct PartialUnits {
    units: BTreeMap<u64, RangeSet>,
}

impl PartialUnits {
    /// A part of a unit goes out.
    pub(super) fn gone(&mut self, unit: Range<u64>, part: Range<u64>) {
        let parts = self.units.entry(unit.start).or_default();
        parts.insert(part);
        if parts.gaps(unit.clone()).is_empty() {
            self.units.remove(&unit.start);
        }
        if self.units.len() > MOST {
            self.units.pop_first();
        }
    }

    /// A part of a unit is written. One that had gone: the unit is filled anew.
    pub(super) fn written(&mut self, unit: Range<u64>, part: &Range<u64>) {
        if self.units.get(&unit.start).is_some_and(|gone| gone.overlaps(part)) {
            self.units.remove(&unit.start);
        }
    }

    /// Does the part fill what lies between others that have gone?
    pub(super) fn is_closed_by(&self, unit: Range<u64>, part: &Range<u64>) -> bool {
        self.units.get(&unit.start).is_some_and(|gone| gone.is_gap(&unit, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_broken_unit_is_closed_by_what_fills_it() {
        let unit = || 100..200;
        let mut partial = PartialUnits::default();
        assert!(!partial.is_closed_by(unit(), &(100..150)));
        partial.gone(unit(), 140..160);
        assert!(partial.is_closed_by(unit(), &(100..140)) && partial.is_closed_by(unit(), &(160..200)));
        assert!(!partial.is_closed_by(unit(), &(100..130)) && !partial.is_closed_by(unit(), &(160..190)));
        partial.written(unit(), &(100..140));
        partial.gone(unit(), 100..140);
        partial.gone(unit(), 160..200);
        assert!(partial.units.is_empty(), "all of it has gone");
        partial.gone(unit(), 140..160);
        partial.written(unit(), &(150..170));
        assert!(!partial.is_closed_by(unit(), &(100..140)), "it is written anew");
        (0..2 * MOST as u64).for_each(|n| partial.gone(n * 10..n * 10 + 10, n * 10..n * 10 + 1));
        assert_eq!(partial.units.len(), MOST);
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A set of byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of byte ranges; touching ones are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    /// Adds a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&s, &e)) = self.ranges.range(..=end).next_back().filter(|&(_, &e)| e >= start) {
            self.ranges.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.ranges.insert(start, end);
    }

    /// The parts of `range` that are not in the set, in order.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        let first = self.ranges.range(..=range.start).next_back().map_or(range.start, |(&s, _)| s);
        for (&start, &end) in self.ranges.range(first..) {
            if start >= range.end {
                break;
            }
            if start > at {
                gaps.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Is a byte of `range` in the set?
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && self.ranges.range(..range.end).next_back().is_some_and(|(_, &end)| end > range.start)
    }

    /// Is `range` one of the [`Self::gaps`] of `whole`, which it lies in?
    pub fn is_gap(&self, whole: &Range<u64>, range: &Range<u64>) -> bool {
        let before = self.ranges.range(..range.end).next_back().map_or(0, |(_, &end)| end).max(whole.start);
        let behind = self.ranges.range(range.end..).next().map_or(whole.end, |(&start, _)| start.min(whole.end));
        before == range.start && behind == range.end && !range.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn like_a_bitmap(inserts in proptest::collection::vec((0_u64..100, 0_u64..20), 0..20), asked in (0_u64..110, 0_u64..60)) {
            let mut set = RangeSet::default();
            let mut model = [false; 256];
            for (start, len) in inserts {
                set.insert(start..start + len);
                model[start as usize..(start + len) as usize].fill(true);
            }
            let mut in_gap = [false; 256];
            let whole = asked.0..asked.0 + asked.1;
            let gaps = set.gaps(whole.clone());
            for (start, end) in (whole.start..=whole.end).flat_map(|start| (start..=whole.end).map(move |end| (start, end))) {
                prop_assert_eq!(set.is_gap(&whole, &(start..end)), gaps.contains(&(start..end)), "{}..{}", start, end);
                prop_assert_eq!(set.overlaps(&(start..end)), model[start as usize..end as usize].contains(&true));
            }
            for gap in gaps {
                prop_assert!(!gap.is_empty());
                in_gap[gap.start as usize..gap.end as usize].fill(true);
            }
            for at in 0..256_u64 {
                let inside = (asked.0..asked.0 + asked.1).contains(&at);
                prop_assert_eq!(in_gap[at as usize], inside && !model[at as usize], "byte {}", at);
            }
        }
    }
}

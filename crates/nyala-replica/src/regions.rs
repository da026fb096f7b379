// SPDX-License-Identifier: Apache-2.0

//! Sets of regions of chunk files: what may differ between members, at a granularity that keeps the sets small.
//!
//! Neighbours become one run; a file with too many runs becomes one run over all of it. So a set only ever grows by
//! rounding up: it may name what does not differ, never miss what does.

use minicbor::{Decode, Encode};
use nyala_wire::storage::ChunkFileId;
use std::collections::BTreeMap;

/// Bytes of a chunk file from `start` up to `end`; `u64::MAX` is "to its end, wherever that is".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct Span {
    /// First byte.
    #[n(0)]
    pub start: u64,
    /// First byte behind.
    #[n(1)]
    pub end: u64,
}

impl Span {
    /// Everything.
    pub const ALL: Span = Span { start: 0, end: u64::MAX };

    /// Whether the two have a byte in common.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The regions that the span touches.
    pub fn regions(self, region_bytes: u64) -> Span {
        let end = if self.end == u64::MAX { u64::MAX } else { self.end.div_ceil(region_bytes) };
        Span { start: self.start / region_bytes, end }
    }

    /// The bytes of a run of regions.
    pub fn bytes(self, region_bytes: u64) -> Span {
        Span { start: self.start.saturating_mul(region_bytes), end: self.end.saturating_mul(region_bytes) }
    }
}

/// Runs of regions of one file: sorted, without overlap, not touching each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Runs(#[n(0)] Vec<Span>);

impl Runs {
    /// The runs in order.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }

    /// Adds a run.
    pub fn insert(&mut self, run: Span) {
        if run.start >= run.end {
            return;
        }
        let from = self.0.partition_point(|r| r.end < run.start);
        let to = self.0.partition_point(|r| r.start <= run.end);
        let joined =
            self.0[from..to].iter().fold(run, |a, b| Span { start: a.start.min(b.start), end: a.end.max(b.end) });
        self.0.splice(from..to, [joined]);
    }

    /// Takes a run out.
    pub fn remove(&mut self, run: Span) {
        let cut = |r: &Span| {
            let left = Span { start: r.start, end: r.end.min(run.start) };
            let right = Span { start: r.start.max(run.end), end: r.end };
            [left, right].into_iter().filter(|piece| piece.start < piece.end)
        };
        if self.overlaps(run) {
            self.0 = self.0.iter().flat_map(cut).collect();
        }
    }

    /// Whether a region of the run is in the set.
    pub fn overlaps(&self, run: Span) -> bool {
        let at = self.0.partition_point(|r| r.end <= run.start);
        run.start < run.end && self.0.get(at).is_some_and(|r| r.overlaps(run))
    }

    /// Whether all of the run is in the set.
    pub fn contains(&self, run: Span) -> bool {
        let at = self.0.partition_point(|r| r.end <= run.start);
        run.start >= run.end || self.0.get(at).is_some_and(|r| r.start <= run.start && run.end <= r.end)
    }
}

/// For sets that say what is *done*: they must not be rounded up.
pub const EXACT: usize = usize::MAX;

/// Regions of many files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionSet {
    files: BTreeMap<ChunkFileId, Runs>,
}

impl RegionSet {
    /// No region at all.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a run of a file; with more than `max_runs` the file becomes one run.
    pub fn insert(&mut self, file: ChunkFileId, run: Span, max_runs: usize) {
        let runs = self.files.entry(file).or_default();
        runs.insert(run);
        if runs.0.len() > max_runs {
            runs.0 = vec![Span::ALL];
        }
        if runs.0.is_empty() {
            self.files.remove(&file);
        }
    }

    /// Takes a run of a file out.
    pub fn remove(&mut self, file: ChunkFileId, run: Span) {
        if let Some(runs) = self.files.get_mut(&file) {
            runs.remove(run);
            if runs.0.is_empty() {
                self.files.remove(&file);
            }
        }
    }

    /// Adds all of another set.
    pub fn add(&mut self, other: &RegionSet, max_runs: usize) {
        other.iter().for_each(|(file, run)| self.insert(file, run, max_runs));
    }

    /// Takes all of another set out.
    pub fn subtract(&mut self, other: &RegionSet) {
        other.iter().for_each(|(file, run)| self.remove(file, run));
    }

    /// Whether a region of the run is in the set.
    pub fn overlaps(&self, file: ChunkFileId, run: Span) -> bool {
        self.files.get(&file).is_some_and(|runs| runs.overlaps(run))
    }

    /// Whether all of the run is in the set.
    pub fn contains(&self, file: ChunkFileId, run: Span) -> bool {
        run.start >= run.end || self.files.get(&file).is_some_and(|runs| runs.contains(run))
    }

    /// All runs.
    pub fn iter(&self) -> impl Iterator<Item = (ChunkFileId, Span)> + '_ {
        self.files.iter().flat_map(|(file, runs)| runs.iter().map(move |run| (*file, run)))
    }

    /// Files with regions in the set.
    pub fn files(&self) -> impl Iterator<Item = ChunkFileId> + '_ {
        self.files.keys().copied()
    }

    /// The runs of one file.
    pub fn runs(&self, file: ChunkFileId) -> Option<&Runs> {
        self.files.get(&file)
    }

    /// Puts the runs of one file in place of what was there.
    pub fn set(&mut self, file: ChunkFileId, runs: Runs) {
        self.files.insert(file, runs);
    }

    /// Number of regions; a run that is open at its end counts as one.
    pub fn count(&self) -> u64 {
        self.iter().map(|(_, run)| if run.end == u64::MAX { 1 } else { run.end - run.start }).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1), index: 0 };

    fn span() -> impl Strategy<Value = Span> {
        (0_u64..40, 0_u64..10).prop_map(|(start, len)| Span { start, end: start + len })
    }

    proptest! {
        #[test]
        fn runs_are_a_set(steps in proptest::collection::vec((any::<bool>(), span()), 0..40), probe in span()) {
            let (mut runs, mut model) = (Runs::default(), BTreeSet::new());
            for (add, run) in steps {
                if add { runs.insert(run); model.extend(run.start..run.end); }
                else { runs.remove(run); model.retain(|r| !(run.start..run.end).contains(r)); }
                let all: Vec<u64> = runs.iter().flat_map(|r| r.start..r.end).collect();
                prop_assert_eq!(&all, &model.iter().copied().collect::<Vec<_>>());
                prop_assert!(runs.0.windows(2).all(|w| w[0].end < w[1].start), "not coalesced: {:?}", runs);
            }
            let inside = (probe.start..probe.end).filter(|r| model.contains(r)).count() as u64;
            prop_assert_eq!(runs.overlaps(probe), inside > 0);
            prop_assert_eq!(runs.contains(probe), inside == probe.end - probe.start);
        }
    }

    #[test]
    fn too_many_runs_become_the_whole_file() {
        let mut set = RegionSet::default();
        (0..3).for_each(|n| set.insert(FILE, Span { start: 2 * n, end: 2 * n + 1 }, 3));
        assert_eq!((set.iter().count(), set.count()), (3, 3));
        set.insert(FILE, Span { start: 9, end: 10 }, 3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(FILE, Span::ALL)]);
        set.remove(FILE, Span { start: 0, end: 5 });
        assert!(!set.overlaps(FILE, Span { start: 0, end: 5 }) && set.contains(FILE, Span { start: 5, end: u64::MAX }));
        set.remove(FILE, Span::ALL);
        assert!(set.is_empty());
    }

    #[test]
    fn bytes_and_regions() {
        let regions = |start, end| Span { start, end }.regions(10);
        assert_eq!(regions(0, 1), Span { start: 0, end: 1 });
        assert_eq!(regions(9, 11), Span { start: 0, end: 2 });
        assert_eq!(regions(25, u64::MAX), Span { start: 2, end: u64::MAX });
        assert_eq!(regions(25, u64::MAX).bytes(10), Span { start: 20, end: u64::MAX });
    }
}

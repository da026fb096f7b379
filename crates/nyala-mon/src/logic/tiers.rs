// SPDX-License-Identifier: Apache-2.0

//! Both tiers: rounds as they were sampled, and folded ones.

use super::segments::{Segment, Segments};
use super::series::Key;
use super::tier::{Change, Limits, Tier};
use std::sync::Arc;

/// The segments of both.
#[derive(Debug, Default)]
pub struct Tiers([Segments; 2]);

impl Tiers {
    /// One of them.
    pub fn of(&self, tier: Tier) -> &Segments {
        &self.0[tier as usize]
    }

    /// One of them.
    pub fn of_mut(&mut self, tier: Tier) -> &mut Segments {
        &mut self.0[tier as usize]
    }

    /// Time of the last round.
    pub fn last_ms(&self) -> Option<u64> {
        self.0.iter().filter_map(Segments::last_ms).max()
    }

    fn all(&self) -> impl Iterator<Item = &Segment> {
        self.0.iter().flat_map(|tier| &tier.segments)
    }

    /// Memory of the samples, bytes, about.
    pub fn weight(&self) -> usize {
        self.all().map(|segment| segment.block.weight()).sum()
    }

    /// Space on disk, bytes.
    pub fn disk(&self) -> u64 {
        self.all().map(|segment| segment.disk).sum()
    }

    /// Adds a round to one of them.
    pub fn append(&mut self, tier: Tier, time_ms: u64, values: &[(Arc<Key>, i64)]) -> Change {
        let (id, bytes) = self.of_mut(tier).append(time_ms, values);
        Change::Append(tier, id, bytes)
    }

    /// Removes segments with rounds at or after this time.
    pub fn forget_from(&mut self, time_ms: u64) -> Vec<Change> {
        let removed = |tier: Tier, segments: &mut Segments| {
            segments.forget_from(time_ms).into_iter().map(move |id| Change::Remove(tier, id))
        };
        Tier::ALL.into_iter().zip(&mut self.0).flat_map(|(tier, segments)| removed(tier, segments)).collect()
    }

    /// Removes segments all of whose rounds are older than they are kept.
    pub fn remove_old(&mut self, now_ms: u64, limits: &Limits) -> Vec<Change> {
        let mut changes = Vec::new();
        for (tier, keep) in Tier::ALL.into_iter().zip([limits.raw_ms, limits.folded_ms]) {
            let old = |segment: &Segment| {
                let last = segment.block.times().last();
                last.is_none_or(|last| last.saturating_add(keep) < now_ms)
            };
            while self.of(tier).segments.front().is_some_and(old) {
                changes.extend(self.of_mut(tier).remove_oldest().map(|id| Change::Remove(tier, id)));
            }
        }
        changes
    }

    /// Removes the oldest segment, of folded rounds first; the last one of each tier stays.
    pub fn remove_one(&mut self) -> Option<Change> {
        let tier = [Tier::Folded, Tier::Raw].into_iter().find(|tier| self.of(*tier).segments.len() > 1)?;
        self.of_mut(tier).remove_oldest().map(|id| Change::Remove(tier, id))
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What is kept: every round of samples for a while, and rounds folded into longer steps for a day; both within limits of memory and disk.
//!
//! Rounds lie in blocks; a block is a segment on disk as well. The oldest go when they are too old, or when there are too many bytes.
//! What has to be done on disk is returned: [`Change`].

use super::block::Block;
use super::fold::Fold;
use super::keys::Keys;
use super::record::{Codec, Round};
use super::segments::Segment;
use super::series::Key;
pub use super::tier::{Change, Limits, Tier};
use super::tiers::Tiers;
use std::sync::Arc;

/// A clock that goes back by more was set; by less, it stood still.
const SET_BACK_MS: u64 = 60_000;

/// The history.
#[derive(Debug)]
pub struct History {
    limits: Limits,
    keys: Keys,
    tiers: Tiers,
    fold: Fold,
    /// Rounds that were not kept: the clock stood still or went back a little.
    pub skipped_rounds: u64,
}

impl History {
    /// An empty one.
    pub fn new(limits: Limits) -> History {
        let (fold, keys) = (Fold::new(limits.step_ms), Keys::new(limits.series));
        History { limits, keys, tiers: Tiers::default(), fold, skipped_rounds: 0 }
    }

    /// Takes a segment from disk, of each tier in order; `open` goes on with it, where it is the last. One without rounds is left out.
    pub fn restore(&mut self, tier: Tier, id: u64, rounds: Vec<Round>, open: Codec, disk: u64) {
        let mut block = Block::default();
        for (time_ms, values) in rounds {
            // A segment that lies would put times out of order.
            let before = block.times().last().copied().or(self.tiers.of(tier).last_ms());
            if before.is_none_or(|before| before < time_ms) {
                let values =
                    self.keys.intern(values.into_iter().map(|(key, value)| (Arc::unwrap_or_clone(key), value)));
                block.push(time_ms, &values);
            }
        }
        self.tiers.of_mut(tier).restore(Segment { id, block, disk }, open);
    }

    /// All segments are restored: folds what was not folded before.
    pub fn restored(&mut self) -> Vec<Change> {
        let folded = self.tiers.of(Tier::Folded).last_ms().unwrap_or(0);
        let raw = self.tiers.of(Tier::Raw).segments.iter();
        let rounds: Vec<Round> =
            raw.flat_map(|segment| segment.block.rounds()).filter(|(time, _)| *time > folded).collect();
        let mut changes = Vec::new();
        rounds.iter().for_each(|(time_ms, values)| self.fold(*time_ms, values, &mut changes));
        self.trim(self.last_ms().unwrap_or(0), &mut changes);
        changes
    }

    /// Adds a round.
    pub fn sample(&mut self, time_ms: u64, values: Vec<(Key, i64)>) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(last) = self.last_ms().filter(|last| *last >= time_ms) {
            if last - time_ms <= SET_BACK_MS {
                self.skipped_rounds += 1;
                return changes;
            }
            self.forget_from(time_ms, &mut changes);
        }
        let values = self.keys.intern(values.into_iter());
        changes.push(self.tiers.append(Tier::Raw, time_ms, &values));
        self.fold(time_ms, &values, &mut changes);
        self.trim(time_ms, &mut changes);
        changes
    }

    /// Time of the last round.
    pub fn last_ms(&self) -> Option<u64> {
        self.tiers.last_ms()
    }

    /// Blocks of a tier, oldest first.
    pub fn blocks(&self, tier: Tier) -> impl Iterator<Item = &Block> {
        self.tiers.of(tier).segments.iter().map(|segment| &segment.block)
    }

    /// When the rounds begin that are kept as they were sampled; folded ones stand for what was before.
    pub fn raw_from(&self) -> u64 {
        self.blocks(Tier::Raw).find_map(|block| block.times().first().copied()).unwrap_or(u64::MAX)
    }

    /// All series.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.keys.all()
    }

    /// Number of series.
    pub fn series(&self) -> usize {
        self.keys.len()
    }

    /// Samples that were not kept: of more series than there may be.
    pub fn dropped_samples(&self) -> u64 {
        self.keys.dropped()
    }

    /// Memory that all of it occupies, bytes, about.
    pub fn memory(&self) -> usize {
        self.tiers.weight() + self.keys.weight()
    }

    /// Space that it occupies on disk, bytes.
    pub fn disk(&self) -> u64 {
        self.tiers.disk()
    }

    fn fold(&mut self, time_ms: u64, values: &[(Arc<Key>, i64)], changes: &mut Vec<Change>) {
        let folded = self.fold.push(time_ms, values);
        changes.extend(folded.map(|(time_ms, values)| self.tiers.append(Tier::Folded, time_ms, &values)));
    }

    /// The clock was set back: what lies in the future goes, by whole segments.
    fn forget_from(&mut self, time_ms: u64, changes: &mut Vec<Change>) {
        changes.extend(self.tiers.forget_from(time_ms));
        self.fold = Fold::new(self.limits.step_ms);
        self.keys.forget();
    }

    fn trim(&mut self, now_ms: u64, changes: &mut Vec<Change>) {
        let old = self.tiers.remove_old(now_ms, &self.limits);
        if !old.is_empty() {
            self.keys.forget();
        }
        changes.extend(old);
        while self.memory() > self.limits.memory || self.disk() > self.limits.disk {
            let Some(change) = self.tiers.remove_one() else { break };
            changes.push(change);
            self.keys.forget();
        }
    }
}

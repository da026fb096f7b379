// SPDX-License-Identifier: Apache-2.0

//! What is known of a target's scrub, and what becomes of it with each step. Pure, but for its place: times are arguments.

use super::figures::Now;
use super::rows;
use crate::config::ScrubConfig;
use crate::scrub::logic::damage::{Change, Damage, DamageList};
use crate::scrub::logic::pace::{Decision, Pace, Use, needed};
use crate::scrub::logic::progress::Progress;
use crate::scrub::logic::reason::Reason;
use nyala_wire::walk::WalkAt;
use std::collections::BTreeMap;
use std::time::Duration;

/// Progress is remembered so often.
const SAVE: Duration = Duration::from_secs(10);
/// If that failed, it is tried again after this time.
const SAVE_AGAIN: Duration = Duration::from_secs(600);
/// Between two looks whether a scrub is due, at most.
const IDLE: Duration = Duration::from_secs(5);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing for so long.
    Sleep(Duration),
    /// A step of the scrub: about so many bytes from there on.
    Step(WalkAt, u32),
    /// A look at a piece that was damaged.
    Again(WalkAt),
}

/// A target's scrub.
pub(super) struct TargetState {
    pub config: ScrubConfig,
    /// The target's place in the interval.
    pub phase: u32,
    pub progress: Progress,
    pub damage: DamageList,
    pub pace: Pace,
    /// Damage that is to be remembered, or forgotten.
    unsaved: BTreeMap<WalkAt, Option<Damage>>,
    /// Something else than the place is to be remembered.
    changed: bool,
    /// When all was remembered last, and until when that is not tried.
    saved: Duration,
    not_before: Duration,
    /// Since the service was started.
    pub found_bytes: u64,
    pub repaired_bytes: u64,
}

impl TargetState {
    /// With what was remembered.
    pub fn new(config: ScrubConfig, phase: u32, found: (Progress, Vec<(WalkAt, Damage)>)) -> TargetState {
        let (progress, damage) = (found.0, DamageList::new(found.1));
        let pace = Pace::new(config.rate);
        TargetState {
            config,
            phase,
            progress,
            damage,
            pace,
            unsaved: BTreeMap::new(),
            // Since when it is scrubbed.
            changed: true,
            saved: Duration::ZERO,
            not_before: Duration::ZERO,
            found_bytes: 0,
            repaired_bytes: 0,
        }
    }

    /// What to do next, of a target with so much data that others use like that.
    pub fn next(&mut self, now: Now, seen: Use, total_bytes: u64) -> Next {
        let interval = self.config.interval;
        self.changed |= self.progress.begin_if_due(now.ms, interval, self.phase);
        let again = self.damage.due(now.clock, interval);
        let needed = self.progress.at.map_or(0, |_| {
            let left = total_bytes.saturating_sub(self.progress.bytes);
            needed(left, self.progress.time_left(now.ms, interval))
        });
        match (again, self.progress.at) {
            (None, None) => Next::Sleep(IDLE.min(interval / 10).max(Duration::from_millis(1))),
            (again, at) => match self.pace.next(now.clock, seen, needed) {
                Decision::Sleep(time) => Next::Sleep(time),
                Decision::Read(bytes) => again.map_or(Next::Step(at.unwrap_or_default(), bytes), Next::Again),
            },
        }
    }

    /// A step was read: so many bytes, up to `next`; absent: that was all.
    pub fn step(&mut self, bytes: u64, next: Option<WalkAt>, now: Now) {
        self.progress.step(bytes, next, now.ms);
        self.changed |= next.is_none();
    }

    /// A piece was looked at: these blocks were bad, and of those, these are left.
    pub fn looked(&mut self, at: WalkAt, bits: (u64, u64), reason: Reason, now: Now) {
        let change = self.damage.looked(at, bits, reason, (now.clock, now.ms));
        self.progress.found_bytes += change.found_bytes;
        self.progress.repaired_bytes += change.repaired_bytes;
        self.progress.unlisted_bytes += change.unlisted_bytes;
        self.found_bytes += change.found_bytes;
        self.repaired_bytes += change.repaired_bytes;
        self.changed |= change != Change::default();
        self.unsaved.extend(change.store.map(|damage| (at, damage)));
    }

    /// Whether it is to be remembered now.
    pub fn is_to_be_saved(&self, now: Now) -> bool {
        let moved = self.progress.at.is_some() && now.clock.saturating_sub(self.saved) >= SAVE;
        (self.changed || moved) && now.clock >= self.not_before
    }

    /// Damage that is to be remembered, or forgotten.
    pub fn unsaved(&self) -> Vec<rows::Change> {
        self.unsaved.iter().map(|(at, damage)| (*at, *damage)).collect()
    }

    /// It was remembered, or could not be.
    pub fn saved(&mut self, done: bool, now: Now) {
        if !done {
            self.not_before = now.clock + SAVE_AGAIN;
            return;
        }
        (self.changed, self.saved) = (false, now.clock);
        self.unsaved.clear();
    }
}

#[cfg(test)]
mod tests;

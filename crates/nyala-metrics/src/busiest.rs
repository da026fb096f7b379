// SPDX-License-Identifier: Apache-2.0

//! Which files and directories are the busiest, of the last half to whole minute, in fixed memory and at next to no cost.
//!
//! One request in [`SAMPLED`] is looked at, by chance, and counts for as many; so what is said is an estimate, and of what was done less
//! often than that it says nothing. Each thread has sketches ([`crate::space_saving`]) of its own, of this window and the one before: what is
//! shown is of both. A reading adds the threads up, and so do their bounds.

use crate::shards::{SHARDS, own_shard};
use crate::space_saving::{Heavy, MAX_KEYS, SpaceSaving};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One request in so many is looked at.
pub const SAMPLED: u64 = 16;
/// A window, milliseconds.
pub const WINDOW_MS: u64 = 30_000;

thread_local! {
    /// Requests until the next that is looked at, and the state of the generator that says how many: never 0.
    static NEXT: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Whether the thread's request is one of those that are looked at. To be asked once for each.
#[inline(always)]
pub fn is_sampled() -> bool {
    let (left, state) = NEXT.get();
    match left {
        0 => draw(state),
        left => {
            NEXT.set((left - 1, state));
            false
        }
    }
}

/// Draws the gap to the next one: a fixed one would fall in step with programs that do the same things in turn.
#[cold]
fn draw(state: u32) -> bool {
    let is_first = state == 0;
    let mut state = if is_first { 0x9e37_79b9 ^ (own_shard() as u32 + 1) } else { state };
    // Xorshift, Marsaglia 2003.
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    // From 0 to twice the mean, so that one in SAMPLED is looked at.
    NEXT.set((state % (2 * SAMPLED as u32 - 1), state));
    !is_first
}

/// The busiest keys by one measure.
#[derive(Debug, Default)]
pub struct Busiest([OnceLock<Mutex<Box<Windows>>>; SHARDS]);

/// What a thread has seen in a window and in the one before.
#[derive(Debug)]
struct Windows {
    number: u64,
    now: SpaceSaving,
    before: SpaceSaving,
}

impl Windows {
    /// Goes on to a window; what is older than the one before it is forgotten.
    fn turn(&mut self, number: u64) {
        if number <= self.number {
            return;
        }
        match number == self.number + 1 {
            true => std::mem::swap(&mut self.now, &mut self.before),
            false => self.before.clear(),
        }
        self.now.clear();
        self.number = number;
    }
}

/// A reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Top {
    /// Those for which the most is certain, that first.
    pub keys: Vec<Heavy>,
    /// What is not listed among all weighs no more than this.
    pub missed: u64,
}

impl Busiest {
    /// A request that is looked at has this weight, and so have [`SAMPLED`] like it. `now_ms`: since any moment that stays.
    pub fn add(&self, now_ms: u64, key: u64, weight: u64, part: u64) {
        let number = now_ms / WINDOW_MS;
        let made = || Mutex::new(Box::new(Windows { number, now: SpaceSaving::new(), before: SpaceSaving::new() }));
        let windows = self.0[own_shard() % SHARDS].get_or_init(made);
        // Nobody else takes it but a reading.
        let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn(number);
        windows.now.add(key, weight.saturating_mul(SAMPLED), part.saturating_mul(SAMPLED));
    }

    /// The busiest of this window and the one before, at most so many.
    pub fn top(&self, now_ms: u64, most: usize) -> Top {
        let (mut all, mut missed) = (BTreeMap::<u64, Heavy>::new(), 0u64);
        for windows in self.0.iter().filter_map(OnceLock::get) {
            let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
            windows.turn(now_ms / WINDOW_MS);
            for sketch in [&windows.now, &windows.before] {
                missed = missed.saturating_add(sketch.missed());
                sketch.listed().for_each(|heavy| add_up(&mut all, heavy));
            }
        }
        Top { keys: heaviest(all, most.min(MAX_KEYS)), missed }
    }
}

/// How much of the time before `now_ms` a reading is of, when counting began at 0.
pub fn covered_ms(now_ms: u64) -> u64 {
    now_ms.min(WINDOW_MS + now_ms % WINDOW_MS)
}

/// What several say of the same keys.
pub fn add_up(all: &mut BTreeMap<u64, Heavy>, more: Heavy) {
    let sum = all.entry(more.key).or_insert(Heavy { key: more.key, ..Heavy::default() });
    sum.count = sum.count.saturating_add(more.count);
    sum.error = sum.error.saturating_add(more.error);
    sum.part = sum.part.saturating_add(more.part);
}

/// Those for which the most is certain.
pub fn heaviest(all: BTreeMap<u64, Heavy>, most: usize) -> Vec<Heavy> {
    let mut keys: Vec<Heavy> = all.into_values().filter(|heavy| heavy.count > heavy.error).collect();
    keys.sort_by_key(|heavy| std::cmp::Reverse(heavy.count - heavy.error));
    keys.truncate(most);
    keys
}

#[cfg(test)]
mod tests;

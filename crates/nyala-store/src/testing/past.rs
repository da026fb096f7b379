// SPDX-License-Identifier: Apache-2.0

//! A machine that remembers what its disks were before each change, so that one run of a workload gives the disks of a crash
//! at every point of it, those of several machines at the same moment.

use super::{Machine, State};
use nyala_wire::SplitMix64;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the changes of all machines that share it; a moment is the number of changes before it.
pub type Clock = Arc<AtomicU64>;

pub(super) struct Past {
    clock: Clock,
    /// Moments at which something changed, in order, and what was there before that change.
    before: Vec<(u64, State)>,
}

impl State {
    /// Called before every change.
    pub(super) fn remember(&mut self) {
        if let Some(mut past) = self.past.take() {
            past.before.push((past.clock.fetch_add(1, Ordering::SeqCst), self.copy()));
            self.past = Some(past);
        }
    }
}

impl Machine {
    /// From now on this machine remembers what it was.
    pub fn remember(&self, clock: &Clock) {
        self.state.lock().past = Some(Past { clock: clock.clone(), before: Vec::new() });
    }

    /// A machine as this one was at a moment, whose accidents follow from `seed`.
    pub fn at(&self, moment: u64, seed: u64) -> Machine {
        let now = self.state.lock();
        let before = now.past.iter().flat_map(|past| &past.before).find(|(changed, _)| *changed >= moment);
        let mut state = before.map_or_else(|| now.copy(), |(_, state)| state.copy());
        state.random = SplitMix64::new(seed);
        Machine { state: Arc::new(Mutex::new(state)) }
    }
}

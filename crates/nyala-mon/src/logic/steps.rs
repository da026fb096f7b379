// SPDX-License-Identifier: Apache-2.0

//! Samples of a series as points of an answer, one for each step.

use super::fold::Folded;
use super::series::Key;
use std::collections::BTreeMap;

/// The steps of an answer: after `from`, up to `to`, each so long. All in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Not before here.
    pub from_ms: u64,
    /// Up to here.
    pub to_ms: u64,
    /// Length of a step.
    pub step_ms: u64,
}

impl Steps {
    /// The end of the step that a time is in.
    fn end(&self, time: u64) -> u64 {
        let number = (time - self.from_ms).div_ceil(self.step_ms);
        (self.from_ms + number * self.step_ms).min(self.to_ms)
    }

    /// The values of each step, folded.
    pub fn folded(&self, key: &Key, samples: Vec<(u64, i64)>) -> Vec<(u64, f64)> {
        let mut steps: BTreeMap<u64, Folded> = BTreeMap::new();
        for (time, value) in samples.into_iter().filter(|(time, _)| *time > self.from_ms) {
            steps.entry(self.end(time)).or_default().add(value);
        }
        let shown = |(time, folded): (u64, Folded)| Some((time, key.shown(folded.value(key.kind)? as f64)));
        steps.into_iter().filter_map(shown).collect()
    }

    /// What a counter grew by, over the time that it took, in each step; one that is less than before began anew.
    pub fn rates(&self, key: &Key, samples: &[(u64, i64)]) -> Vec<(u64, f64)> {
        let mut steps: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        for pair in samples.windows(2) {
            let ((then, before), (time, now)) = (pair[0], pair[1]);
            if time > self.from_ms {
                let grown = if now >= before { now - before } else { now };
                let (sum, ms) = steps.entry(self.end(time)).or_default();
                (*sum, *ms) = (sum.saturating_add(grown), *ms + (time - then));
            }
        }
        steps.into_iter().map(|(time, (sum, ms))| (time, key.shown(sum as f64) * 1000.0 / ms.max(1) as f64)).collect()
    }
}

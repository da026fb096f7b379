// SPDX-License-Identifier: Apache-2.0

//! Folds the rounds of a step of time into one.

use super::series::{Key, Kind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values of one series within a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folded {
    last: i64,
    largest: i64,
    sum: i128,
    count: u32,
}

impl Folded {
    /// A further value, later than those before.
    pub fn add(&mut self, value: i64) {
        self.largest = if self.count == 0 { value } else { self.largest.max(value) };
        (self.last, self.sum, self.count) = (value, self.sum + i128::from(value), self.count + 1);
    }

    /// The one that stands for all; none if there were none.
    pub fn value(&self, kind: Kind) -> Option<i64> {
        let mean = || (self.sum / i128::from(self.count.max(1))) as i64;
        (self.count > 0).then(|| match kind {
            Kind::Counter => self.last,
            Kind::Gauge => mean(),
            Kind::Peak => self.largest,
        })
    }
}

/// The step that is under way.
#[derive(Clone, Debug)]
pub struct Fold {
    step_ms: u64,
    number: Option<u64>,
    values: BTreeMap<Arc<Key>, Folded>,
}

/// A folded round: its time, and the values.
pub type Round = (u64, Vec<(Arc<Key>, i64)>);

impl Fold {
    /// With steps of this length, at least 1 ms.
    pub fn new(step_ms: u64) -> Fold {
        Fold { step_ms: step_ms.max(1), number: None, values: BTreeMap::new() }
    }

    /// Adds a round; the folded round of the step before, if this one is of another. Its time is the step's end, which belongs to it.
    pub fn push(&mut self, time_ms: u64, values: &[(Arc<Key>, i64)]) -> Option<Round> {
        let number = time_ms.saturating_sub(1) / self.step_ms;
        let ended = self.number.filter(|before| *before != number).map(|before| {
            let values = std::mem::take(&mut self.values).into_iter();
            let values = values.filter_map(|(key, folded)| Some((key.clone(), folded.value(key.kind)?))).collect();
            ((before + 1) * self.step_ms, values)
        });
        self.number = Some(number);
        for (key, value) in values {
            self.values.entry(key.clone()).or_default().add(*value);
        }
        ended
    }
}

// SPDX-License-Identifier: Apache-2.0

//! All series, each once in memory, in a bounded number.

use super::series::Key;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an open segment needs in memory for each series, bytes, about.
const OPEN_SERIES: usize = 240;

/// The series.
#[derive(Debug)]
pub struct Keys {
    all: BTreeSet<Arc<Key>>,
    bytes: usize,
    most: usize,
    dropped: u64,
}

impl Keys {
    /// For at most so many.
    pub fn new(most: usize) -> Keys {
        Keys { all: BTreeSet::new(), bytes: 0, most, dropped: 0 }
    }

    /// Values with the series as they are in memory; those of more series than there may be are left out.
    pub fn intern(&mut self, values: impl Iterator<Item = (Key, i64)>) -> Vec<(Arc<Key>, i64)> {
        let mut all = Vec::with_capacity(values.size_hint().0);
        for (key, value) in values {
            if let Some(known) = self.all.get(&key) {
                all.push((known.clone(), value));
            } else if self.all.len() < self.most {
                let key = Arc::new(key);
                self.bytes += key.weight();
                self.all.insert(key.clone());
                all.push((key, value));
            } else {
                self.dropped += 1;
            }
        }
        all
    }

    /// Forgets those that nobody else holds.
    pub fn forget(&mut self) {
        let bytes = &mut self.bytes;
        self.all.retain(|key| {
            let used = Arc::strong_count(key) > 1;
            *bytes -= if used { 0 } else { key.weight() };
            used
        });
    }

    /// In order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.all.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Values that were left out.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What they occupy in memory, bytes, about.
    pub fn weight(&self) -> usize {
        self.bytes + self.all.len() * OPEN_SERIES
    }
}

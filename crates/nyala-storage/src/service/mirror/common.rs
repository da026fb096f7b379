// SPDX-License-Identifier: Apache-2.0

//! What members of all groups in a service have in common: figures, and the connections of all threads. Failure model: see the
//! parent module.

use nyala_transport::Pool;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Figures and connections.
#[derive(Default)]
pub struct Common {
    /// Figures by name.
    pub(super) figures: Mutex<BTreeMap<String, u64>>,
    /// Connections to members, of all threads.
    pub(super) pools: Mutex<Vec<Pool>>,
}

impl Common {
    /// A thread serves, with these connections to members.
    pub fn add_pool(&self, pool: &Pool) {
        self.pools.lock().push(pool.clone());
    }

    /// Figures for the service's statistics.
    pub fn figures(&self) -> Vec<(String, u64)> {
        self.figures.lock().iter().map(|(name, value)| (name.clone(), *value)).collect()
    }

    /// Adds to a figure.
    pub(super) fn count(&self, name: &str, value: u64) {
        *self.figures.lock().entry(name.to_owned()).or_insert(0) += value;
    }
}

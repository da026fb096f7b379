// SPDX-License-Identifier: Apache-2.0

//! What the service counts about itself, for STATS.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub heartbeats: AtomicU64,
    pub registrations: AtomicU64,
    pub map_watches: AtomicU64,
    pub changes: AtomicU64,
    pub refused: AtomicU64,
    pub rest_requests: AtomicU64,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counters {
    /// By name.
    pub(crate) fn list(&self) -> Vec<(String, u64)> {
        let all = [
            ("mgmt.heartbeats", &self.heartbeats),
            ("mgmt.registrations", &self.registrations),
            ("mgmt.map_watches", &self.map_watches),
            ("mgmt.changes", &self.changes),
            ("mgmt.refused", &self.refused),
            ("mgmt.rest_requests", &self.rest_requests),
        ];
        all.into_iter().map(|(name, counter)| (name.to_owned(), counter.load(Ordering::Relaxed))).collect()
    }
}

// SPDX-License-Identifier: Apache-2.0

//! How many phases of a benchmark have ended, for whoever shows how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count of phases. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ended(Arc<AtomicU64>);

impl Ended {
    /// One more has ended.
    pub(crate) fn one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many have ended.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

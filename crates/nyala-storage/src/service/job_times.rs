// SPDX-License-Identifier: Apache-2.0

//! How long jobs of worker threads took. Failure model: none of its own.

use nyala_metrics::Histogram;
use std::time::{Duration, Instant};

/// How long jobs waited for a worker thread, and how long its work took.
#[derive(Debug, Default)]
pub(super) struct JobTimes {
    pub waits: Histogram,
    pub work: Histogram,
}

impl JobTimes {
    /// Counts a job's wait, and says how long it was.
    pub fn waited(&self, queued: Instant, taken: Instant) -> Duration {
        let waited = taken.saturating_duration_since(queued);
        self.waits.add(micros(waited));
        waited
    }

    pub fn worked(&self, began: Instant) {
        self.work.add(micros(began.elapsed()));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

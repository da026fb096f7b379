// SPDX-License-Identifier: Apache-2.0

//! Small values of a target's scrub. Failure model: see the parent module; clocks may jump (`logic::progress`).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now: on a clock that never goes back, and in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub clock: Duration,
    pub ms: u64,
}

impl Now {
    /// By a clock that was 0 then.
    pub fn since(began: Instant) -> Now {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        Now { clock: began.elapsed(), ms }
    }
}

/// Counts of a target since its service was started, and how it is now.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrubFigures {
    pub found_bytes: u64,
    pub repaired_bytes: u64,
    pub damaged_bytes: u64,
    pub position_bytes: u64,
    /// Milliseconds since 1970; 0: never.
    pub ended_ms: u64,
    pub late: bool,
}

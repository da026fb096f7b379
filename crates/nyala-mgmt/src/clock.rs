// SPDX-License-Identifier: Apache-2.0

//! The time of day, for people.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, by a clock that may be set.
pub(crate) fn wall_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

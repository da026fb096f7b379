// SPDX-License-Identifier: Apache-2.0

//! The time of day, as stamps on the wire want it.
//!
//! **Failure model.** The clock may be wrong, be set back, or stand before 1970, which is said as 1970: whatever depends on it may only be for people, or
//! for what the file system is told to stamp files with.

use nyala_wire::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time by the system's clock.
pub fn wall_clock() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
}

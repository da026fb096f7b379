// SPDX-License-Identifier: Apache-2.0

//! Points in time as they cross the wire.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// A point in time: seconds since 1970 and nanoseconds (0 to 999,999,999).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub struct Time {
    /// Seconds since the epoch; negative before 1970.
    #[n(0)]
    pub seconds: i64,
    /// Nanoseconds within the second.
    #[n(1)]
    pub nanos: u32,
}

/// A moment by the calendar, UTC: `2026-11-26 01:12:05`. In seconds since 1970.
pub fn utc(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day of a day since 1970 (the usual calculation with years that begin in March).
fn date(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

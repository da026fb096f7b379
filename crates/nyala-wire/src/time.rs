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

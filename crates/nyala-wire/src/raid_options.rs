// SPDX-License-Identifier: Apache-2.0

//! What is kept with a drive set, on its drives.

use minicbor::{Decode, Encode};
use serde::Serialize;

/// What is kept with a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct RaidOptions {
    /// Bytes a second for rebuild and check; 0: as fast as it goes; absent: what leaves room for work.
    #[n(0)]
    pub bytes_per_s: Option<u64>,
    /// So many errors of a drive make it leave the set ...
    #[n(1)]
    pub errors: u32,
    /// ... within so many milliseconds.
    #[n(2)]
    pub within_ms: u64,
}

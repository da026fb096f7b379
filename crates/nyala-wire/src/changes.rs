// SPDX-License-Identifier: Apache-2.0

//! Changes of the cluster state, in sentences for people.

use crate::MapVersion;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct StateChange {
    /// When the management node that answers applied it, milliseconds since 1970; `None`: before it was started.
    #[n(0)]
    pub at_ms: Option<u64>,
    /// Version of the map since then.
    #[n(1)]
    pub version: MapVersion,
    /// What changed.
    #[n(2)]
    pub what: String,
    /// What it came from.
    #[n(3)]
    pub why: String,
}

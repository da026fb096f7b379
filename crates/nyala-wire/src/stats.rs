// SPDX-License-Identifier: Apache-2.0

//! What services say of themselves in the reply to STATS.

use crate::reports::{LinkReport, RecallReport};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// What any service says about itself: named counters, and CPU time of its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ServiceStats {
    /// CPU time of the process, user and system, microseconds.
    #[n(0)]
    pub cpu_us: u64,
    /// Resident memory, bytes.
    #[n(1)]
    pub resident_bytes: u64,
    /// Seconds since start.
    #[n(2)]
    pub uptime_s: u64,
    /// Counters by name, e.g. `op.create`, `write.bytes`, `checksum.errors`.
    #[n(3)]
    pub counters: Vec<(String, u64)>,
    /// Of a metadata service that works: clients that do not let go.
    #[n(4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalls: Option<RecallReport>,
    /// Ways to other servers.
    #[n(5)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkReport>,
}

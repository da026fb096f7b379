// SPDX-License-Identifier: Apache-2.0

//! The memory that a service and its host have left, as the service says it.

use nyala_wire::mgmt::ServiceStats;

/// The memory of a service; what is not known is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What it takes itself, bytes.
    pub resident_bytes: u64,
    /// What its host has, bytes.
    pub total_bytes: Option<u64>,
    /// What its host has left for processes, bytes.
    pub available_bytes: Option<u64>,
    /// The most that it may take together with the others of its control group, bytes.
    pub limit_bytes: Option<u64>,
}

impl Memory {
    /// Out of what a service says, with counters of the names `memory.WHAT`.
    pub fn among(stats: &ServiceStats) -> Memory {
        let of = |name: &str| stats.counters.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        Memory {
            resident_bytes: stats.resident_bytes,
            total_bytes: of("memory.total_bytes"),
            available_bytes: of("memory.available_bytes"),
            limit_bytes: of("memory.limit_bytes"),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What nodes are asked for, and what they say, out of the counters of STATS.

use super::disk_times::DiskTimes;
use super::memory_left::Memory;
use super::reported::Reported;
use super::store_condition::StoreCondition;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{NodeId, TargetId};
use std::collections::BTreeMap;

/// What came of asking a node itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The node.
    pub node: NodeId,
    /// Why it did not answer, if it did not.
    pub failed: Option<String>,
    /// Blocks that it found not to match their checksum, if it said so.
    pub checksum_errors: Option<u64>,
    /// How the scrubs of its targets are, if it said so.
    pub scrubs: Vec<TargetScrub>,
    /// Bytes of data that are still on its targets whose disks fail, about.
    pub left_on_failing: Vec<(TargetId, u64)>,
    /// How long its disks took lately.
    pub disks: Vec<DiskTimes>,
    /// Whether its logs and tables have room.
    pub stores: Vec<StoreCondition>,
    /// The memory that is left for it.
    pub memory: Memory,
    /// Slow operations of the last minutes, if it said so. They are no finding: a server that was away has some, and so has a busy one.
    pub slow_operations: Option<u64>,
    /// What it says of others.
    pub reported: Reported,
}

impl Probe {
    /// It did not answer.
    pub fn silent(node: NodeId, why: String) -> Probe {
        Probe { node, failed: Some(why), ..Probe::default() }
    }

    /// It said this of itself.
    pub fn answered(node: NodeId, stats: &ServiceStats) -> Probe {
        let counters = &stats.counters;
        let errors = counters.iter().filter(|(name, _)| name.contains("checksum") && name.contains("error"));
        Probe {
            node,
            failed: None,
            checksum_errors: Some(errors.map(|(_, count)| count).sum()),
            scrubs: TargetScrub::among(counters),
            left_on_failing: counters
                .iter()
                .filter_map(|(name, bytes)| Some((failing_target(name)?, *bytes)))
                .collect(),
            disks: DiskTimes::among(counters),
            stores: StoreCondition::among(counters),
            memory: Memory::among(stats),
            reported: Reported::among(node, stats),
            slow_operations: counters.iter().find(|(name, _)| name == "slow.lately").map(|(_, count)| *count),
        }
    }
}

/// The target in the name of a counter `failing.TARGET.data_bytes`.
fn failing_target(name: &str) -> Option<TargetId> {
    name.strip_prefix("failing.")?.strip_suffix(".data_bytes")?.parse().ok().map(TargetId)
}

/// How the scrub of a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetScrub {
    /// The target.
    pub target: TargetId,
    /// Bytes that are known to be damaged, and could not be repaired.
    pub damaged_bytes: u64,
    /// No whole scrub has ended in three intervals.
    pub late: bool,
}

impl TargetScrub {
    /// Out of the counters of a storage service, whose names are `scrub.TARGET.damaged_bytes` and `scrub.TARGET.late`.
    pub fn among(counters: &[(String, u64)]) -> Vec<TargetScrub> {
        let mut found = BTreeMap::new();
        for (name, value) in counters {
            let mut parts = name.split('.');
            let (Some("scrub"), Some(target), Some(what), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let Ok(target) = target.parse().map(TargetId) else { continue };
            let scrub = found.entry(target).or_insert(TargetScrub { target, damaged_bytes: 0, late: false });
            match what {
                "damaged_bytes" => scrub.damaged_bytes = *value,
                "late" => scrub.late = *value != 0,
                _ => {}
            }
        }
        found.into_values().collect()
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Logs and tables whose disk is full, or nearly so, and logs that have stopped.

use super::disks::named;
use super::finding::{Finding, Severity};
use super::nodes::host;
use super::probe::{Probe, Whose};
use nyala_wire::map::{ClusterMap, Node};
use std::collections::BTreeMap;

/// Little is left below this part, percent ...
const LITTLE_PERCENT: u64 = 10;
/// ... and so many bytes. For targets the limits of the capacity pools say it.
const LITTLE_BYTES: u64 = 512 << 20;

/// Whether a log and its tables are well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCondition {
    /// Whose they are.
    pub whose: Whose,
    /// What their file system has left, bytes, if that is known.
    pub free_bytes: Option<u64>,
    /// Its size, bytes.
    pub total_bytes: u64,
    /// What adds something is refused, or waits, for lack of room.
    pub must_not_grow: bool,
    /// The last checkpoint found no room.
    pub checkpoint_fails: bool,
    /// A write or a sync failed, and nothing is taken any more.
    pub stopped: bool,
}

impl StoreCondition {
    /// Out of the counters of a service, whose names are `store.WHOSE.WHAT`.
    pub fn among(counters: &[(String, u64)]) -> Vec<StoreCondition> {
        let mut found = BTreeMap::new();
        for (name, value) in counters.iter().filter(|(name, _)| name.starts_with("store.")) {
            let [_, whose, what] = name.split('.').collect::<Vec<_>>()[..] else { continue };
            let Some(whose) = Whose::parse(whose) else { continue };
            let store: &mut StoreCondition = found.entry(whose).or_insert(StoreCondition {
                whose,
                free_bytes: None,
                total_bytes: 0,
                must_not_grow: false,
                checkpoint_fails: false,
                stopped: false,
            });
            match what {
                "free_bytes" => store.free_bytes = Some(*value),
                "total_bytes" => store.total_bytes = *value,
                "must_not_grow" => store.must_not_grow = *value != 0,
                "checkpoint_fails" => store.checkpoint_fails = *value != 0,
                "stopped" => store.stopped = *value != 0,
                _ => {}
            }
        }
        found.into_values().collect()
    }

    fn has_little(&self) -> bool {
        let little = (self.total_bytes / 100 * LITTLE_PERCENT).min(LITTLE_BYTES);
        self.whose == Whose::Service && self.free_bytes.is_some_and(|free| free < little)
    }
}

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    for probe in probes {
        let Some(node) = map.node(probe.node) else { continue };
        all.extend(probe.stores.iter().filter_map(|store| one(map, node, store)));
    }
}

fn one(map: &ClusterMap, node: &Node, store: &StoreCondition) -> Option<Finding> {
    let (about, name) = named(map, node, store.whose);
    let left = store.free_bytes.map_or_else(String::new, |free| format!(" ({} MiB are free)", free >> 20));
    let room = format!(
        "Make room on {} in the file system of its directory (`df` and `du -xh` say what fills it), or enlarge it",
        host(node)
    );
    let (what, advice) = if store.stopped {
        let what = format!("the log of {name} has stopped after a write or sync that failed");
        let advice = format!(
            "Look at the disk on {}: `dmesg` and the service's log say what failed. Once it is well, restart the service: it \
             goes on with what is on disk.",
            host(node)
        );
        (what, advice)
    } else if store.must_not_grow || store.checkpoint_fails {
        let what = match store.must_not_grow {
            true => format!("the disk of the log and tables of {name} is full{left}"),
            false => format!("checkpoints of the tables of {name} find no room{left}"),
        };
        (what, format!("{room}. Until then what adds something is refused or waits; removing files works."))
    } else if store.has_little() {
        let nearly = if store.free_bytes.is_some_and(|free| free >> 20 > 0) { "nearly " } else { "" };
        let what = format!("the disk of the log and tables of {name} is {nearly}full{left}");
        (what, format!("{room}, before changes of the cluster's state have to wait."))
    } else {
        return None;
    };
    Some(Finding { severity: Severity::Degraded, about, what, advice })
}

#[cfg(test)]
mod tests;

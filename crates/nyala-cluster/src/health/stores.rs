// SPDX-License-Identifier: Apache-2.0

//! Logs and tables whose disk is full, or nearly so, logs that have stopped, and tables that are damaged.

use super::disks::named;
use super::finding::{Finding, Severity};
use super::nodes::host;
use super::probe::Probe;
use super::store_condition::StoreCondition;
use super::whose::Whose;
use nyala_wire::map::{ClusterMap, Node, TargetKind};

/// Little is left below this part, percent ...
const LITTLE_PERCENT: u64 = 10;
/// ... and so many bytes.
const LITTLE_BYTES: u64 = 512 << 20;

/// What has to wait for room, where little is left. Of storage targets the limits of the capacity pools say it.
fn has_little(map: &ClusterMap, store: &StoreCondition) -> Option<&'static str> {
    let little = (store.total_bytes / 100 * LITTLE_PERCENT).min(LITTLE_BYTES);
    let waits = match store.whose {
        Whose::Service => "changes of the cluster's state have to wait",
        Whose::Target(id) => {
            map.target(id).filter(|target| target.kind == TargetKind::Meta)?;
            "new names are refused"
        }
    };
    store.free_bytes.is_some_and(|free| free < little).then_some(waits)
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
    } else if store.damaged_places > 0 {
        let places = if store.damaged_places == 1 { "1 place" } else { &format!("{} places", store.damaged_places) };
        let what = format!("the tables of {name} are damaged in {places}");
        let advice = format!(
            "The log of the service on {} says where. What lies there is refused and nothing else. If a mirror group has the target, \
             fill a new one from the other members (docs/operating.md, Restore a store from its mirror); if none has it, make a \
             backup of what can be read, and run `nyala fsck`.",
            host(node)
        );
        (what, advice)
    } else if store.must_not_grow || store.checkpoint_fails {
        let what = match store.must_not_grow {
            true => format!("the disk of the log and tables of {name} is full{left}"),
            false => format!("checkpoints of the tables of {name} find no room{left}"),
        };
        (what, format!("{room}. Until then what adds something is refused or waits; removing files works."))
    } else if let Some(waits) = has_little(map, store) {
        let nearly = if store.free_bytes.is_some_and(|free| free >> 20 > 0) { "nearly " } else { "" };
        let what = format!("the disk of the log and tables of {name} is {nearly}full{left}");
        (what, format!("{room}, before {waits}."))
    } else {
        return None;
    };
    Some(Finding { severity: Severity::Degraded, about, what, advice })
}

#[cfg(test)]
mod tests;

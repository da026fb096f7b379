// SPDX-License-Identifier: Apache-2.0

//! What is wrong with a cluster, and what to do about it: one implementation for `nyala health check`, the REST API and the page.

mod disk_group;
mod disk_times;
mod disks;
mod failing;
mod finding;
mod groups;
mod links;
mod memory;
mod memory_left;
mod nodes;
mod probe;
mod recalls;
mod reported;
mod scrubs;
mod store_condition;
mod stores;
mod targets;
#[cfg(test)]
mod tests;
mod ways;
mod whose;

pub use disk_times::{DiskKind, DiskTimes, Mean};
pub use finding::{About, Finding, Severity};
pub use memory_left::Memory;
pub use probe::{Probe, TargetScrub};
pub use reported::Reported;
pub use store_condition::StoreCondition;
pub use whose::Whose;

use nyala_wire::map::ClusterMap;

/// All that is wrong, as far as the map and the probes tell; of nodes that were not asked, what management knows. In the order of
/// nodes, targets, disks and memory, groups.
pub fn findings(map: &ClusterMap, probes: &[Probe]) -> Vec<Finding> {
    let mut all = Vec::new();
    nodes::check(map, probes, &mut all);
    targets::check(map, &mut all);
    failing::check(map, probes, &mut all);
    scrubs::check(map, probes, &mut all);
    disks::check(map, probes, &mut all);
    stores::check(map, probes, &mut all);
    memory::check(map, probes, &mut all);
    let reports = probes.iter().map(|probe| Reported { by: probe.node, ..probe.reported.clone() });
    all.extend(reported(map, &reports.collect::<Vec<_>>()));
    groups::check(map, &mut all);
    nodes::missing(map, &mut all);
    all
}

/// What is wrong by these reports: clients first, then ways between servers.
fn reported(map: &ClusterMap, reports: &[Reported]) -> Vec<Finding> {
    let mut all = Vec::new();
    recalls::check(map, reports, &mut all);
    links::check(map, reports, &mut all);
    all
}

/// The worst of them; `None`: all is well.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).min()
}

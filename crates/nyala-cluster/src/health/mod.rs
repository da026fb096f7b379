// SPDX-License-Identifier: Apache-2.0

//! What is wrong with a cluster, and what to do about it: one implementation for `nyala health check`, the REST API and the page.

mod finding;
mod groups;
mod links;
mod nodes;
mod recalls;
mod reported;
mod scrubs;
mod targets;
#[cfg(test)]
mod tests;
mod ways;

pub use finding::{About, Finding, Probe, Severity, TargetScrub};
pub use reported::Reported;

use nyala_wire::map::ClusterMap;

/// All that is wrong, as far as the map and the probes tell; of nodes that were not asked, what management knows. In the order of
/// nodes, targets, groups.
pub fn findings(map: &ClusterMap, probes: &[Probe]) -> Vec<Finding> {
    let mut all = Vec::new();
    nodes::check(map, probes, &mut all);
    targets::check(map, &mut all);
    scrubs::check(map, probes, &mut all);
    groups::check(map, &mut all);
    nodes::missing(map, &mut all);
    all
}

/// What is wrong by these reports: clients first, then ways between servers.
pub fn reported(map: &ClusterMap, reports: &[Reported]) -> Vec<Finding> {
    let mut all = Vec::new();
    recalls::check(map, reports, &mut all);
    links::check(map, reports, &mut all);
    all
}

/// The worst of them; `None`: all is well.
pub fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).min()
}

// SPDX-License-Identifier: Apache-2.0

//! What a management service's page of metrics says of the cluster.

use crate::rest::word;
use nyala_cluster::{ClusterState, group_diagnosis};
use nyala_metrics::catalog::mgmt as metrics;
use nyala_metrics::{Metric, Page};
use nyala_wire::map::{ClusterMap, Reachability};
use std::collections::BTreeMap;

/// What is known of the cluster's nodes, targets and groups.
pub(crate) fn write(page: &mut Page, state: &ClusterState, map: &ClusterMap) {
    write_counts(page, &metrics::NODES, state.nodes.iter().map(|node| [word(&node.role), word(&node.reachability)]));
    let targets = state.targets.iter();
    let targets =
        targets.map(|target| [word(&target.kind), word(&target.state.reachability), word(&target.state.consistency)]);
    write_counts(page, &metrics::TARGETS, targets);
    let offline = |t| state.target(t).is_none_or(|t| t.state.reachability == Reachability::Offline);
    let whole = |group| if group_diagnosis(group, offline).is_none() { "good" } else { "degraded" };
    write_counts(page, &metrics::GROUPS, state.groups.iter().map(|group| [whole(group).to_owned()]));
    let mut failing = page.family(&metrics::FAILING);
    map.failing.iter().for_each(|target| failing.value(&[&target.target], target.errors));
}

/// How many there are of each kind.
fn write_counts<const N: usize>(page: &mut Page, metric: &Metric, kinds: impl Iterator<Item = [String; N]>) {
    let mut counts = BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
    let mut family = page.family(metric);
    for (kind, count) in counts {
        let labels = kind.each_ref().map(|label| label as &dyn std::fmt::Display);
        family.value(&labels, count);
    }
}

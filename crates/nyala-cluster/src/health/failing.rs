// SPDX-License-Identifier: Apache-2.0

//! Storage targets whose disks fail: what is on its way by itself, what is left there, and what an operator can do.

use super::finding::{About, Finding, Severity};
use super::probe::Probe;
use crate::word::Word;
use nyala_wire::map::{ClusterMap, FailingTarget, Group, Target};

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    for failing in &map.failing {
        let Some(target) = map.target(failing.target) else { continue };
        let (id, errors) = (target.id, failing.errors);
        let left = probes.iter().flat_map(|probe| &probe.left_on_failing).find(|(of, _)| *of == id);
        let left = left.map_or_else(String::new, |(_, bytes)| {
            format!("; about {} MiB of data are on it", bytes.div_ceil(1 << 20))
        });
        let name = format!("{} target {id} ({})", target.kind.word(), target.alias);
        let what = format!("the disk of {name} fails: it had made {errors} errors when it was called so{left}");
        let group = map.groups.iter().find(|group| group.members.contains(&id));
        let group = group.map_or_else(String::new, |group| in_group(map, failing, group));
        let advice = format!("{group}{}", alone(map, target));
        all.push(Finding { severity: Severity::Degraded, about: About::Target(id), what, advice });
    }
}

/// What becomes of its place in its mirror group.
fn in_group(map: &ClusterMap, failing: &FailingTarget, group: &Group) -> String {
    let id = group.id;
    match failing.replacement.filter(|by| group.members.contains(by)) {
        Some(by) => format!(
            "Target {by} takes its place in mirror group {id} once it holds everything (`nyala mirror resync stats`). "
        ),
        None => {
            let others = group.members.iter().filter(|member| **member != failing.target);
            let hosts = others.filter_map(|member| map.node_of(*member)).map(|node| node.alias.as_str());
            format!(
                "No spare takes its place in mirror group {id}: `nyala target add DIR` on another node than {} gives it one, as large as \
                 this target, empty, of the same pool and in no group. ",
                hosts.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// What becomes of the rest.
fn alone(map: &ClusterMap, target: &Target) -> String {
    let id = target.id;
    let others = map.targets_of(target.kind).filter(|other| other.pool == target.pool && !map.is_failing(other.id));
    let moves = match others.count() {
        0 => "Files that are not mirrored stay, as no other target of its pool can take them: add one.",
        _ => "Mounts move files that are not mirrored to other targets, one by one, as far as there is room.",
    };
    format!(
        "{moves} `nyala entry find DIR --targets {id}` lists what is left, `nyala entry migrate DIR --targets {id} --yes` moves it at once. If the disk \
         is not to blame: `nyala target set-state {id} good --yes`."
    )
}

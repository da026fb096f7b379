// SPDX-License-Identifier: Apache-2.0

//! Mirror groups that are not whole.

use super::finding::{About, Finding, Severity};
use crate::group::group_diagnosis;
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, Group, MemberState, Reachability};

pub(super) fn check(map: &ClusterMap, all: &mut Vec<Finding>) {
    let offline = |target| map.target(target).is_none_or(|t| t.reachability == Reachability::Offline);
    for group in &map.groups {
        let Some(what) = group_diagnosis(group, offline) else { continue };
        let (severity, advice) = judge(map, group, &offline);
        all.push(Finding { severity, about: About::Group(group.id), what, advice });
    }
}

fn judge(map: &ClusterMap, group: &Group, offline: &dyn Fn(TargetId) -> bool) -> (Severity, String) {
    let serves = |(target, state): (TargetId, MemberState)| state == MemberState::Good && !offline(target);
    if !group.members_with_states().any(serves) {
        let good = group.members_with_states().find(|(_, state)| *state == MemberState::Good);
        let advice = match good.and_then(|(target, _)| map.node_of(target)) {
            Some(node) => format!("Start the service of node {}.", node.alias),
            None => "Find out which member has the newest content, and declare that one good.".to_owned(),
        };
        return (Severity::Down, advice);
    }
    if group.resync_stopped {
        let advice = format!("Let resync go on when you are ready: `nyala mirror resync start {}`.", group.id);
        return (Severity::Degraded, advice);
    }
    let behind: Vec<_> = group.members_with_states().filter(|(_, state)| *state != MemberState::Good).collect();
    if behind.iter().all(|(target, state)| *state == MemberState::Resyncing && !offline(*target)) {
        return (Severity::Notice, "Nothing: resync ends by itself, and the group serves meanwhile.".to_owned());
    }
    let away = behind.iter().filter(|(target, _)| offline(*target)).filter_map(|(target, _)| map.node_of(*target));
    let away: Vec<&str> = away.map(|node| node.alias.as_str()).collect();
    if away.is_empty() {
        return (Severity::Degraded, "Nothing yet: resync begins by itself for members that need it.".to_owned());
    }
    let advice = format!("Start the service of node {}; resync then begins by itself.", away.join(", "));
    (Severity::Degraded, advice)
}

// SPDX-License-Identifier: Apache-2.0

//! Findings that come from the same node, together: a node that is away takes its targets and their mirror groups along.

use nyala_cluster::health::{About, Finding, Severity};
use nyala_wire::map::{ClusterMap, MemberState, Reachability};
use nyala_wire::{GroupId, NodeId, TargetId};

/// Findings with one cause; what to do is said of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The worst of them.
    pub severity: Severity,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// Puts findings with one cause together, the worst first.
pub fn fold(map: &ClusterMap, findings: Vec<Finding>) -> Vec<Card> {
    let mut cards: Vec<(Option<NodeId>, Card)> = Vec::new();
    let mut at = std::collections::BTreeMap::new();
    for finding in findings {
        let cause = cause(map, &finding);
        let known = cause.and_then(|node| at.get(&node).copied());
        match known.and_then(|at: usize| cards.get_mut(at)) {
            Some((_, card)) => {
                card.severity = card.severity.min(finding.severity);
                card.findings.push(finding);
            }
            None => {
                cause.map(|node| at.insert(node, cards.len()));
                cards.push((cause, Card { severity: finding.severity, findings: vec![finding] }));
            }
        }
    }
    cards.sort_by_key(|(_, card)| card.severity);
    cards.into_iter().map(|(_, card)| card).collect()
}

/// The node that a finding comes from.
fn cause(map: &ClusterMap, finding: &Finding) -> Option<NodeId> {
    match finding.about {
        // What is wrong with a node that is there has causes of its own, each with something to do.
        About::Node(node) => {
            map.node(node).filter(|node| node.reachability != Reachability::Online).map(|node| node.id)
        }
        About::Target(target) => away(map, target),
        About::Group(group) => member_away(map, group),
        About::Cluster => None,
    }
}

fn away(map: &ClusterMap, target: TargetId) -> Option<NodeId> {
    let node = map.node_of(target)?;
    (node.reachability != Reachability::Online).then_some(node.id)
}

/// Of a group whose members that are not good are all at one node that is away, or whose last good ones are.
fn member_away(map: &ClusterMap, group: GroupId) -> Option<NodeId> {
    let group = map.group(group)?;
    let serves = group.members_with_states().any(|(id, state)| state == MemberState::Good && away(map, id).is_none());
    let mut causes = group.members_with_states().filter(|(_, state)| (*state == MemberState::Good) != serves);
    let first = away(map, causes.next()?.0)?;
    causes.all(|(id, _)| away(map, id) == Some(first)).then_some(first)
}

// SPDX-License-Identifier: Apache-2.0

//! What changed, a sentence for each thing.

use super::mood::Mood;
use crate::word::Word;
use crate::{ClusterState, Event, Thing};
use nyala_wire::access_rules::{ANY_KEY, Network};
use nyala_wire::map::{CapacityPool, Consistency, MemberState, Reachability};
use nyala_wire::{GroupId, NodeId, TargetId};

pub(super) fn what(before: &ClusterState, events: &[Event], after: &ClusterState) -> Vec<(Mood, String)> {
    let mut all: Vec<(Mood, String)> = primaries(before, after);
    all.extend(events.iter().filter_map(|event| one(before, event, after)));
    let moving = events.iter().filter(|event| matches!(event, Event::SlotMoves(_))).count();
    let staying = events.iter().filter(|event| matches!(event, Event::SlotStays(_))).count();
    for (count, what) in [(moving, "on the way to another metadata server"), (staying, "to stay where they are")] {
        if count > 0 {
            all.push((Mood::Neutral, format!("{count} slots are {what}")));
        }
    }
    all
}

/// Groups that have another primary. It may be part of what any command does.
fn primaries(before: &ClusterState, after: &ClusterState) -> Vec<(Mood, String)> {
    let changed = after.groups.iter().filter_map(|group| {
        let (primary, earlier) = (group.primary()?, before.group(group.id)?.primary()?);
        let said = || format!("{} is primary of mirror group {}, after {earlier}", target(after, primary), group.id);
        (primary != earlier).then(|| (Mood::Neutral, said()))
    });
    changed.collect()
}

fn one(before: &ClusterState, event: &Event, after: &ClusterState) -> Option<(Mood, String)> {
    let neutral = |what| Some((Mood::Neutral, what));
    match event {
        Event::Initialised(cluster) => neutral(format!("cluster {cluster} exists")),
        Event::NodeAdded(id) => Some((Mood::Better, format!("{} joined", node(after, *id)))),
        Event::NodeChanged(id) => node_changed(before, *id, after),
        Event::NodeRemoved(id) => neutral(format!("{} was removed", node(before, *id))),
        Event::TargetAdded(id) => Some((Mood::Better, format!("{} joined", target(after, *id)))),
        Event::TargetMoved(id, to) => neutral(format!("{} is now at {}", target(after, *id), node(after, *to))),
        Event::TargetRemoved(id) => neutral(format!("{} was removed", target(before, *id))),
        // Reachability is said of its node, once.
        Event::TargetState(id, state) => {
            let earlier = before.target(*id).map(|target| target.state.consistency);
            let mood = if state.consistency == Consistency::Good { Mood::Better } else { Mood::Worse };
            let what = || format!("{} is {}", target(after, *id), state.consistency.word());
            (earlier != Some(state.consistency)).then(|| (mood, what()))
        }
        Event::TargetCapacity(id, pool) => {
            let mood = if *pool == CapacityPool::Normal { Mood::Better } else { Mood::Worse };
            Some((mood, format!("{} is in the capacity pool {}", target(after, *id), pool.word())))
        }
        Event::TargetPool(id, pool) => neutral(format!("{} is in storage pool {pool}", target(after, *id))),
        Event::SlotsAssigned(range) => {
            neutral(format!("{} serves {} slots from {} on", target(after, range.target), range.count, range.first))
        }
        Event::SettingsChanged => neutral("the settings changed".to_owned()),
        Event::LimitsChanged => neutral("the limits of the capacity pools changed".to_owned()),
        Event::Renamed(Thing::Node(id)) => neutral(format!("{} is called {}", node(before, *id), node(after, *id))),
        Event::Renamed(Thing::Target(id)) => {
            neutral(format!("{} is called {}", target(before, *id), target(after, *id)))
        }
        Event::Renamed(Thing::Pool(id)) => neutral(format!("storage pool {id} has another name")),
        Event::PoolCreated(id) => neutral(format!("storage pool {id} was made")),
        Event::PoolRemoved(id) => neutral(format!("storage pool {id} was removed")),
        Event::GroupCreated(id) => Some((Mood::Better, format!("mirror group {id} was made"))),
        Event::GroupRemoved(id) => neutral(format!("mirror group {id} was removed")),
        Event::MemberState(group, id, state) => Some(member(after, *group, *id, *state)),
        Event::MovesPlanned(id) => planned(before, *id, after).map(|what| (Mood::Neutral, what)),
        Event::KeyRuleChanged(key) => neutral(held(after, key)),
        Event::AccessRuleChanged(key, network) => neutral(let_in(after, key, *network)),
        Event::TargetFails(id, fails) => Some(disk(after, *id, *fails)),
        Event::GroupChanged(..)
        | Event::PrimaryChanged(..)
        | Event::RangeHandedOut(..)
        | Event::SlotMoves(_)
        | Event::SlotStays(_)
        | Event::OrderNoted(_)
        | Event::OrderEnded(_) => None, // Said by what else changed, or of no use to people.
    }
}

/// Slots that wait until they may set out for a server that joined; while they do, nothing is said.
fn planned(before: &ClusterState, id: TargetId, after: &ClusterState) -> Option<String> {
    let of = |state: &ClusterState| state.planned.iter().find(|plan| plan.to == id).map_or(0, |plan| plan.slots.len());
    let slots = of(after);
    (slots > of(before)).then(|| format!("{} is to serve {slots} more slots", target(after, id)))
}

fn disk(after: &ClusterState, id: TargetId, fails: bool) -> (Mood, String) {
    let name = target(after, id);
    match after.failing(id).and_then(|failing| failing.replacement) {
        Some(by) => (Mood::Neutral, format!("{} is to take the place of {name}, whose disk fails", target(after, by))),
        None if fails => (Mood::Worse, format!("the disk of {name} fails: its data moves to other targets")),
        None => (Mood::Better, format!("the disk of {name} is taken to be well again")),
    }
}

fn held(after: &ClusterState, key: &str) -> String {
    let rules = if after.key_rules.iter().any(|rule| rule.key == key) { "other rules" } else { "no rules" };
    format!("key {key} has {rules}")
}

fn let_in(after: &ClusterState, key: &str, network: Option<Network>) -> String {
    let kept = after.access_rules.iter().any(|rule| rule.clients() == (key, network));
    let who = if key == ANY_KEY { "any key".to_owned() } else { format!("key {key}") };
    let from = network.map_or_else(|| "anywhere".to_owned(), |network| network.to_string());
    format!("clients with {who} from {from} have {}", if kept { "another access rule" } else { "no access rule" })
}

fn node_changed(before: &ClusterState, id: NodeId, after: &ClusterState) -> Option<(Mood, String)> {
    let (earlier, now) = (before.node(id)?, after.node(id)?);
    let name = node(after, id);
    if earlier.reachability != now.reachability {
        let mood = match now.reachability {
            Reachability::Online => Mood::Better,
            Reachability::ProbablyOffline | Reachability::Offline => Mood::Worse,
        };
        return Some((mood, format!("{name} is {}", now.reachability.word())));
    }
    let what = if earlier.incarnation == now.incarnation { "has other addresses" } else { "was started anew" };
    Some((Mood::Neutral, format!("{name} {what}")))
}

fn member(after: &ClusterState, group: GroupId, id: TargetId, state: MemberState) -> (Mood, String) {
    let (mood, what) = match state {
        MemberState::Good => (Mood::Better, "holds everything"),
        MemberState::NeedsResync => (Mood::Worse, "misses changes and needs resync"),
        MemberState::Resyncing => (Mood::Neutral, "is being resynced"),
        MemberState::Bad => (Mood::Worse, "is bad"),
    };
    (mood, format!("{} of mirror group {group} {what}", target(after, id)))
}

pub(super) fn node(state: &ClusterState, id: NodeId) -> String {
    state.node(id).map_or_else(|| format!("node {id}"), |n| format!("{} node {} ({id})", n.role.word(), n.alias))
}

pub(super) fn target(state: &ClusterState, id: TargetId) -> String {
    state.target(id).map_or_else(|| format!("target {id}"), |t| format!("target {id} ({})", t.alias))
}

// SPDX-License-Identifier: Apache-2.0

//! Mirror groups, their members, and how far resync is.

use super::{Cut, MOST_ROWS};
use crate::action::Action;
use crate::facts::Facts;
use crate::figures::Resync;
use nyala_cluster::group_diagnosis;
use nyala_wire::TargetId;
use nyala_wire::map::{Consistency, Group, MemberState, Node, Reachability, Target};

/// A mirror group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupCard<'a> {
    /// As the map has it.
    pub group: &'a Group,
    /// What is wrong with it.
    pub diagnosis: Option<String>,
    /// Members, the primary first.
    pub members: Vec<MemberRow<'a>>,
    /// What may be done with it.
    pub actions: Vec<(&'static str, Action)>,
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberRow<'a> {
    /// Its id.
    pub id: TargetId,
    /// As the map has it.
    pub target: Option<&'a Target>,
    /// Its node.
    pub node: Option<&'a Node>,
    /// Whether it is primary.
    pub primary: bool,
    /// What it is worth.
    pub state: MemberState,
    /// How far its resync is.
    pub resync: Option<Resync>,
    /// What may be done with it.
    pub actions: Vec<(&'static str, Action)>,
}

/// Groups; those that are not whole first, then by id.
pub fn cards<'a>(facts: &Facts<'a>) -> Cut<GroupCard<'a>> {
    let mut all: Vec<GroupCard<'a>> = Vec::new();
    let map = facts.map;
    let offline = |target| map.target(target).is_none_or(|t| t.reachability == Reachability::Offline);
    let mut groups: Vec<(bool, &Group, Option<String>)> = Vec::new();
    for group in &map.groups {
        let diagnosis = group_diagnosis(group, offline);
        groups.push((diagnosis.is_none() && !group.members.iter().any(|member| offline(*member)), group, diagnosis));
    }
    groups.sort_by_key(|(whole, group, _)| (*whole, group.id));
    let cut = Cut::of(groups, MOST_ROWS);
    for (_, group, diagnosis) in cut.rows {
        let members = group.members_with_states().enumerate();
        let members = members.map(|(at, (id, state))| member(facts, group, id, state, at == 0)).collect();
        let resync = Action::StopResync { group: group.id, stopped: !group.resync_stopped };
        let label = if group.resync_stopped { "Let resync go on…" } else { "Stop resync…" };
        let behind = group.members_with_states().any(|(_, state)| state != MemberState::Good);
        let actions = if behind || group.resync_stopped { vec![(label, resync)] } else { Vec::new() };
        all.push(GroupCard { group, diagnosis, members, actions });
    }
    Cut { rows: all, more: cut.more }
}

fn member<'a>(facts: &Facts<'a>, group: &'a Group, id: TargetId, state: MemberState, primary: bool) -> MemberRow<'a> {
    let target = facts.map.target(id);
    let online = target.is_some_and(|target| target.reachability == Reachability::Online);
    let declare = |consistency| Action::Declare { target: id, consistency };
    let mut actions = Vec::new();
    match state {
        MemberState::Good => {
            if !primary && online {
                actions.push(("Make primary…", Action::Switch { group: group.id, target: id }));
            }
            if !primary {
                actions.push(("Resync…", declare(Consistency::NeedsResync)));
            }
        }
        MemberState::NeedsResync | MemberState::Resyncing => {
            if group.primary() == Some(id) || !serves(facts, group) {
                actions.push(("Declare good…", declare(Consistency::Good)));
            }
        }
        MemberState::Bad => {
            actions.push(("Resync…", declare(Consistency::NeedsResync)));
            if !serves(facts, group) {
                actions.push(("Declare good…", declare(Consistency::Good)));
            }
        }
    }
    let resync = facts.figures.and_then(|figures| figures.resyncs.get(&(group.id, id)).copied());
    let resync = resync.filter(|_| state != MemberState::Good);
    MemberRow { id, target, node: facts.map.node_of(id), primary, state, resync, actions }
}

/// Whether a good member can be reached.
fn serves(facts: &Facts<'_>, group: &Group) -> bool {
    let online = |id| facts.map.target(id).is_some_and(|target| target.reachability != Reachability::Offline);
    group.members_with_states().any(|(id, state)| state == MemberState::Good && online(id))
}

/// The copied part, of one.
pub fn progress(resync: &Resync) -> f64 {
    let all = resync.copied + resync.remaining;
    if all > 0.0 { (resync.copied / all).clamp(0.0, 1.0) } else { 0.0 }
}

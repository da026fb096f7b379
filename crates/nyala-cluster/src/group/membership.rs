// SPDX-License-Identifier: Apache-2.0

//! Members come and go on operators' wishes.
//!
//! **Failure model.** A new member has nothing: it is on the group's `full` list until a resync has given it everything, so
//! that no primary, present or future, takes what changed lately for all that it lacks. A member that leaves must have lost
//! its rights before, and know it: a good one might go on serving reads that nobody keeps up to date. A group keeps a good
//! member. Both commands may come twice.

use crate::limits::MAX_MEMBERS;
use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{Consistency, MemberState, Reachability};
use nyala_wire::{GroupId, TargetId};

type Events = Result<Vec<Event>, ClusterError>;

fn in_use(target: TargetId, why: String) -> ClusterError {
    ClusterError::InUse { what: format!("target {target}"), why }
}

impl ClusterState {
    pub(crate) fn add_member(&mut self, id: GroupId, target: TargetId) -> Events {
        let at = self.group_at(id)?;
        let record = self.target(target).ok_or(ClusterError::NoTarget { target })?;
        if let Some(other) = self.group_of(target) {
            let why = format!("it is a member of mirror group {}", other.id);
            return if other.id == id { Ok(Vec::new()) } else { Err(in_use(target, why)) };
        }
        let group = &self.groups[at];
        if self.has_slots(target) && group.serves != Some(target) {
            return Err(ClusterError::invalid(format!(
                "target {target} serves names of its own; a member is a metadata target that was started as a spare"
            )));
        }
        if record.kind != group.kind {
            return Err(ClusterError::invalid(format!("target {target} holds {:?} content", record.kind)));
        }
        if record.state.reachability != Reachability::Online {
            return Err(ClusterError::invalid(format!("target {target} is not online")));
        }
        if group.members.len() >= MAX_MEMBERS {
            return Err(ClusterError::invalid(format!("a mirror group has at most {MAX_MEMBERS} members")));
        }
        if !group.states.contains(&MemberState::Good) {
            return Err(ClusterError::invalid(format!("mirror group {id} has no good member to copy from")));
        }
        let group = &mut self.groups[at];
        group.members.push(target);
        group.states.push(MemberState::NeedsResync);
        group.full.push(target);
        Ok(vec![Event::MemberState(id, target, MemberState::NeedsResync)])
    }

    pub(crate) fn remove_member(&mut self, id: GroupId, target: TargetId) -> Events {
        let at = self.group_at(id)?;
        let group = &self.groups[at];
        let Some(member) = group.members.iter().position(|t| *t == target) else { return Ok(Vec::new()) };
        let others = group.members_with_states().filter(|(t, _)| *t != target);
        if !others.into_iter().any(|(_, state)| state == MemberState::Good) {
            let why = format!("no other member of mirror group {id} is good; see nyala mirror list");
            return Err(in_use(target, why));
        }
        if group.states[member] == MemberState::Good || group.fencing.contains(&target) {
            let why = format!(
                "it is in service in mirror group {id}; nyala target set-state {target} needs-resync takes it out"
            );
            return Err(in_use(target, why));
        }
        let group = &mut self.groups[at];
        group.members.remove(member);
        group.states.remove(member);
        let mut events = vec![Event::GroupChanged(id, group.epoch + 1)];
        // It missed changes of the group's; what else it holds is none of the group's business.
        if let Some(record) = self.target_mut(target).filter(|t| t.state.consistency == Consistency::NeedsResync) {
            record.state.consistency = Consistency::Good;
            events.push(Event::TargetState(target, record.state));
        }
        Ok(events)
    }
}

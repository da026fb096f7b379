// SPDX-License-Identifier: Apache-2.0

//! What primaries and operators ask for. A command names the epoch that its sender saw: with another epoch by now it is
//! refused, because its reasons may be gone. What holds already is done already.

use super::member::{MemberTrigger, next};
use super::member_at::MemberAt;
use super::reconcile::{promote, step};
use crate::disk_failure::is_replaced;
use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{Group, MemberState};
use nyala_wire::{GroupId, TargetId};

type Events = Result<Vec<Event>, ClusterError>;

impl ClusterState {
    /// The primary `by` got no answer from a member, or its own disk fails (`by` is the member).
    pub(crate) fn mark_needs_resync(&mut self, member: MemberAt, by: TargetId) -> Events {
        let (at, member_at, state) = self.find_member(member)?;
        if matches!(state, MemberState::NeedsResync | MemberState::Bad) {
            return Ok(Vec::new());
        }
        let group = self.in_epoch(at, member.epoch)?;
        if group.primary() != Some(by) {
            return Err(ClusterError::invalid(format!("target {by} is not the primary of mirror group {}", group.id)));
        }
        let others = group.members.clone().into_iter().filter(|t| *t != member.target);
        let mut good = others.filter(|t| group.state(*t) == Some(MemberState::Good));
        if state == MemberState::Good && !good.any(|t| !self.is_offline(t)) {
            let reason = format!("target {} is the only good member of mirror group {}", member.target, member.group);
            return Err(ClusterError::invalid(reason));
        }
        self.transition(at, member_at, MemberTrigger::Marked)
    }

    pub(crate) fn start_resync(&mut self, member: MemberAt) -> Events {
        let (at, member_at, state) = self.find_member(member)?;
        if state == MemberState::Resyncing {
            return Ok(Vec::new());
        }
        let group = self.in_epoch(at, member.epoch)?;
        if is_replaced(self, group, member.target) {
            let reason = format!("target {} leaves mirror group {}: its disk fails", member.target, member.group);
            return Err(ClusterError::invalid(reason));
        }
        if self.is_offline(member.target) {
            return Err(ClusterError::invalid(format!("target {} is offline", member.target)));
        }
        self.transition(at, member_at, MemberTrigger::ResyncStarted)
    }

    pub(crate) fn member_resynced(&mut self, member: MemberAt) -> Events {
        let (at, member_at, state) = self.find_member(member)?;
        if state == MemberState::Good {
            return Ok(Vec::new());
        }
        self.in_epoch(at, member.epoch)?;
        self.transition(at, member_at, MemberTrigger::Resynced)
    }

    /// An operator moves the primary's work to another good member.
    pub(crate) fn switch_primary(&mut self, to: MemberAt) -> Events {
        let (at, member_at, state) = self.find_member(to)?;
        if member_at == 0 {
            return Ok(Vec::new());
        }
        self.in_epoch(at, to.epoch)?;
        if state != MemberState::Good || self.is_offline(to.target) {
            return Err(ClusterError::invalid(format!("target {} is not good and online", to.target)));
        }
        promote(&mut self.groups[at], member_at);
        Ok(vec![Event::PrimaryChanged(to.group, to.target)])
    }

    /// A member on the fencing list knows that it has lost its right.
    pub(crate) fn fenced(&mut self, member: MemberAt) -> Events {
        let at = self.group_at(member.group)?;
        if !self.groups[at].fencing.contains(&member.target) {
            return Ok(Vec::new());
        }
        self.in_epoch(at, member.epoch)?;
        self.groups[at].fencing.retain(|target| *target != member.target);
        Ok(vec![Event::GroupChanged(member.group, member.epoch)])
    }

    pub(crate) fn stop_resync(&mut self, group: GroupId, stopped: bool) -> Events {
        let at = self.group_at(group)?;
        let group = &mut self.groups[at];
        if group.resync_stopped == stopped {
            return Ok(Vec::new());
        }
        group.resync_stopped = stopped;
        Ok(vec![Event::GroupChanged(group.id, group.epoch)])
    }

    /// Position of the group, of the member in it, and the member's state.
    fn find_member(&self, member: MemberAt) -> Result<(usize, usize, MemberState), ClusterError> {
        let at = self.group_at(member.group)?;
        let group = &self.groups[at];
        let none = || ClusterError::invalid(format!("target {} is not in mirror group {}", member.target, group.id));
        let member_at = group.members.iter().position(|t| *t == member.target).ok_or_else(none)?;
        Ok((at, member_at, group.states[member_at]))
    }

    fn in_epoch(&self, at: usize, epoch: u32) -> Result<&Group, ClusterError> {
        let group = &self.groups[at];
        let refusal = ClusterError::WrongEpoch { group: group.id, named: epoch, current: group.epoch };
        if group.epoch == epoch { Ok(group) } else { Err(refusal) }
    }

    fn transition(&mut self, at: usize, member_at: usize, trigger: MemberTrigger) -> Events {
        let group = &mut self.groups[at];
        let (member, state) = (group.members[member_at], group.states[member_at]);
        if next(state, trigger).is_none() {
            let reason = format!("target {member} is {state:?} and cannot change by {trigger:?}");
            return Err(ClusterError::invalid(reason));
        }
        step(group, member_at, trigger);
        Ok(vec![Event::MemberState(group.id, member, group.states[member_at])])
    }
}

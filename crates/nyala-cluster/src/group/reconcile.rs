// SPDX-License-Identifier: Apache-2.0

//! What follows for groups from the other commands, in the same log entry: runs that ended, operators' words about
//! targets; and the one place in which a group's epoch, term and fencing list change.

use super::member::{MemberTrigger, next};
use crate::{ClusterError, ClusterState, Event};
use nyala_wire::TargetId;
use nyala_wire::map::{Consistency, Group, MemberState};

/// What a command did to a member, beside what its state says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    target: TargetId,
    /// Its run ended with this command.
    ended: bool,
    /// It is out of reach now.
    offline: bool,
}

impl ClusterState {
    /// Brings groups in line with their targets after a command; `before` is the state that the command found.
    pub(crate) fn reconcile_groups(
        &mut self,
        before: &ClusterState,
        events: &mut Vec<Event>,
    ) -> Result<(), ClusterError> {
        for at in 0..self.groups.len() {
            let mut group = self.groups[at].clone();
            let outcomes: Vec<Outcome> = group.members.iter().map(|target| self.outcome(before, *target)).collect();
            self.apply_overrides(before, &mut group)?;
            end_runs(&mut group, &outcomes);
            self.count_loss(before, &mut group);
            self.elect(&mut group, &outcomes);
            let old = before.group(group.id).cloned();
            self.close(old, group, at, &outcomes, events);
        }
        Ok(())
    }

    fn outcome(&self, before: &ClusterState, target: TargetId) -> Outcome {
        let run = |state: &ClusterState| {
            let node = state.target(target).and_then(|t| state.node(t.node))?;
            Some((node.id, node.incarnation))
        };
        let offline = self.is_offline(target);
        let was_there = before.target(target).is_some();
        let ended = was_there && (run(before) != run(self) || (offline && !before.is_offline(target)));
        Outcome { target, ended, offline }
    }

    /// What the last good member lost, nobody has.
    fn count_loss(&self, before: &ClusterState, group: &mut Group) {
        let losses = |state: &ClusterState, target| state.target(target).map(|record| record.losses);
        let lost = |target| losses(before, target).is_some_and(|known| losses(self, target) != Some(known));
        if group.members_with_states().any(|(target, state)| state == MemberState::Good && lost(target)) {
            group.losses = group.losses.wrapping_add(1);
        }
    }

    /// The primary is a good member, one in reach if there is one. Who is primary stays it as long as that holds.
    fn elect(&self, group: &mut Group, outcomes: &[Outcome]) {
        let good = |at: &usize| group.states[*at] == MemberState::Good;
        let reach = |at: &usize| !self.is_offline(group.members[*at]);
        let all = 0..group.members.len();
        let first = if good(&0) && reach(&0) { Some(0) } else { all.clone().find(|at| good(at) && reach(at)) };
        let Some(at) = first.or_else(|| all.clone().find(good)) else { return };
        let restarted = outcomes.iter().any(|outcome| outcome.target == group.members[at] && outcome.ended);
        if at > 0 || restarted {
            promote(group, at);
        }
    }

    /// Makes the change of a group known: epoch, since when, who has to be told, the targets' consistency.
    fn close(&mut self, old: Option<Group>, mut new: Group, at: usize, outcomes: &[Outcome], events: &mut Vec<Event>) {
        let gone = |target: TargetId| {
            outcomes.iter().any(|outcome| outcome.target == target && (outcome.ended || outcome.offline))
        };
        new.fencing.retain(|target| !gone(*target) && new.members.contains(target));
        let lacks = |target: &TargetId| new.state(*target).is_some_and(|state| state != MemberState::Good);
        let full: Vec<TargetId> = new.full.iter().copied().filter(lacks).collect();
        new.full = full;
        let Some(old) = old else {
            self.groups[at] = new;
            return self.show_consistency(at, events);
        };
        let changed = old.members != new.members || old.states != new.states || old.term != new.term;
        if changed {
            new.epoch = old.epoch + 1;
            if new.term != old.term {
                new.term = new.epoch;
            }
            new.since.0 = self.version.0 + 1;
            for (target, was) in old.members_with_states() {
                let lost = was == MemberState::Good && new.state(target) != Some(MemberState::Good);
                let deposed = old.primary() == Some(target) && new.primary() != Some(target);
                if (lost || deposed) && !gone(target) && !new.fencing.contains(&target) {
                    new.fencing.push(target);
                }
            }
        }
        let told = Event::GroupChanged(new.id, new.epoch);
        if old != new && !events.contains(&told) {
            events.push(told);
        }
        self.groups[at] = new;
        self.show_consistency(at, events);
    }

    /// Members' states show in their targets.
    fn show_consistency(&mut self, at: usize, events: &mut Vec<Event>) {
        let members: Vec<(TargetId, MemberState)> = self.groups[at].members_with_states().collect();
        for (target, state) in members {
            let consistency = consistency_of(state);
            if let Some(record) = self.target_mut(target).filter(|t| t.state.consistency != consistency) {
                record.state.consistency = consistency;
                events.push(Event::TargetState(target, record.state));
            }
        }
    }
}

/// Runs that ended: good members of which another goes on need resync; the last good one stays good.
fn end_runs(group: &mut Group, outcomes: &[Outcome]) {
    let is_good = |group: &Group, at: usize| group.states[at] == MemberState::Good;
    let mut last = None;
    if !(0..outcomes.len()).any(|at| is_good(group, at) && !outcomes[at].ended && !outcomes[at].offline) {
        last = (0..outcomes.len()).find(|at| is_good(group, *at));
    }
    for (at, outcome) in outcomes.iter().enumerate() {
        let over = outcome.ended || (outcome.offline && is_good(group, at));
        if over {
            step(group, at, if last == Some(at) { MemberTrigger::EndedLast } else { MemberTrigger::Ended });
        }
    }
}

/// Promotes a member: it comes first, and resyncs of the old term are void. The term gets its number with the epoch.
pub(super) fn promote(group: &mut Group, at: usize) {
    let (member, state) = (group.members.remove(at), group.states.remove(at));
    group.members.insert(0, member);
    group.states.insert(0, state);
    group.term += 1;
    (1..group.members.len()).for_each(|other| step(group, other, MemberTrigger::NewTerm));
}

/// One transition; one that the table does not have leaves the member as it is.
pub(super) fn step(group: &mut Group, at: usize, trigger: MemberTrigger) {
    group.states[at] = next(group.states[at], trigger).unwrap_or(group.states[at]);
}

/// How a member's state shows in its target's consistency.
pub(super) fn consistency_of(state: MemberState) -> Consistency {
    match state {
        MemberState::Good => Consistency::Good,
        MemberState::NeedsResync | MemberState::Resyncing => Consistency::NeedsResync,
        MemberState::Bad => Consistency::Bad,
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A newer map: what it takes, what it gives.

use super::Member;
use super::work::{Kind, Purpose};
use crate::input::View;
use crate::role::{MemberRole, cause, next};
use nyala_wire::MapVersion;
use nyala_wire::map::MemberState;

impl Member {
    pub(super) fn map(&mut self, view: View) {
        if self.view.as_ref().is_some_and(|have| view.version <= have.version) {
            return;
        }
        let before = self.view.replace(view);
        let view = self.view.clone().expect("it was put there on the line above");
        let term = before.as_ref().map_or(0, |v| v.group.term);
        let was = self.role;
        let cause = cause(was, term, self.me, &view.group);
        self.role = next(was, cause).expect("every cause that a map can have is in every row that it can meet");
        self.remember_those_who_leave(before.as_ref(), &view);
        let same_term = term == view.group.term;
        let is_primary = |role| matches!(role, MemberRole::Recovering | MemberRole::Primary);
        if is_primary(was) && !(is_primary(self.role) && same_term) {
            self.leave_office();
        }
        let follows = matches!(self.role, MemberRole::Secondary | MemberRole::Resyncing);
        if !follows || !same_term {
            self.drop_pending();
        }
        let again = self.role == MemberRole::Resyncing && (was != MemberRole::Resyncing || !same_term);
        if again || matches!(self.role, MemberRole::Away | MemberRole::Unknown) {
            self.clients.clear();
            self.doubtful.clear();
            self.failing = false;
        }
        if was == MemberRole::Resyncing && self.role == MemberRole::Secondary && same_term {
            self.track.agreed();
        }
        if self.role == MemberRole::Recovering && !(is_primary(was) && same_term) {
            self.begin_recovery();
        }
        self.forget_the_good(&view);
        self.forget_who_left();
        self.advance();
    }

    pub(super) fn renewed(&mut self, until_ms: u64, version: MapVersion) {
        self.lease = (until_ms.max(self.lease.0), version.max(self.lease.1));
        self.advance();
    }

    /// What can go on, goes on.
    pub(super) fn advance(&mut self) {
        self.advance_recovery();
        self.advance_resyncs();
        self.send_again();
        self.settle_all();
    }

    /// Those who will get no more changes, or got none for a while, may lack what is under way.
    fn remember_those_who_leave(&mut self, before: Option<&View>, now: &View) {
        let acting = |state| matches!(state, Some(MemberState::Good | MemberState::Resyncing));
        let skipped = before.is_none_or(|v| v.group.epoch + 1 < now.group.epoch);
        let mut open = self.uncommitted();
        open.add(self.track.inherited(), self.config.max_runs);
        for (target, state) in now.group.members_with_states().filter(|(t, _)| *t != self.me) {
            let then = before.and_then(|v| v.group.state(target));
            let left = skipped || then == Some(MemberState::Good) || (acting(then) && !acting(Some(state)));
            if state != MemberState::Good && left {
                self.track.mark_all_dirty(target, &open);
            }
        }
    }

    /// What a member acknowledged before it left says nothing about what it has when it is back.
    fn forget_who_left(&mut self) {
        let acting = self.acting();
        let mut void = Vec::new();
        for (id, work) in &mut self.work {
            match &mut work.kind {
                Kind::Change(op, _) => op.acked.retain(|target| acting.contains(target)),
                Kind::Copy(_, Purpose::Resync(target)) if !acting.contains(target) => void.push(*id),
                Kind::Copy(op, _) => op.acked.retain(|target| acting.contains(target)),
                _ => {}
            }
        }
        for id in void {
            self.in_flight.retain(|_, other| *other != id);
            self.abandon(id);
        }
    }

    /// A good member has what a good member has.
    fn forget_the_good(&mut self, view: &View) {
        if view.group.state(self.me) == Some(MemberState::Good) {
            let good = self.others(|state| state == MemberState::Good);
            good.into_iter().for_each(|target| self.track.clean_all(target));
        }
    }
}

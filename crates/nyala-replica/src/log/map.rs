// SPDX-License-Identifier: Apache-2.0

//! A newer map: what it takes, what it gives.

use super::LogMember;
use super::io::LogEffect;
use super::link::Link;
use crate::input::View;
use crate::role::{MemberRole, cause, next};
use nyala_wire::map::MemberState;

impl LogMember {
    pub(super) fn map(&mut self, view: View) {
        if self.view.as_ref().is_some_and(|have| view.version <= have.version) {
            return;
        }
        let before = self.view.replace(view);
        let view = self.view.clone().expect("it was put there on the line above");
        let term = before.as_ref().map_or(0, |view| view.group.term);
        let (was, led) = (self.role, self.leads());
        let cause = cause(was, term, self.me, &view.group);
        self.role = next(was, cause).expect("every cause that a map can have is in every row that it can meet");
        let goes_on = led && self.leads() && term == view.group.term;
        // What a member misses while it is not good, it is given; what it is given then is judged anew.
        self.followed &= goes_on || (!led && (self.leads() || self.role == MemberRole::Secondary));
        if led && !goes_on {
            self.links.clear();
            self.term_record = None;
            self.out.push(LogEffect::StepDown);
        }
        if self.role == MemberRole::Recovering && !goes_on {
            (self.committed, self.want_durable, self.told_durable) = (0, 0, 0);
        }
        if self.leads() {
            self.keep_links(&view);
        }
        self.advance();
    }

    /// Links to those who get records, and to nobody else.
    fn keep_links(&mut self, view: &View) {
        let acting = |state| matches!(state, Some(MemberState::Good | MemberState::Resyncing));
        self.links.retain(|target, _| acting(view.group.state(*target)));
        for target in self.others(|state| acting(Some(state))) {
            self.links.entry(target).or_insert_with(Link::new);
        }
        // What was sent in an older epoch was perhaps refused.
        self.links.values_mut().for_each(Link::heard);
    }

    /// What can go on, goes on.
    pub(super) fn advance(&mut self) {
        if self.leads() {
            self.advance_recovery();
            self.pump_all();
            self.settle();
        }
    }
}

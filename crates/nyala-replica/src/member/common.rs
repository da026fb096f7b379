// SPDX-License-Identifier: Apache-2.0

//! What all parts of a member need: who the others are, numbers, sending, what is in question.

use super::Member;
use super::work::{Kind, Stage};
use crate::effect::{Answer, Effect};
use crate::input::{Job, Ticket, Token};
use crate::message::{Body, Change, Envelope};
use crate::regions::{RegionSet, Span};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl Member {
    pub(super) fn serves(&self) -> bool {
        self.has_lease(self.now_ms)
    }

    /// The other members with one of these states.
    pub(super) fn others(&self, wanted: impl Fn(MemberState) -> bool) -> Vec<TargetId> {
        self.each_other(wanted).collect()
    }

    fn each_other(&self, wanted: impl Fn(MemberState) -> bool) -> impl Iterator<Item = TargetId> {
        let members = self.view.iter().flat_map(|v| v.group.members_with_states());
        members.filter(move |(t, state)| *t != self.me && wanted(*state)).map(|(t, _)| t)
    }

    /// The others that get changes.
    pub(super) fn acting(&self) -> Vec<TargetId> {
        self.each_acting().collect()
    }

    /// The same one by one.
    pub(super) fn each_acting(&self) -> impl Iterator<Item = TargetId> {
        self.each_other(|state| matches!(state, MemberState::Good | MemberState::Resyncing))
    }

    pub(super) fn run_of(&self, span: Span) -> Span {
        span.regions(self.config.region_bytes)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        Ticket(self.number() | 1 << 63)
    }

    pub(super) fn job(&mut self, work: u64, stage: Stage) -> Job {
        let job = Job(self.number());
        self.jobs.insert(job, (work, stage));
        if let Some(work) = self.work.get_mut(&work) {
            work.job = Some(job);
        }
        job
    }

    pub(super) fn send(&mut self, to: TargetId, body: Body, payload: Option<Ticket>) {
        let Some(view) = &self.view else { return };
        let (epoch, term) = (view.group.epoch, view.group.term);
        self.out.push(Effect::Send(to, Envelope { group: self.group, epoch, term, body }, payload));
    }

    pub(super) fn reply(&mut self, token: Token, answer: Answer) {
        self.out.push(Effect::Reply(token, answer));
    }

    /// Regions of changes that have begun and are not known to be everywhere.
    pub(super) fn uncommitted(&self) -> RegionSet {
        let mut set = RegionSet::default();
        let op = self.in_flight.values().filter_map(|id| self.work.get(id));
        let led = op.filter_map(|work| match &work.kind {
            Kind::Change(op, _) | Kind::Copy(op, _) => Some(op.change),
            _ => None,
        });
        let ghosts = self.work.values().filter_map(|work| match &work.kind {
            Kind::Ghost { change, .. } => Some(*change),
            _ => None,
        });
        let all: Vec<Change> = led.chain(ghosts).chain(self.pending.values().map(|p| p.change)).collect();
        all.iter().for_each(|c| set.insert(c.file, self.run_of(c.span), self.config.max_runs));
        set
    }
}

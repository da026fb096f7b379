// SPDX-License-Identifier: Apache-2.0

//! A new primary's first duty: it has to have all that any good member has, and the good members all that it has.
//!
//! What a good member has beyond the others was never answered for, since the one that lacks it is good, too. Whether it counts is
//! free; that all agree is not. The new primary takes it up if the member still has those records in memory, else the member is resynced.

use super::LogMember;
use super::io::LogEffect;
use super::link::{Mode, UnderWay};
use super::message::LogBody;
use super::position::Position;
use super::recent::Record;
use crate::role::MemberRole;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl LogMember {
    pub(super) fn advance_recovery(&mut self) {
        // One that was declared good before it had everything does not show a part for the whole.
        if self.role != MemberRole::Recovering || self.term_record.is_some() || self.copying.is_some() {
            return;
        }
        let good = self.others(|state| state == MemberState::Good);
        let found = |target: &TargetId| Some((self.links.get(target)?.found?, *target));
        let all: Option<Vec<(Position, TargetId)>> = good.iter().map(found).collect();
        let Some(all) = all else { return };
        let mine = self.position();
        match all.into_iter().max().filter(|(most, _)| *most > mine) {
            Some((_, target)) => self.fetch(target, mine),
            None => {
                let (term, index) = (self.view.as_ref().map_or(0, |view| view.group.term), self.last() + 1);
                self.term_record = Some(index);
                good.into_iter().for_each(|target| self.stream_to(target));
                self.out.push(LogEffect::BeginTerm { term, index });
            }
        }
    }

    fn fetch(&mut self, target: TargetId, mine: Position) {
        let (now_ms, resend_ms) = (self.now_ms, self.config.resend_ms);
        let Some(link) = self.links.get_mut(&target).filter(|link| link.is_free(now_ms, resend_ms)) else { return };
        link.sent(UnderWay::Fetch, now_ms);
        self.send(target, LogBody::Fetch { after: mine }, Vec::new());
    }

    /// A good member gets what it lacks from now on.
    fn stream_to(&mut self, target: TargetId) {
        let last = self.last();
        let Some(link) = self.links.get_mut(&target) else { return };
        let Some(found) = link.found else { return };
        if self.terms.contain(found, last) && self.recent.follow(found.index) {
            link.acked = found.index;
            link.durable = 0;
            link.mode = Mode::Stream;
        } else {
            self.ask_mark(target);
        }
    }

    /// A good member's records that this primary lacks.
    pub(super) fn fetched(&mut self, from: TargetId, after: Position, terms: &[(u32, u64)], records: Vec<Record>) {
        let Some(link) = self.links.get_mut(&from) else { return };
        if !matches!(link.under_way, Some((UnderWay::Fetch, ..))) || self.term_record.is_some() {
            return;
        }
        link.heard();
        if after != self.position() {
            return self.advance();
        }
        if records.is_empty() {
            // It is not known any more what they were: the member has to do without them.
            return self.ask_mark(from);
        }
        self.take_in(terms, records);
        self.advance();
    }

    /// What a member has, by its own word.
    pub(super) fn found(&mut self, from: TargetId, position: Position, copying: Option<super::CopyState>) {
        let state = self.state_of(from);
        let Some(link) = self.links.get_mut(&from) else { return };
        if !matches!(link.under_way, Some((UnderWay::Status, ..))) {
            return;
        }
        link.heard();
        match state {
            Some(MemberState::Good) if copying.is_some() => self.ask_mark(from),
            Some(MemberState::Good) => {
                link.found = Some(position);
                if self.term_record.is_some() {
                    self.stream_to(from);
                }
            }
            Some(MemberState::Resyncing) => self.begin_resync(from, position, copying),
            _ => {}
        }
        self.advance();
    }
}

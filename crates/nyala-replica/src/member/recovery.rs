// SPDX-License-Identifier: Apache-2.0

//! A new primary's first duty: changes that the old one had under way may be at some members and not at others. It asks
//! every good member for the regions in question and gives all of them its own content of those regions. Nobody was ever
//! told that such a change is done unless all good members, this one too, have it; so its content is right either way.

use super::Member;
use super::under_way::Recovery;
use super::work::{Kind, Purpose, SyncBy};
use crate::effect::Effect;
use crate::lists::{FileRegions, from_list};
use crate::message::Body;
use crate::regions::{RegionSet, Span};
use crate::role::{Cause, MemberRole, next};
use crate::rules::{Rule, broken};
use crate::session_fences::{FENCES, FENCES_RUN};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl Member {
    pub(super) fn begin_recovery(&mut self) {
        let mut regions = self.track.inherited().clone();
        if !broken(self.broken, Rule::TellFences) {
            regions.insert(FENCES, FENCES_RUN, self.config.max_runs);
        }
        self.recovery = Recovery { regions, ..Recovery::default() };
        self.resyncs.clear();
        self.notices.clear();
        self.next_seq = 1;
    }

    pub(super) fn advance_recovery(&mut self) {
        let settled = self.view.as_ref().is_some_and(|v| v.group.is_settled());
        let ghosts = self.work.values().any(|work| matches!(work.kind, Kind::Ghost { .. }));
        if self.role != MemberRole::Recovering || !settled || self.recovery.telling || ghosts {
            return;
        }
        let others = self.others(|state| state == MemberState::Good);
        if self.failing && !others.is_empty() {
            return; // another one has to lead
        }
        if others.is_empty() || broken(self.broken, Rule::AgreeFirst) {
            return self.agree();
        }
        let silent: Vec<TargetId> = others.iter().filter(|t| !self.recovery.heard.contains(t)).copied().collect();
        if !silent.is_empty() {
            silent.into_iter().for_each(|target| self.gather_again(target));
            return;
        }
        if self.recovery.todo.is_none() {
            self.recovery.todo = Some(self.recovery.regions.clone());
        }
        while self.recovery.copies < self.config.copies {
            let Some((file, run)) = self.recovery.todo.as_ref().and_then(|todo| todo.iter().next()) else { break };
            let (unit, open) = (Span { start: run.start, end: run.start + 1 }, run.end == u64::MAX);
            self.recovery.todo.iter_mut().for_each(|todo| todo.remove(file, unit));
            self.recovery.copies += 1;
            self.start_copy(file, unit, open, Purpose::Agree);
        }
        if self.recovery.copies == 0 && self.recovery.todo.as_ref().is_some_and(RegionSet::is_empty) {
            self.recovery.telling = true;
            self.sync_members(SyncBy::Agree);
        }
    }

    fn gather_again(&mut self, target: TargetId) {
        let mut sent = std::mem::take(&mut self.recovery.sent);
        if self.is_due(&mut sent, target) {
            let done = self.clients.notes();
            self.send(target, Body::Gather { done }, None);
        }
        self.recovery.sent = sent;
    }

    /// A good member's regions in question, or those of one that is to be resynced.
    pub(super) fn gathered(&mut self, from: TargetId, list: &[FileRegions]) {
        let regions = from_list(list, self.config.max_runs);
        if self.role == MemberRole::Primary {
            return self.resync_gathered(from, &regions);
        }
        if self.recovery.heard.insert(from) {
            self.recovery.regions.add(&regions, self.config.max_runs);
        }
        self.advance_recovery();
    }

    /// A copy for the agreement is done; with `whole`, the file ends there.
    pub(super) fn agreed_on(&mut self, file: nyala_wire::storage::ChunkFileId, run: Span) {
        self.recovery.copies = self.recovery.copies.saturating_sub(1);
        self.recovery.todo.iter_mut().for_each(|todo| todo.remove(file, run));
        self.advance_recovery();
    }

    /// All that was in flight is agreed on: begin.
    pub(super) fn agree(&mut self) {
        let regions = std::mem::take(&mut self.recovery).regions;
        for target in self.others(|state| state != MemberState::Good) {
            self.track.mark_all_dirty(target, &regions);
        }
        self.track.agreed();
        self.doubtful.clear();
        self.role = next(self.role, Cause::Agreed).unwrap_or(self.role);
        for target in self.acting() {
            let committed_below = self.lowest();
            self.send(target, Body::Committed { committed_below }, None);
        }
        self.out.extend(self.view.is_none().then_some(Effect::FetchMap));
    }
}

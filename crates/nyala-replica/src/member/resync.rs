// SPDX-License-Identifier: Apache-2.0

//! Resync: what changed while a member was away, region by region, while changes go on.
//!
//! What is to be copied is our dirty set for the member together with what it says may differ at its own place. A
//! region leaves the dirty set when the member has it on disk; so whatever stops the resync, the next one does the rest.
//! A member that may lack anything gets all files besides: `listing`.

use super::Member;
use super::under_way::Resync;
use super::work::{Purpose, SyncBy};
use crate::message::Body;
use crate::progress::Progress;
use crate::regions::{EXACT, RegionSet, Span};
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use crate::session_fences::{FENCES, FENCES_RUN};
use nyala_cluster::{Command, MemberAt};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use nyala_wire::storage::ChunkFileId;

impl Member {
    pub(super) fn advance_resyncs(&mut self) {
        if self.role != MemberRole::Primary {
            return;
        }
        let members = self.others(|state| state == MemberState::Resyncing);
        self.resyncs.retain(|target, _| members.contains(target));
        for target in members {
            let began_ms = self.now_ms;
            let mut resync = self.resyncs.remove(&target).unwrap_or_else(|| Resync { began_ms, ..Resync::default() });
            self.advance_resync(target, &mut resync);
            self.resyncs.insert(target, resync);
        }
    }

    fn advance_resync(&mut self, target: TargetId, resync: &mut Resync) {
        if !resync.gathered {
            if self.is_due(&mut resync.sent, target) {
                self.send(target, Body::Gather { done: Vec::new() }, None);
            }
            return;
        }
        let stopped = self.view.as_ref().is_some_and(|v| v.group.resync_stopped);
        let lists = self.continue_list(target, resync, stopped);
        while !stopped && resync.copying < self.config.copies {
            let Some((file, run)) = resync.todo.iter().next() else { break };
            if !self.share.take(self.config.region_bytes, self.now_us) {
                break;
            }
            let (unit, open) = (Span { start: run.start, end: run.start + 1 }, run.end == u64::MAX);
            resync.todo.remove(file, unit);
            resync.copying += 1;
            self.start_copy(file, unit, open, Purpose::Resync(target));
        }
        let all = resync.todo.is_empty() && resync.copying == 0 && !lists;
        let ripe = resync.copied.count() >= self.config.sync_every || (all && !resync.copied.is_empty());
        if resync.syncing.is_none() && (ripe || (all && !resync.synced_once)) {
            if broken(self.broken, Rule::SyncBeforeGood) {
                let copied = std::mem::take(&mut resync.copied);
                self.track.clean(target, &copied);
                resync.synced_once = true;
            } else {
                resync.syncing = Some(std::mem::take(&mut resync.copied));
                self.sync_members(SyncBy::Resync(target));
            }
        }
        if all && resync.synced_once && resync.copied.is_empty() && resync.syncing.is_none() {
            let member = self.member_at(target);
            self.ask(target, 2, Command::MemberResynced(member));
        }
    }

    pub(super) fn resync_gathered(&mut self, from: TargetId, regions: &RegionSet) {
        if self.resyncs.get(&from).is_none_or(|resync| resync.gathered) {
            return; // a late copy of an answer
        }
        self.track.mark_all_dirty(from, regions);
        if !broken(self.broken, Rule::TellFences) {
            self.track.mark_dirty(from, FENCES, FENCES_RUN);
        }
        let dirty = self.track.dirty(from);
        if let Some(resync) = self.resyncs.get_mut(&from) {
            resync.gathered = true;
            resync.todo = dirty;
        }
        self.advance_resyncs();
    }

    pub(super) fn region_copied(&mut self, target: TargetId, file: ChunkFileId, run: Span) {
        self.share.copied(self.now_us);
        if let Some(resync) = self.resyncs.get_mut(&target) {
            resync.copying = resync.copying.saturating_sub(1);
            resync.copied_regions += 1;
            resync.copied.insert(file, run, EXACT);
            resync.todo.remove(file, run);
        }
        self.advance_resyncs();
    }

    pub(super) fn member_synced(&mut self, target: TargetId) {
        let Some(resync) = self.resyncs.get_mut(&target) else { return };
        resync.synced_once = true;
        if let Some(copied) = resync.syncing.take() {
            self.track.clean(target, &copied);
        }
        self.advance_resyncs();
    }

    /// Our copy of a region cannot be read: not now.
    pub(super) fn defer_resync(&mut self, target: TargetId) {
        self.ask_mark(target);
    }

    pub(super) fn member_at(&self, target: TargetId) -> MemberAt {
        MemberAt { group: self.group, epoch: self.epoch().map_or(0, |(epoch, _)| epoch), target }
    }

    pub(super) fn progress_of(&self, resync: &Resync) -> Progress {
        let bytes = |regions: u64| regions.saturating_mul(self.config.region_bytes);
        let left = resync.todo.count() + resync.copying as u64;
        let stopped = self.view.as_ref().is_some_and(|v| v.group.resync_stopped);
        Progress::of(bytes(resync.copied_regions), bytes(left), resync.began_ms, self.now_ms, stopped)
    }
}

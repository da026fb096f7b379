// SPDX-License-Identifier: Apache-2.0

//! The primary: changes and syncs, until they are everywhere that they have to be.

use super::Member;
use super::work::{Kind, SyncBy};
use crate::effect::{Answer, Effect};
use crate::message::{Body, Change};
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl Member {
    /// The change's turn has come: number it, remember who does not get it, do it here and elsewhere at once.
    pub(super) fn begin_change(&mut self, id: u64) {
        let seq = self.next_seq;
        let Some(Kind::Change(op, _)) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        op.seq = seq;
        let change = op.change;
        self.next_seq += 1;
        self.in_flight.insert(seq, id);
        self.mark_absent(change, false);
        self.send_spread(id);
        self.begin_in_file(id, change.file, change.span);
    }

    /// Members that get no changes lack this one. A region that was copied to us others lack too while they are only being
    /// brought up to date: if we become primary, we have to know.
    pub(super) fn mark_absent(&mut self, change: Change, region: bool) {
        if broken(self.broken, Rule::TrackDirty) {
            return;
        }
        let run = self.run_of(change.span);
        let absent = self.others(|state| match state {
            MemberState::Good => false,
            MemberState::Resyncing => region,
            MemberState::NeedsResync | MemberState::Bad => true,
        });
        absent.into_iter().for_each(|target| self.track.mark_dirty(target, change.file, run));
    }

    /// The change is in our file, or could not be.
    pub(super) fn applied(&mut self, id: u64, ok: bool) {
        let Some(Kind::Change(op, _)) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        if ok {
            op.here = true;
            return self.settle(id);
        }
        if self.each_acting().next().is_some() {
            // Others may have it. A good one can serve: step down. One that is only being brought up to date has to leave
            // first, or it would count as equal.
            self.failing = true;
            return;
        }
        self.finish(id, Answer::Failed);
    }

    /// Our own part of a client's sync is done, or could not be.
    pub(super) fn flushed_here(&mut self, id: u64, ok: bool) {
        let alone = self.others(|state| state == MemberState::Good).is_empty();
        let Some(Kind::Sync { by, flushed, .. }) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        match by {
            _ if ok => *flushed = true,
            SyncBy::Client(asker) if alone => {
                let asker = *asker;
                self.clients.done(asker.client, asker.seq, Answer::Failed);
                self.reply(asker.token, Answer::Failed);
                return self.end(id);
            }
            _ => self.failing = true,
        }
        self.settle(id);
    }

    /// Our disk failed, we wanted to step down, and now there is nobody else: what failed is tried again.
    pub(super) fn try_disk_again(&mut self) {
        self.failing = false;
        for id in self.work.keys().copied().collect::<Vec<_>>() {
            let Some(work) = self.work.get(&id).filter(|work| work.job.is_none()) else { continue };
            match &work.kind {
                Kind::Change(op, _) if op.seq > 0 && !op.here => {
                    let change = op.change;
                    self.begin_in_file(id, change.file, change.span);
                }
                Kind::Sync { flushed: false, .. } => self.begin_sync(id),
                _ => {}
            }
        }
    }

    /// A member has, or could not do, what was sent to it.
    pub(super) fn acknowledged(&mut self, from: TargetId, seq: u64, ok: bool) {
        let Some(&id) = self.in_flight.get(&seq) else { return };
        if !ok {
            return self.ask_mark(from);
        }
        match self.work.get_mut(&id).map(|work| &mut work.kind) {
            Some(Kind::Change(op, _) | Kind::Copy(op, _)) => op.acked.insert(from),
            _ => return,
        };
        self.settle(id);
    }

    /// A member's disk has everything that it acknowledged before the question.
    pub(super) fn synced(&mut self, from: TargetId, id: u64, ok: bool) {
        if !ok {
            return self.ask_mark(from);
        }
        if let Some(Kind::Sync { acked, .. }) = self.work.get_mut(&id).map(|work| &mut work.kind) {
            acked.insert(from);
            self.settle(id);
        }
    }

    pub(super) fn begin_sync(&mut self, id: u64) {
        let job = self.job(id, super::work::Stage::Main);
        self.out.push(Effect::Flush { job });
        self.send_sync(id);
    }

    /// What members answer to a primary.
    pub(super) fn answered(&mut self, from: TargetId, body: Body) {
        if !matches!(self.role, MemberRole::Primary | MemberRole::Recovering) {
            return;
        }
        match body {
            Body::Forwarded { seq, ok } => self.acknowledged(from, seq, ok),
            Body::Synced { id, ok } => self.synced(from, id, ok),
            Body::Gathered { regions } => self.gathered(from, &regions),
            _ => {}
        }
    }
}

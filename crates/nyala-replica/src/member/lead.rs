// SPDX-License-Identifier: Apache-2.0

//! The primary: changes and syncs, until they are everywhere that they have to be.

use super::Member;
use super::work::{Kind, Spread, SyncBy};
use crate::effect::{Answer, Effect};
use crate::message::Body;
use crate::rules::{Rule, broken};
use crate::standing::Standing;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl Member {
    /// The change's turn has come: number it, remember who does not get it, do it here and elsewhere at once.
    pub(super) fn begin_change(&mut self, id: u64) {
        let seq = self.next_seq;
        let Some(Kind::Change(spread, _)) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        spread.seq = seq;
        let change = spread.change;
        self.next_seq += 1;
        self.in_flight.insert(seq, id);
        self.mark_absent(change.file, change.span);
        self.send_spread(id);
        self.into_file(id, change.file, change.span);
    }

    /// Members that get no changes lack this one.
    pub(super) fn mark_absent(&mut self, file: nyala_wire::storage::ChunkFileId, span: crate::Span) {
        if broken(self.broken, Rule::TrackDirty) {
            return;
        }
        let run = self.run_of(span);
        let absent = self.others(|state| matches!(state, MemberState::NeedsResync | MemberState::Bad));
        absent.into_iter().for_each(|target| self.track.mark_dirty(target, file, run));
    }

    /// The change is in our file, or could not be.
    pub(super) fn applied(&mut self, id: u64, ok: bool) {
        let Some(Kind::Change(spread, _)) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        if ok {
            spread.here = true;
            return self.settle(id);
        }
        if !self.others(|state| state == MemberState::Good).is_empty() {
            // Another member can serve: step down, the client asks there.
            self.failing = true;
            return;
        }
        let Some(Kind::Change(spread, asker)) = self.work.get(&id).map(|work| work.kind.clone()) else { return };
        let run = self.run_of(spread.change.span);
        for target in self.others(|state| state == MemberState::Resyncing) {
            self.track.mark_dirty(target, spread.change.file, run);
            self.copy_again(target, spread.change.file, run);
        }
        self.finish(id, &spread, Answer::Failed, Some(asker));
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
                Kind::Change(spread, _) if spread.seq > 0 && !spread.here => {
                    let change = spread.change;
                    self.into_file(id, change.file, change.span);
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
            Some(Kind::Change(spread, _) | Kind::Copy(spread, _)) => spread.acked.insert(from),
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

    pub(super) fn settle_all(&mut self) {
        if matches!(self.standing, Standing::Leading | Standing::Taking) {
            let ids: Vec<u64> = self.work.keys().copied().collect();
            ids.into_iter().for_each(|id| self.settle(id));
        }
    }

    /// Whether everybody who has to have it is among `acked`.
    fn everywhere(&self, acked: &std::collections::BTreeSet<TargetId>, began_ms: u64) -> bool {
        let late = self.now_ms.saturating_sub(began_ms) >= self.config.give_up_ms;
        if broken(self.broken, Rule::WaitForAll) || (late && broken(self.broken, Rule::MarkBeforeAnswer)) {
            return true;
        }
        self.acting().iter().all(|target| acked.contains(target))
    }

    /// Answers what is everywhere, and ends it.
    pub(super) fn settle(&mut self, id: u64) {
        let Some(work) = self.work.get(&id) else { return };
        let settled = self.view.as_ref().is_some_and(|v| v.group.is_settled());
        let may_answer = self.serves() && (settled || broken(self.broken, Rule::WaitForFence));
        match &work.kind {
            Kind::Change(spread, asker)
                if spread.here && may_answer && self.everywhere(&spread.acked, work.began_ms) =>
            {
                let (spread, asker) = (spread.clone(), *asker);
                self.finish(id, &spread, Answer::Done, Some(asker));
            }
            Kind::Copy(spread, _) if spread.here => self.settle_copy(id),
            Kind::Sync { by: SyncBy::Client(asker), flushed: true, acked, .. }
                if may_answer && self.everywhere(acked, work.began_ms) =>
            {
                let asker = *asker;
                self.clients.done(asker.client, asker.seq, Answer::Done);
                self.reply(asker.token, Answer::Done);
                self.end(id);
            }
            Kind::Sync { by: SyncBy::Agree, acked, .. } => {
                let good = self.others(|state| state == MemberState::Good);
                if good.iter().all(|target| acked.contains(target)) {
                    self.end(id);
                    self.agree();
                }
            }
            Kind::Sync { by: SyncBy::Resync(target), acked, .. } if acked.contains(target) => {
                let target = *target;
                self.end(id);
                self.member_synced(target);
            }
            _ => {}
        }
    }

    /// A change or copy is over.
    pub(super) fn finish(&mut self, id: u64, spread: &Spread, answer: Answer, asker: Option<crate::clients::Asker>) {
        self.in_flight.remove(&spread.seq);
        if let Some(asker) = asker {
            let took_ms = self.work.get(&id).map_or(0, |work| self.now_ms.saturating_sub(work.began_ms));
            self.share.request(took_ms.saturating_mul(1000));
            self.clients.done(asker.client, asker.seq, answer);
            self.reply(asker.token, answer);
        }
        self.drop_ticket(spread.payload);
        self.end(id);
    }

    /// All changes and copies with lower numbers are done with.
    pub(super) fn lowest(&self) -> u64 {
        self.in_flight.keys().next().copied().unwrap_or(self.next_seq)
    }

    /// What members answer to a primary.
    pub(super) fn answered(&mut self, from: TargetId, body: Body) {
        if !matches!(self.standing, Standing::Leading | Standing::Taking) {
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

// SPDX-License-Identifier: Apache-2.0

//! What time brings: sending again, giving up, telling the floor, closing intents.

use super::Member;
use super::work::{Kind, Sent, Stage};
use crate::effect::Effect;
use crate::message::Body;
use crate::standing::Standing;
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use std::collections::BTreeMap;

/// What a member was told about the floor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    floor: u64,
    times: u32,
    at_ms: u64,
}

/// A floor is told so often at once, and then once in as many intervals.
const TOLD_TIMES: u32 = 3;
const TOLD_EVERY: u64 = 10;

impl Member {
    pub(super) fn tick(&mut self) {
        let left = self.resyncs.values().any(|resync| self.progress_of(resync).left_bytes > 0);
        self.share.tick(self.now_ms, left);
        self.advance();
        if self.standing == Standing::Leading {
            self.tell_floor();
            self.begin_resyncs();
        }
        if self.failing {
            match self.others(|state| state == MemberState::Good).is_empty() {
                true => self.try_disk_again(),
                false => self.ask_mark(self.me),
            }
        }
        if self.closing.is_none() && self.now_ms >= self.flush_at_ms {
            let busy = self.uncommitted();
            let closable = self.track.closable(&busy);
            if !closable.is_empty() {
                self.closing = Some(closable);
                let job = self.job(0, Stage::Closing);
                self.out.push(Effect::Flush { job });
            }
        }
    }

    /// The periodic flush has ended: intents go, dirty regions are written down.
    pub(super) fn flushed(&mut self, ok: bool) {
        self.flush_at_ms = self.now_ms + self.config.flush_ms;
        let Some(closable) = self.closing.take().filter(|_| ok) else { return };
        let rows = self.track.close(closable);
        let job = self.job(0, Stage::Nothing);
        self.out.push(Effect::Persist { job, rows, durable: false });
    }

    /// Whether a question to `target` is due (again). One that has had no answer for too long is to be marked.
    pub(super) fn is_due(&mut self, sent: &mut BTreeMap<TargetId, Sent>, target: TargetId) -> bool {
        let (now_ms, epoch) = (self.now_ms, self.epoch().map_or(0, |(epoch, _)| epoch));
        let Some(before) = sent.get_mut(&target) else {
            sent.insert(target, Sent { since_ms: now_ms, last_ms: now_ms, epoch });
            return true;
        };
        if now_ms.saturating_sub(before.since_ms) >= self.config.give_up_ms {
            self.ask_mark(target);
        }
        let due = before.epoch != epoch || now_ms.saturating_sub(before.last_ms) >= self.config.resend_ms;
        if due {
            (before.epoch, before.last_ms) = (epoch, now_ms);
        }
        due
    }

    /// Sends everything again whose answer is late, or whose last copy had an older epoch.
    pub(super) fn send_again(&mut self) {
        if !matches!(self.standing, Standing::Leading | Standing::Taking) {
            return;
        }
        let ids: Vec<u64> = self.in_flight.values().copied().collect();
        ids.into_iter().for_each(|id| self.send_spread(id));
        let syncs = self.work.iter().filter(|(_, work)| matches!(work.kind, Kind::Sync { .. }));
        let ids: Vec<u64> = syncs.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.send_sync(id));
    }

    /// Sends a change or copy to those who lack it, where that is due.
    pub(super) fn send_spread(&mut self, id: u64) {
        let floor = self.lowest();
        let Some(work) = self.work.get_mut(&id) else { return };
        let (spread, purpose) = match &mut work.kind {
            Kind::Change(spread, asker) => (spread, Err(*asker)),
            Kind::Copy(spread, purpose) => (spread, Ok(*purpose)),
            _ => return,
        };
        let (change, seq, payload, acked) = (spread.change, spread.seq, spread.payload, spread.acked.clone());
        let mut sent = std::mem::take(&mut spread.sent);
        let targets = purpose.map_or_else(|_| self.acting(), |purpose| self.copy_targets(purpose));
        sent.retain(|target, _| targets.contains(target));
        for target in targets.into_iter().filter(|target| !acked.contains(target)) {
            if self.is_due(&mut sent, target) {
                let body = match purpose {
                    Err(asker) => {
                        let origin = self.origin(&asker);
                        Body::Forward { seq, floor, change, origin }
                    }
                    Ok(_) => Body::Copy { seq, floor, change },
                };
                self.send(target, body, Some(payload));
            }
        }
        if let Some(Kind::Change(spread, _) | Kind::Copy(spread, _)) = self.work.get_mut(&id).map(|w| &mut w.kind) {
            spread.sent = sent;
        }
    }

    /// The same for a sync.
    pub(super) fn send_sync(&mut self, id: u64) {
        let Some(Kind::Sync { by, acked, sent, .. }) = self.work.get_mut(&id).map(|work| &mut work.kind) else {
            return;
        };
        let (by, acked, mut sent) = (*by, acked.clone(), std::mem::take(sent));
        let targets = match by {
            super::work::SyncBy::Client(_) => self.acting(),
            super::work::SyncBy::Agree => self.others(|state| state == MemberState::Good),
            super::work::SyncBy::Resync(target) => self.copy_targets(super::work::Purpose::Resync(target)),
        };
        sent.retain(|target, _| targets.contains(target));
        let gone = targets.is_empty() && matches!(by, super::work::SyncBy::Resync(_));
        for target in targets.into_iter().filter(|target| !acked.contains(target)) {
            if self.is_due(&mut sent, target) {
                let flush = !matches!(by, super::work::SyncBy::Agree);
                let done = (!matches!(by, super::work::SyncBy::Client(_))).then(|| self.clients.notes());
                self.send(target, Body::Sync { id, flush, done }, None);
            }
        }
        if let Some(Kind::Sync { sent: place, .. }) = self.work.get_mut(&id).map(|work| &mut work.kind) {
            *place = sent;
        }
        if gone {
            self.end(id);
        }
    }

    /// Members learn what is committed, also when nothing follows.
    fn tell_floor(&mut self) {
        let floor = self.lowest();
        for target in self.acting() {
            let mut told = self.told.get(&target).copied().unwrap_or_default();
            let waits = if told.floor == floor && told.times >= TOLD_TIMES { TOLD_EVERY } else { 1 };
            if told.times > 0 && self.now_ms < told.at_ms + waits * self.config.resend_ms {
                continue;
            }
            told.times = if told.floor == floor { told.times + 1 } else { 1 };
            (told.floor, told.at_ms) = (floor, self.now_ms);
            self.told.insert(target, told);
            self.send(target, Body::Floor { floor }, None);
        }
    }

    fn begin_resyncs(&mut self) {
        let Some(view) = self.view.clone().filter(|v| !v.group.resync_stopped) else { return };
        for target in self.others(|state| state == MemberState::NeedsResync) {
            let rest = self.retry_at_ms.get(&target).is_some_and(|at| self.now_ms < *at);
            if view.reachable.contains(&target) && !rest {
                let member = self.member_at(target);
                self.ask(target, 1, Command::StartResync(member));
            }
        }
    }

    /// Its host refuses connections: there is no use in waiting.
    pub(super) fn refused(&mut self, target: TargetId) {
        let waits = !self.in_flight.is_empty() || self.standing == Standing::Taking;
        if waits && self.acting().contains(&target) {
            self.ask_mark(target);
        }
    }

    /// Wants a member marked needs-resync, itself too.
    pub(super) fn ask_mark(&mut self, target: TargetId) {
        self.retry_at_ms.insert(target, self.now_ms + self.config.retry_ms);
        let (member, by) = (self.member_at(target), self.me);
        self.ask(target, 0, Command::MarkNeedsResync { member, by });
    }

    /// Asks management, not too often.
    pub(super) fn ask(&mut self, target: TargetId, what: u8, command: Command) {
        let last = self.asked.get(&(target, what)).copied();
        if last.is_none_or(|at| self.now_ms >= at + self.config.resend_ms) {
            self.asked.insert((target, what), self.now_ms);
            self.out.push(Effect::Ask(command));
        }
    }
}

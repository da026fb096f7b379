// SPDX-License-Identifier: Apache-2.0

//! What time brings: sending again, giving up, sending commit notices, closing intents, forgetting silent clients.

use super::Member;
use super::work::{Kind, Stage, Work};
use crate::clients::MAX_CLIENTS;
use crate::effect::Effect;
use crate::message::Body;
use crate::role::MemberRole;
use crate::share::UnderWay;
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use std::collections::BTreeMap;

/// A commit notice is sent so many times at once, and then once in as many intervals.
const NOTICE_TIMES: u32 = 3;
const NOTICE_EVERY: u64 = 10;
/// Clients that are silent are looked for so often.
const EXPIRE_EVERY_MS: u64 = 60_000;

impl Member {
    pub(super) fn tick(&mut self) {
        let left = self.resyncs.values().any(|resync| self.progress_of(resync).left_bytes > 0);
        let copies = self.resyncs.values().map(|resync| resync.copying).sum();
        let asked = |work: &&Work| matches!(work.kind, Kind::Change(..) | Kind::Read { .. });
        let requests = if left { self.work.values().filter(asked).count() } else { 0 };
        self.share.tick(self.now_us, UnderWay { pending: left, copies, requests });
        if self.now_ms >= self.expire_at_ms {
            self.expire_at_ms = self.now_ms + EXPIRE_EVERY_MS;
            self.clients.expire(self.now_ms, self.config.client_idle_ms, MAX_CLIENTS);
        }
        self.advance();
        if self.role == MemberRole::Primary {
            self.send_commit_notices();
            self.begin_resyncs();
        }
        if self.failing && matches!(self.role, MemberRole::Primary | MemberRole::Recovering) {
            let acting = self.acting();
            match self.others(|state| state == MemberState::Good).is_empty() {
                true if acting.is_empty() => self.try_disk_again(),
                true => acting.into_iter().for_each(|target| self.ask_mark(target)),
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

    /// Members learn what is committed, also when nothing follows.
    fn send_commit_notices(&mut self) {
        let committed_below = self.lowest();
        for target in self.acting() {
            let mut notice = self.notices.get(&target).copied().unwrap_or_default();
            let waits = if notice.committed_below == committed_below && notice.times >= NOTICE_TIMES {
                NOTICE_EVERY
            } else {
                1
            };
            if notice.times > 0 && self.now_ms < notice.at_ms + waits * self.config.resend_ms {
                continue;
            }
            notice.times = if notice.committed_below == committed_below { notice.times + 1 } else { 1 };
            (notice.committed_below, notice.at_ms) = (committed_below, self.now_ms);
            self.notices.insert(target, notice);
            self.send(target, Body::Committed { committed_below }, None);
        }
    }

    fn begin_resyncs(&mut self) {
        let Some(view) = self.view.clone().filter(|v| !v.group.resync_stopped) else { return };
        for target in self.others(|state| state == MemberState::NeedsResync) {
            let waits = |until: &BTreeMap<TargetId, u64>| until.get(&target).is_some_and(|at| self.now_ms < *at);
            let rest = waits(&self.retry_at_ms) || waits(&self.silent);
            if view.reachable.contains(&target) && !rest {
                let member = self.member_at(target);
                self.ask(target, 1, Command::StartResync(member));
            }
        }
    }

    /// Its host refuses connections, or does not answer: there is no use in waiting.
    pub(super) fn refused(&mut self, target: TargetId) {
        let waits = !self.in_flight.is_empty() || self.role == MemberRole::Recovering;
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

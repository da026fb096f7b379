// SPDX-License-Identifier: Apache-2.0

//! Questions to members, put again until they are answered or given up.

use super::Member;
use super::work::{Kind, Purpose, Sent, SyncBy};
use crate::message::Body;
use crate::role::MemberRole;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use std::collections::BTreeMap;

impl Member {
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
        if !matches!(self.role, MemberRole::Primary | MemberRole::Recovering) {
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
        let committed_below = self.lowest();
        let Some(work) = self.work.get_mut(&id) else { return };
        let (op, purpose) = match &mut work.kind {
            Kind::Change(op, asker) => (op, Err(*asker)),
            Kind::Copy(op, purpose) => (op, Ok(*purpose)),
            _ => return,
        };
        let (change, seq, payload, acked) = (op.change, op.seq, op.payload, op.acked.clone());
        let mut sent = std::mem::take(&mut op.sent);
        let targets = purpose.map_or_else(|_| self.acting(), |purpose| self.copy_targets(purpose));
        sent.retain(|target, _| targets.contains(target));
        for target in targets.into_iter().filter(|target| !acked.contains(target)) {
            if self.is_due(&mut sent, target) {
                let body = match purpose {
                    Err(asker) => {
                        let origin = self.origin(&asker);
                        Body::Forward { seq, committed_below, change, origin }
                    }
                    Ok(_) => Body::Copy { seq, committed_below, change },
                };
                self.send(target, body, Some(payload));
            }
        }
        if let Some(Kind::Change(op, _) | Kind::Copy(op, _)) = self.work.get_mut(&id).map(|w| &mut w.kind) {
            op.sent = sent;
        }
    }

    /// The same for a sync.
    pub(super) fn send_sync(&mut self, id: u64) {
        let Some(Kind::Sync { by, acked, sent, .. }) = self.work.get_mut(&id).map(|work| &mut work.kind) else {
            return;
        };
        let (by, acked, mut sent) = (*by, acked.clone(), std::mem::take(sent));
        let targets = match by {
            SyncBy::Client(_) => self.acting(),
            SyncBy::Agree => self.others(|state| state == MemberState::Good),
            SyncBy::Resync(target) => self.copy_targets(Purpose::Resync(target)),
        };
        sent.retain(|target, _| targets.contains(target));
        let gone = targets.is_empty() && matches!(by, SyncBy::Resync(_));
        for target in targets.into_iter().filter(|target| !acked.contains(target)) {
            if self.is_due(&mut sent, target) {
                let flush = !matches!(by, SyncBy::Agree);
                let done = (!matches!(by, SyncBy::Client(_))).then(|| self.clients.notes());
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
}

// SPDX-License-Identifier: Apache-2.0

//! The primary: what is everywhere that it has to be is answered, and ended.

use super::Member;
use super::work::{Kind, SyncBy, Work};
use crate::effect::Answer;
use crate::regions::Span;
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use std::collections::{BTreeMap, BTreeSet};

impl Member {
    pub(super) fn settle_all(&mut self) {
        if matches!(self.role, MemberRole::Primary | MemberRole::Recovering) {
            let ids: Vec<u64> = self.work.keys().copied().collect();
            ids.into_iter().for_each(|id| self.settle(id));
        }
    }

    /// Whether everybody who has to have it is among `acked`.
    fn everywhere(&self, acked: &BTreeSet<TargetId>, began_us: u64) -> bool {
        let late = self.now_us.saturating_sub(began_us) >= self.config.give_up_ms * 1000;
        if broken(self.broken, Rule::WaitForAll) || (late && broken(self.broken, Rule::MarkBeforeAnswer)) {
            return true;
        }
        self.each_acting().all(|target| acked.contains(&target))
    }

    /// Answers what is everywhere, and ends it.
    pub(super) fn settle(&mut self, id: u64) {
        let Some(work) = self.work.get(&id) else { return };
        let settled = self.view.as_ref().is_some_and(|v| v.group.is_settled());
        let may_answer = self.serves() && settled;
        match &work.kind {
            Kind::Change(op, _) if op.here && may_answer && self.everywhere(&op.acked, work.began_us) => {
                self.finish(id, Answer::Done);
            }
            Kind::Copy(op, _) if op.here => self.settle_copy(id),
            Kind::Sync { by: SyncBy::Client(asker), flushed: true, acked, .. }
                if may_answer && self.everywhere(acked, work.began_us) =>
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

    /// Puts a sync to those that it is for.
    pub(super) fn sync_members(&mut self, by: SyncBy) {
        let id = self.number();
        let kind = Kind::Sync { by, flushed: true, acked: BTreeSet::new(), sent: BTreeMap::new() };
        self.work.insert(id, Work { kind, line: None, job: None, began_us: self.now_us });
        self.send_sync(id);
    }

    /// A change, with this answer to its client, or a copy is over.
    pub(super) fn finish(&mut self, id: u64, answer: Answer) {
        let Some(Work { kind, began_us, .. }) = self.work.get(&id) else { return };
        let (op, asker) = match kind {
            Kind::Change(op, asker) => (op, Some(*asker)),
            Kind::Copy(op, _) => (op, None),
            _ => return,
        };
        let (seq, payload, Span { start, end }, began_us) = (op.seq, op.payload, op.change.span, *began_us);
        self.in_flight.remove(&seq);
        if let Some(asker) = asker {
            self.share.request(true, end.saturating_sub(start), began_us, self.now_us);
            self.clients.done(asker.client, asker.seq, answer);
            self.reply(asker.token, answer);
        }
        self.drop_ticket(payload);
        self.end(id);
    }

    /// All changes and copies with lower numbers are done with.
    pub(super) fn lowest(&self) -> u64 {
        self.in_flight.keys().next().copied().unwrap_or(self.next_seq)
    }
}

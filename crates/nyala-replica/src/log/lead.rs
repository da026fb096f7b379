// SPDX-License-Identifier: Apache-2.0

//! Primary: records go to all who are to have them, and are answered for when they have.

use super::LogMember;
use super::LogRule;
use super::io::LogEffect;
use super::link::{CopyStage, Mode, UnderWay};
use super::message::LogBody;
use super::recent::Record;
use crate::role::MemberRole;
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl LogMember {
    /// Records that the primary has applied.
    pub(super) fn append(&mut self, records: Vec<Record>) {
        if !self.leads() {
            return;
        }
        records.into_iter().for_each(|record| self.recent.push(record));
        if let Some(first) = self.term_record.filter(|first| *first <= self.last()) {
            let term = self.view.as_ref().map_or(0, |view| view.group.term);
            self.terms.begin(term, first);
        }
        self.pump_all();
        self.settle();
    }

    /// What is written here.
    pub(super) fn written_here(&mut self, index: u64) {
        self.written = self.written.max(index);
        if !self.leads() {
            self.tell_primary();
        }
    }

    /// What is on disk here.
    pub(super) fn durable_here(&mut self, index: u64) {
        let news = index > self.durable;
        self.durable = self.durable.max(index);
        if self.leads() {
            self.settle();
        } else if news {
            // Also unasked: what nothing follows is to be known as safe, too.
            self.tell_primary();
        }
    }

    /// Somebody waits for the disks.
    pub(super) fn wanted_on_disk(&mut self, index: u64) {
        if self.leads() {
            self.want_durable = self.want_durable.max(index);
            self.pump_all();
            self.settle();
        }
    }

    /// Members without which nothing is answered for.
    pub(super) fn required(&self) -> Vec<TargetId> {
        let mut required = self.others(|state| state == MemberState::Good);
        if !self.breaks(LogRule::WaitForResynced) {
            required.extend(self.links.iter().filter(|(_, link)| link.caught_up).map(|(target, _)| *target));
        }
        required
    }

    /// Answers for what everybody has.
    pub(super) fn settle(&mut self) {
        let settled =
            self.view.as_ref().is_some_and(|view| view.group.is_settled()) || self.breaks(LogRule::WaitUntilSettled);
        if !self.leads() || !settled || !self.has_lease(self.now_ms) {
            return;
        }
        let last = self.last();
        let required: Vec<_> = self.required().iter().map(|target| self.links.get(target)).collect();
        let has =
            |of: fn(&super::Link) -> u64| required.iter().map(|link| link.map_or(0, of)).min().unwrap_or(u64::MAX);
        let (acked, durable) = (has(|link| link.acked).min(last), has(|link| link.durable).min(self.durable));
        let acked = if self.breaks(LogRule::WaitForAll) { last } else { acked };
        let durable = if self.breaks(LogRule::SyncEverywhere) { self.durable } else { durable };
        if self.role == MemberRole::Recovering {
            if self.term_record.is_none_or(|first| acked < first || last < first) {
                return;
            }
            self.role = MemberRole::Primary;
            self.committed = acked;
            self.out.push(LogEffect::Committed(acked));
            let term = self.view.as_ref().map_or(0, |view| view.group.term);
            self.out.push(LogEffect::Lead(term));
        }
        if acked > self.committed {
            self.committed = acked;
            self.out.push(LogEffect::Committed(acked));
        }
        if durable > self.told_durable {
            self.told_durable = durable;
            self.out.push(LogEffect::DurableEverywhere(durable));
        }
    }

    /// Whoever can be sent something is.
    pub(super) fn pump_all(&mut self) {
        let all: Vec<TargetId> = self.links.keys().copied().collect();
        all.into_iter().for_each(|target| self.pump(target));
        // Those who resync and are slow are given everything again rather than hold memory.
        let required = self.required();
        let needed = self.links.iter().filter(|(target, _)| required.contains(target)).map(|(_, link)| link.acked + 1);
        self.recent.trim(needed.min().unwrap_or(u64::MAX));
    }

    pub(super) fn pump(&mut self, target: TargetId) {
        let (now_ms, last, want) = (self.now_ms, self.last(), self.want_durable);
        let (stopped, part_bytes) = (self.resync_stopped(), self.config.copy_bytes);
        let in_order = !self.breaks(LogRule::RowsInOrder);
        let Some(link) = self.links.get_mut(&target).filter(|link| link.is_free(now_ms, self.config.resend_ms)) else {
            return;
        };
        // One that has more by now cannot be asked any more.
        link.question.take_if(|question| question.at < link.acked);
        let until = match &mut link.mode {
            Mode::Unknown if link.found.is_some() => return,
            Mode::Unknown => {
                link.sent(UnderWay::Status, now_ms);
                return self.send(target, LogBody::Status, Vec::new());
            }
            Mode::Stream => link.question.as_ref().map_or(last, |question| question.at),
            Mode::Copy(copying) => match &copying.stage {
                CopyStage::Part { at, .. } if in_order && link.acked < *at => *at,
                CopyStage::Part { .. } if !in_order && link.acked < last => last,
                CopyStage::Begin if stopped => return,
                CopyStage::Begin | CopyStage::Part { .. } => return self.send_copy(target),
                CopyStage::Next if !stopped && self.share.take(part_bytes as u64, self.now_us) => {
                    copying.stage = CopyStage::Reading;
                    let from = copying.cursor.clone();
                    return self.out.push(LogEffect::ReadRows { member: target, from, bytes: part_bytes });
                }
                CopyStage::Next | CopyStage::Reading => last,
            },
        };
        let asks = link.question.is_some() && matches!(link.mode, Mode::Stream);
        let lacks = asks || link.acked < until || (want > link.asked_durable && want > link.durable);
        if lacks {
            self.send_records(target, until);
        }
    }

    fn send_records(&mut self, target: TargetId, until: u64) {
        let Some(link) = self.links.get_mut(&target) else { return };
        if !self.recent.follow(link.acked) {
            // Not here any more: what it lacks has to be found out anew.
            let required = link.caught_up;
            (link.mode, link.found) = (Mode::Unknown, None);
            link.heard();
            return self.lost_track(target, required);
        }
        link.asked_durable = link.asked_durable.max(self.want_durable);
        let (acked, durable_to) = (link.acked, link.asked_durable);
        let records: Vec<Record> = self.recent.behind(acked, until, self.config.append_bytes);
        let upto = acked + records.len() as u64;
        link.sent(UnderWay::Append(upto), self.now_ms);
        let question = link.question.as_mut().filter(|question| question.at == upto).map(|question| {
            question.sent = true;
            question.range.clone()
        });
        let terms = self.terms_within(acked, acked + records.len() as u64);
        let after = self.terms.position(acked);
        self.send(target, LogBody::Append { after, terms, durable_to, question }, records);
    }

    /// A member whose records the primary does not have any more: a good one has to be resynced, one that resyncs begins again.
    fn lost_track(&mut self, target: TargetId, required: bool) {
        if required || self.state_of(target) == Some(MemberState::Good) {
            self.ask_mark(target);
        }
    }

    /// A member says what it has.
    pub(super) fn member_has(&mut self, from: TargetId, index: u64, durable: u64) {
        let last = self.last();
        let Some(link) = self.links.get_mut(&from).filter(|link| !matches!(link.mode, Mode::Unknown)) else { return };
        if index > last {
            return;
        }
        link.acked = link.acked.max(index);
        if durable.min(index) > link.durable {
            (link.durable, link.disk_since_ms) = (durable.min(index), None);
        }
        // News of the disk that come by themselves are no answer to what is under way.
        if matches!(link.under_way, Some((UnderWay::Append(last), ..)) if last <= link.acked) {
            link.heard();
            // What was asked with them is on its way to be answered.
            link.question.take_if(|question| question.sent && link.acked >= question.at);
        }
        if matches!(link.mode, Mode::Stream) && link.acked >= last && !link.caught_up {
            self.caught_up(from);
        }
        self.ask_resynced(from);
        self.pump(from);
        self.settle();
    }

    /// A resyncing member has everything: from now on nothing is answered for without it. Management may call it good once it also has
    /// on disk what was said to be: it may be the only one that is left after a power cut of all.
    fn caught_up(&mut self, target: TargetId) {
        if self.state_of(target) != Some(MemberState::Resyncing) || self.role != MemberRole::Primary {
            return;
        }
        if let Some(link) = self.links.get_mut(&target) {
            link.caught_up = true;
        }
        self.want_durable = self.want_durable.max(self.told_durable);
    }

    /// One that is not known to have on disk what it is to have is asked again.
    pub(super) fn ask_for_disk(&mut self, target: TargetId) {
        let (want, now_ms, resend_ms) = (self.want_durable, self.now_ms, self.config.resend_ms);
        if let Some(link) =
            self.links.get_mut(&target).filter(|link| link.durable < want && link.is_free(now_ms, resend_ms))
        {
            link.asked_durable = link.asked_durable.min(link.durable);
            self.pump(target);
        }
    }

    pub(super) fn ask_resynced(&mut self, target: TargetId) {
        let told = if self.breaks(LogRule::SyncBeforeGood) { 0 } else { self.told_durable };
        let ready = self.links.get(&target).is_some_and(|link| link.caught_up && link.durable >= told);
        if !ready || self.state_of(target) != Some(MemberState::Resyncing) {
            return;
        }
        let member = self.member_at(target);
        self.ask(target, 2, Command::MemberResynced(member));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Messages, and a member that takes what the primary sends.

use super::Member;
use super::under_way::Pending;
use super::work::{Kind, Stage, Work};
use crate::effect::Effect;
use crate::input::Ticket;
use crate::lists::to_list;
use crate::message::{Body, Change, Envelope, Origin};
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use nyala_wire::TargetId;

impl Member {
    pub(super) fn message(&mut self, from: TargetId, envelope: Envelope, payload: Ticket) {
        let Envelope { epoch, body, .. } = envelope;
        let has_payload = matches!(body, Body::Forward { .. } | Body::Copy { .. });
        let mine = self.view.as_ref().map_or(0, |v| v.group.epoch);
        let old = epoch < mine && !broken(self.broken, Rule::RefuseOldEpoch);
        if self.view.is_none() || epoch > mine || old {
            if has_payload {
                self.drop_ticket(payload);
            }
            if body == Body::Behind || epoch > mine {
                self.out.push(Effect::FetchMap);
            } else if old {
                self.send(from, Body::Behind, None);
            }
            return;
        }
        match body {
            Body::Behind => {}
            Body::Forwarded { .. } | Body::Synced { .. } | Body::Gathered { .. } => self.answered(from, body),
            _ => self.hear_primary(from, body, payload, epoch < mine),
        }
    }

    /// What the primary tells its members. `lax`: the rule about old epochs is broken.
    fn hear_primary(&mut self, from: TargetId, body: Body, payload: Ticket, lax: bool) {
        let primary = self.view.as_ref().and_then(|v| v.group.primary());
        let takes = matches!(self.role, MemberRole::Secondary | MemberRole::Resyncing);
        if !lax && (primary != Some(from) || !takes) {
            if matches!(body, Body::Forward { .. } | Body::Copy { .. }) {
                self.drop_ticket(payload);
            }
            return;
        }
        let leads = matches!(body, Body::Forward { .. } | Body::Committed { .. });
        if leads && self.role == MemberRole::Secondary {
            self.doubtful.clear();
            self.track.agreed();
        }
        match body {
            Body::Forward { seq, committed_below, change, origin } => {
                self.take_in(from, seq, committed_below, change, payload, Some(origin));
            }
            Body::Copy { seq, committed_below, change } => {
                self.take_in(from, seq, committed_below, change, payload, None)
            }
            Body::Committed { committed_below } => self.raise_committed_below(committed_below),
            Body::Gather { done } => {
                self.confirm_doubtful(done);
                let mut regions = self.uncommitted();
                regions.add(self.track.inherited(), self.config.max_runs);
                regions.add(&self.track.dirty(from), self.config.max_runs);
                if broken(self.broken, Rule::KeepIntents) {
                    regions = Default::default();
                }
                self.send(from, Body::Gathered { regions: to_list(&regions) }, None);
            }
            Body::Sync { id, flush, done } => {
                self.learn(done);
                self.sync_here(id, flush);
            }
            _ => {}
        }
    }

    fn take_in(
        &mut self,
        from: TargetId,
        seq: u64,
        committed_below: u64,
        change: Change,
        payload: Ticket,
        origin: Option<Origin>,
    ) {
        self.raise_committed_below(committed_below);
        let known = self.pending.get(&seq).copied();
        if seq < self.committed_below || known.is_some() {
            self.drop_ticket(payload);
            if known.is_none_or(|pending| pending.applied) {
                self.send(from, Body::Forwarded { seq, ok: true }, None);
            }
            return;
        }
        self.pending.insert(seq, Pending { change, applied: false, origin });
        self.mark_absent(change, origin.is_none());
        if origin.is_none() {
            self.forget_doubtful(change);
        }
        let id = self.number();
        let kind = Kind::Taken { seq, change, payload, origin };
        self.work.insert(id, Work { kind, line: None, job: None, began_us: self.now_us });
        let exclusive = !broken(self.broken, Rule::ChangesInTurn);
        self.enter(id, change.file, change.span, exclusive);
    }

    /// What has a lower number is committed: it is no longer in question.
    fn raise_committed_below(&mut self, committed_below: u64) {
        if committed_below > self.committed_below {
            self.committed_below = committed_below;
            while let Some(first) = self.pending.first_entry().filter(|first| *first.key() < committed_below) {
                first.remove();
            }
        }
    }

    /// What the primary sent is in our file, or could not be.
    pub(super) fn taken(&mut self, id: u64, ok: bool) {
        let Some(Kind::Taken { seq, payload, origin, .. }) = self.work.get(&id).map(|work| work.kind.clone()) else {
            return;
        };
        self.drop_ticket(payload);
        // A change may be there in part now: we must not become primary with that.
        self.failing |= !ok;
        if let Some(pending) = self.pending.get_mut(&seq) {
            pending.applied = ok;
        }
        origin.filter(|_| ok).into_iter().for_each(|origin| self.clients.note(origin, self.now_ms));
        self.end(id);
        if let Some(primary) = self.view.as_ref().and_then(|v| v.group.primary()) {
            self.send(primary, Body::Forwarded { seq, ok }, None);
        }
    }

    fn sync_here(&mut self, question: u64, flush: bool) {
        if !flush {
            if let Some(primary) = self.view.as_ref().and_then(|v| v.group.primary()) {
                self.send(primary, Body::Synced { id: question, ok: true }, None);
            }
            return;
        }
        let asked = |work: &Work| matches!(work.kind, Kind::SyncHere { id, .. } if id == question);
        if self.work.values().any(asked) {
            return;
        }
        let id = self.number();
        let kind = Kind::SyncHere { id: question, flushed: false };
        self.work.insert(id, Work { kind, line: None, job: None, began_us: self.now_us });
        let job = self.job(id, Stage::Main);
        self.out.push(Effect::Flush { job });
    }
}

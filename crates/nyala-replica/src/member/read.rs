// SPDX-License-Identifier: Apache-2.0

//! Reads. Nobody returns what may not be committed, and nobody returns anything without a lease when the data is there:
//! until then nobody else could acknowledge a change that we do not have.

use super::Member;
use super::work::{Kind, Stage, Work};
use crate::clients::Asker;
use crate::effect::{Answer, Effect};
use crate::input::Job;
use crate::regions::Span;
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use nyala_wire::storage::ChunkFileId;

impl Member {
    /// Whether a read of these bytes may be answered with what the file holds at this moment, or held since the read came: all
    /// changes that may be seen there are committed. The member remembers nothing of such a read. `false`: it has to be asked by
    /// [`crate::Operation::Read`].
    pub fn may_answer_read(&mut self, now_us: u64, epoch: u32, file: ChunkFileId, span: Span) -> bool {
        self.now_us = self.now_us.max(now_us);
        self.now_ms = self.now_us / 1000;
        let newest = self.view.as_ref().is_some_and(|view| view.group.epoch == epoch);
        let shows_all = broken(self.broken, Rule::HideUncommitted);
        let committed = match self.role {
            MemberRole::Primary => shows_all || !self.range_locks.has_change(file, span),
            MemberRole::Secondary => !self.in_question(file, span),
            _ => false,
        };
        newest && committed && self.serves()
    }

    /// A read that came at `came_us` was answered so. For what a resync may slow requests by.
    pub fn answered_read(&mut self, came_us: u64, span: Span) {
        self.share.request(false, span.end.saturating_sub(span.start), came_us, self.now_us);
    }

    pub(super) fn read(&mut self, asker: Asker, began_us: u64, file: ChunkFileId, span: Span) {
        let shows_all = broken(self.broken, Rule::HideUncommitted);
        let turn = self.role == MemberRole::Primary && !shows_all;
        if !turn && self.in_question(file, span) {
            return self.reply(asker.token, Answer::AskPrimary);
        }
        let id = self.number();
        let kind = Kind::Read { asker, file, span, turn };
        self.work.insert(id, Work { kind, line: None, job: None, began_us });
        if turn {
            // In line with changes: what is under way there is committed when our turn comes.
            self.enter(id, file, span, false);
        } else {
            self.begin_read(id, file, span);
        }
    }

    pub(super) fn begin_read(&mut self, id: u64, file: ChunkFileId, span: Span) {
        let Some(Kind::Read { asker, .. }) = self.work.get(&id).map(|work| &work.kind) else { return };
        let token = asker.token;
        let job = self.job(id, Stage::Main);
        self.out.push(Effect::Read { job, token, file, span });
    }

    pub(super) fn was_read(&mut self, id: u64, job: Job, ok: bool) {
        let Some(Work { kind: Kind::Read { asker, file, span, turn }, began_us, .. }) = self.work.get(&id).cloned()
        else {
            return;
        };
        self.end(id);
        let good = if turn { self.role == MemberRole::Primary } else { self.is_good() };
        let answer = if !ok {
            Answer::Failed
        } else if !good || !self.serves() {
            Answer::NotReady
        } else if !turn && self.in_question(file, span) {
            // A change arrived while we read: the data may or may not have it.
            Answer::AskPrimary
        } else {
            Answer::Data(job)
        };
        self.share.request(false, span.end.saturating_sub(span.start), began_us, self.now_us);
        self.reply(asker.token, answer);
    }

    fn is_good(&self) -> bool {
        let shows_all = broken(self.broken, Rule::HideUncommitted) && self.role == MemberRole::Primary;
        self.role == MemberRole::Secondary || shows_all
    }

    /// Whether a change that may not be committed touches these bytes here.
    fn in_question(&self, file: ChunkFileId, span: Span) -> bool {
        if broken(self.broken, Rule::HideUncommitted) {
            return false;
        }
        let ghost = |work: &Work| match &work.kind {
            Kind::Ghost { change, .. } => change.file == file && change.span.overlaps(span),
            _ => false,
        };
        self.pending.values().any(|p| p.change.file == file && p.change.span.overlaps(span))
            || self.track.inherited().overlaps(file, self.run_of(span))
            || self.work.values().any(ghost)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Range locks, intents and the ends of disk work.

use super::Member;
use super::work::{Kind, Stage};
use crate::effect::Effect;
use crate::input::Job;
use crate::message::Body;
use crate::regions::Span;
use crate::role::MemberRole;
use nyala_wire::storage::ChunkFileId;

impl Member {
    /// Stands in line for some bytes; its turn may be now.
    pub(super) fn enter(&mut self, id: u64, file: ChunkFileId, span: Span, exclusive: bool) {
        if let Some(work) = self.work.get_mut(&id) {
            work.line = Some(file);
        }
        if self.range_locks.enter(id, file, span, exclusive) {
            self.granted(id);
        }
    }

    /// Its turn has come.
    fn granted(&mut self, id: u64) {
        let Some(work) = self.work.get(&id) else { return };
        match &work.kind {
            // While a primary steps down, lines move up; nobody begins anything for the old term.
            Kind::Change(..) if self.role == MemberRole::Primary => self.begin_change(id),
            Kind::Change(..) => {}
            Kind::Copy(..) => self.begin_copy(id),
            Kind::Taken { change, .. } => self.begin_in_file(id, change.file, change.span),
            Kind::Read { file, span, .. } => self.begin_read(id, *file, *span),
            Kind::Sync { .. } | Kind::SyncHere { .. } | Kind::Ghost { .. } => {}
        }
    }

    /// The work is over: whoever waited for its turn goes on.
    pub(super) fn end(&mut self, id: u64) {
        let Some(work) = self.work.remove(&id) else { return };
        let next = work.line.map(|file| self.range_locks.leave(id, file)).unwrap_or_default();
        next.into_iter().for_each(|id| self.granted(id));
    }

    /// Intent first, then the change. For a copied region too: the primary that has it in its dirty set may be lost together with
    /// our power, and the next one may not have it there.
    pub(super) fn begin_in_file(&mut self, id: u64, file: ChunkFileId, span: Span) {
        let run = self.run_of(span);
        let room = (self.config.file_bytes / self.config.region_bytes).saturating_sub(run.end);
        match self.track.begin(file, run, self.config.ahead.min(room)) {
            None => self.apply(id),
            Some((opening, row)) => {
                let job = self.job(id, Stage::Opened(opening));
                self.out.push(Effect::Persist { job, rows: vec![row], durable: true });
            }
        }
    }

    fn apply(&mut self, id: u64) {
        let Some(work) = self.work.get(&id) else { return };
        let (change, payload, region) = match &work.kind {
            Kind::Change(op, _) => (op.change, op.payload, false),
            Kind::Taken { change, payload, origin, .. } => (*change, *payload, origin.is_none()),
            _ => return,
        };
        let job = self.job(id, Stage::Main);
        self.out.push(if region {
            Effect::WriteRegion { job, file: change.file, span: change.span, from: payload }
        } else {
            Effect::Apply { job, change, payload }
        });
    }

    pub(super) fn done(&mut self, job: Job, ok: bool, last: bool, bytes: u64) {
        let Some((id, stage)) = self.jobs.remove(&job) else { return };
        match stage {
            Stage::Closing => return self.flushed(ok),
            // Whatever has become of the work.
            Stage::Opened(opening) => self.track.opened(opening, ok),
            Stage::Main | Stage::Rows | Stage::Nothing => {}
        }
        let Some(work) = self.work.get_mut(&id).filter(|work| work.job == Some(job)) else { return };
        work.job = None;
        match (&mut work.kind, stage) {
            (Kind::Ghost { payload, origin, change }, _) => {
                let (payload, change) = (*payload, *change);
                let origin = origin.filter(|_| ok && stage == Stage::Main);
                origin.into_iter().for_each(|origin| self.note_doubtful(origin, change));
                payload.into_iter().for_each(|ticket| self.drop_ticket(ticket));
                self.end(id);
                self.advance_recovery();
            }
            (Kind::Change(..) | Kind::Taken { .. }, Stage::Opened(_)) if ok => self.apply(id),
            (Kind::Change(..), _) => self.applied(id, ok),
            (Kind::Taken { .. }, _) => self.taken(id, ok),
            (Kind::Copy(..), _) => self.region_read(id, ok, last, bytes),
            (Kind::Read { .. }, _) => self.was_read(id, job, ok),
            (Kind::Sync { .. }, _) => self.flushed_here(id, ok),
            (Kind::SyncHere { .. }, _) => self.synced_here(id, stage, ok),
        }
    }

    /// A member's sync goes on: data, then rows, then the answer.
    fn synced_here(&mut self, id: u64, stage: Stage, ok: bool) {
        let Some(Kind::SyncHere { id: question, flushed }) = self.work.get_mut(&id).map(|work| &mut work.kind) else {
            return;
        };
        let question = *question;
        if ok && stage == Stage::Main {
            *flushed = true;
            let rows = self.track.dirty_rows();
            let job = self.job(id, Stage::Rows);
            self.out.push(Effect::Persist { job, rows, durable: true });
            return;
        }
        self.end(id);
        if let Some(primary) = self.view.as_ref().and_then(|v| v.group.primary()) {
            self.send(primary, Body::Synced { id: question, ok }, None);
        }
    }
}

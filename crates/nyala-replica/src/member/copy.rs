// SPDX-License-Identifier: Apache-2.0

//! Copies of regions from the primary to members. A copy takes its turn like a change, so that none of both can overwrite
//! what came later, and it is numbered like one, so that an old copy of its message does no harm.

use super::Member;
use super::work::{Kind, Purpose, ReplicatedOp, Stage, Work};
use crate::effect::{Answer, Effect};
use crate::message::Change;
use crate::regions::Span;
use crate::rules::{Rule, broken};
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use nyala_wire::storage::ChunkFileId;

impl Member {
    /// Begins the copy of one region; `open`: all behind it is in question too, up to the end of the file.
    pub(super) fn start_copy(&mut self, file: ChunkFileId, unit: Span, open: bool, purpose: Purpose) {
        let mut span = unit.bytes(self.config.region_bytes);
        if open {
            span.end = u64::MAX;
        }
        let (id, payload) = (self.number(), self.ticket());
        let kind = Kind::Copy(ReplicatedOp::new(Change { file, span }, payload), purpose);
        self.work.insert(id, Work { kind, line: None, job: None, began_us: self.now_us });
        if broken(self.broken, Rule::CopyInTurn) {
            self.begin_copy(id);
        } else {
            self.enter(id, file, span, true);
        }
    }

    /// Its turn has come: read the region.
    pub(super) fn begin_copy(&mut self, id: u64) {
        let Some(Kind::Copy(op, purpose)) = self.work.get(&id).map(|work| work.kind.clone()) else { return };
        let Change { file, span } = op.change;
        let end = span.end.min(span.start.saturating_add(self.config.region_bytes));
        let job = self.job(id, Stage::Main);
        // A member in agreement may have what we have not; one that comes back has nothing that counts.
        let as_is = matches!(purpose, Purpose::Resync(_));
        self.out.push(Effect::ReadRegion { job, file, span: Span { start: span.start, end }, into: op.payload, as_is });
    }

    /// It is in the buffer: send it to those who lack it.
    pub(super) fn region_read(&mut self, id: u64, ok: bool, last: bool, bytes: u64) {
        let region_bytes = self.config.region_bytes;
        let seq = self.next_seq;
        let Some(Kind::Copy(op, purpose)) = self.work.get_mut(&id).map(|work| &mut work.kind) else { return };
        if !ok {
            let purpose = *purpose;
            return self.cannot_copy(id, purpose);
        }
        if !last {
            op.change.span.end = op.change.span.end.min(op.change.span.start.saturating_add(region_bytes));
        }
        op.seq = seq;
        op.here = true;
        if let Purpose::Resync(_) = purpose {
            self.share.sized(region_bytes, bytes);
        }
        self.next_seq += 1;
        self.in_flight.insert(seq, id);
        self.send_spread(id);
        self.settle_copy(id);
    }

    /// Our own copy cannot be read. In an agreement another good member can lead; a resync waits and tries again.
    fn cannot_copy(&mut self, id: u64, purpose: Purpose) {
        self.abandon(id);
        match purpose {
            Purpose::Agree => self.failing = true,
            Purpose::Resync(target) => self.defer_resync(target),
        }
    }

    /// Members that a copy is for.
    pub(super) fn copy_targets(&self, purpose: Purpose) -> Vec<TargetId> {
        match purpose {
            Purpose::Agree => self.others(|state| state == MemberState::Good),
            Purpose::Resync(target) => {
                let mut resyncing = self.others(|state| state == MemberState::Resyncing);
                resyncing.retain(|t| *t == target);
                resyncing
            }
        }
    }

    /// Ends a copy that everybody has.
    pub(super) fn settle_copy(&mut self, id: u64) {
        let Some(Kind::Copy(op, purpose)) = self.work.get(&id).map(|work| &work.kind) else { return };
        let (purpose, change) = (*purpose, op.change);
        let targets = self.copy_targets(purpose);
        if !targets.iter().all(|target| op.acked.contains(target)) {
            return;
        }
        let run = change.span.regions(self.config.region_bytes);
        self.finish(id, Answer::Done);
        match purpose {
            Purpose::Agree => self.agreed_on(change.file, run),
            Purpose::Resync(target) if !targets.is_empty() => self.region_copied(target, change.file, run),
            Purpose::Resync(_) => {}
        }
    }
}

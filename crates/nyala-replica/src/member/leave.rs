// SPDX-License-Identifier: Apache-2.0

//! What a member gives up when its role changes.

use super::Member;
use super::work::{Kind, SyncBy, Work};
use crate::clients::Asker;
use crate::effect::{Answer, Effect};
use crate::message::Origin;

impl Member {
    /// The primary of a term that is over. Clients ask again where the new one is.
    pub(super) fn leave_office(&mut self) {
        let ids: Vec<u64> = self.work.keys().copied().collect();
        let mut applied = Vec::new();
        for id in ids {
            let asker = match &self.work[&id].kind {
                Kind::Change(op, asker) => {
                    let (begun, change) = (op.seq > 0, op.change);
                    let asker = *asker;
                    // If our content comes to count, so do the changes that are in it; another primary's notes replace ours.
                    applied.extend(op.here.then(|| (self.origin(&asker), change)));
                    if begun {
                        let run = self.run_of(change.span);
                        self.track.inherit(change.file, run);
                    }
                    Some(asker)
                }
                Kind::Read { asker, turn: true, .. } => Some(*asker),
                Kind::Sync { by: SyncBy::Client(asker), .. } => Some(*asker),
                Kind::Copy(..) | Kind::Sync { .. } => None,
                _ => continue,
            };
            asker.into_iter().for_each(|asker| self.reply(asker.token, Answer::WrongEpoch));
            self.abandon(id);
        }
        self.in_flight.clear();
        self.clients.drop_running();
        applied.into_iter().for_each(|(origin, change)| self.note_doubtful(origin, change));
        self.resyncs.clear();
        self.notices.clear();
        self.recovery = Default::default();
        self.next_seq = 1;
    }

    /// What a primary of another term, or of before we were away, had sent: nobody says any more whether it counts.
    pub(super) fn drop_pending(&mut self) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            let run = self.run_of(pending.change.span);
            self.track.inherit(pending.change.file, run);
            let origin = pending.origin.filter(|_| pending.applied);
            self.doubtful.extend(origin.map(|origin| (origin, pending.change)));
        }
        self.confirmed.clear();
        self.committed_below = 0;
        let taken = |work: &Work| matches!(work.kind, Kind::Taken { .. } | Kind::SyncHere { .. });
        let ids: Vec<u64> = self.work.iter().filter(|(_, work)| taken(work)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.abandon(id));
    }

    /// Whose change it is.
    pub(super) fn origin(&self, asker: &Asker) -> Origin {
        Origin { client: asker.client, seq: asker.seq, lowest: self.clients.lowest(asker.client) }
    }

    /// Gives up a piece of work. Disk work under way cannot be called back and keeps its turn until it ends.
    pub(super) fn abandon(&mut self, id: u64) {
        let Some(work) = self.work.get_mut(&id) else { return };
        let (change, payload, origin) = match &work.kind {
            Kind::Change(op, asker) => {
                let lowest = self.clients.lowest(asker.client);
                let origin = Origin { client: asker.client, seq: asker.seq, lowest };
                (op.change, Some(op.payload), Some(origin))
            }
            Kind::Copy(op, _) => (op.change, Some(op.payload), None),
            Kind::Taken { change, payload, origin, .. } => (*change, Some(*payload), *origin),
            _ => {
                self.end(id);
                return;
            }
        };
        if work.job.is_some() && !matches!(work.kind, Kind::Copy(..)) {
            work.kind = Kind::Ghost { change, payload, origin };
        } else {
            payload.into_iter().for_each(|ticket| self.out.push(Effect::Drop(ticket)));
            self.end(id);
        }
    }
}

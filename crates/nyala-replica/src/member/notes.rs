// SPDX-License-Identifier: Apache-2.0

//! Notes of whose changes are in our file, so that one that is sent again to a new primary is not done twice.
//!
//! A note of this term's changes is right: we took them in order. One of an earlier term is in doubt until the new primary
//! leads: if it puts its own content in place of ours, the change is undone, and so is the note.

use super::Member;
use crate::message::{Change, Origin};
use crate::role::MemberRole;

impl Member {
    /// A new primary puts its own content in place of ours: changes of an earlier term that touched it are undone.
    pub(super) fn forget_doubtful(&mut self, region: Change) {
        let (clients, doubtful, confirmed) = (&mut self.clients, &mut self.doubtful, &self.confirmed);
        let kept = |a: &Origin| confirmed.iter().any(|b| (a.client, a.seq) == (b.client, b.seq));
        doubtful.retain(|(origin, change)| {
            let undone = change.file == region.file && change.span.overlaps(region.span) && !kept(origin);
            undone.then(|| clients.unnote(*origin));
            !undone
        });
    }

    /// The new primary has these changes too: its content will not undo them. The next one's may, if this one does not come
    /// to lead, so they stay in doubt.
    pub(super) fn confirm_doubtful(&mut self, done: Vec<Origin>) {
        self.confirmed = done;
    }

    /// A change of an earlier term is in our file, and nobody knows whether it counts.
    pub(super) fn note_doubtful(&mut self, origin: Origin, change: Change) {
        self.clients.note(origin, self.now_ms);
        self.doubtful.push((origin, change));
    }

    /// The primary says which clients' changes are done. What we noted ourselves counts only within its term.
    pub(super) fn learn(&mut self, done: Option<Vec<Origin>>) {
        let Some(done) = done else { return };
        let term = self.epoch().map_or(0, |(_, term)| term);
        if self.notes_of != term && self.role == MemberRole::Secondary {
            // Nothing of this term came before; what an earlier one sent may not have been agreed on.
            self.clients.clear();
            self.doubtful.clear();
        }
        self.notes_of = term;
        done.into_iter().for_each(|origin| self.clients.note(origin, self.now_ms));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! A member on the group's `full` list gets all chunk files that are here, some after the other. The list in the map is the
//! memory of that: a resync that was stopped begins with the first file again, and so does a new primary. Files that are
//! made meanwhile may be missed: the member gets their changes.

use super::Member;
use super::under_way::{Listing, Resync};
use crate::effect::Effect;
use crate::regions::{EXACT, Span};
use nyala_wire::TargetId;
use nyala_wire::storage::ChunkFileId;

impl Member {
    /// Whether there are files of which the member has not been told yet; asks for the next ones when those before are copied.
    pub(super) fn continue_list(&mut self, target: TargetId, resync: &mut Resync, stopped: bool) -> bool {
        let full = self.view.as_ref().is_some_and(|v| v.group.full.contains(&target));
        let lists = full && !resync.listing.ended;
        if lists && !stopped && !resync.listing.asked && resync.todo.is_empty() {
            resync.listing.asked = true;
            self.out.push(Effect::ListFiles { of: target, after: resync.listing.after });
        }
        lists
    }

    /// More chunk files for a member that gets everything.
    pub(super) fn listed(&mut self, of: TargetId, after: Option<ChunkFileId>, files: Option<Vec<ChunkFileId>>) {
        let Some(resync) = self.resyncs.get_mut(&of).filter(|r| r.listing.asked && r.listing.after == after) else {
            return; // of a resync that is over
        };
        let Some(files) = files else { return self.defer_resync(of) };
        resync.listing = Listing { after: files.last().copied().or(after), asked: false, ended: files.is_empty() };
        for file in files {
            resync.todo.insert(file, Span { start: 0, end: u64::MAX }, EXACT);
        }
        self.advance_resyncs();
    }
}

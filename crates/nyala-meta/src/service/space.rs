// SPDX-License-Identifier: Apache-2.0

//! Looks at the space on the target's disk, and refuses what there is no room for. The rule, and its failure model, is
//! `crate::room`.

use super::coordinate::Patience;
use super::execute::Body;
use super::leases;
use super::state::State;
use crate::room::{Adds, Room};
use nyala_wire::meta::{Grants, MetaOp, MetaReply, PutOutcome};
use nyala_wire::{ErrorCode, WireError};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Until a removal that found no room is tried again: a checkpoint may be making some.
const AGAIN: Duration = Duration::from_millis(100);

/// Looks now and then. Runs until the service stops.
pub async fn watch(state: Rc<State>, dir: PathBuf) {
    loop {
        let mut space = super::capacity(&dir);
        // What was removed makes room within the table's file, which does not shrink.
        space.free_bytes = space.free_bytes.saturating_add(state.store.reusable_bytes());
        let (before, now) = (state.room.get(), state.room.get().after(&space));
        state.room.set(now);
        let (free_bytes, free_inodes) = (space.free_bytes, space.free_inodes);
        match now {
            _ if now == before => {}
            Room::Enough => tracing::info!(free_bytes, free_inodes, "the disk has room for new names again"),
            Room::Short => tracing::warn!(free_bytes, free_inodes, "the disk is almost full: no new names any more"),
            Room::Reserved => {
                tracing::error!(free_bytes, free_inodes, "the disk is full: what is left is for removals")
            }
        }
        if now != Room::Enough {
            // It turns removals into room, and gives back what the log took. One that does not end is tried again by itself.
            let _ = tokio::time::timeout(LOOK, state.store.checkpointed()).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What a change is answered that there is no room for; none if there is.
pub fn refusal(state: &State, op: &MetaOp) -> Option<Result<Body, WireError>> {
    let error = state.room.get().check(Adds::of(op)).err()?;
    // Each of several contents gets its own answer, as its file is somebody else's.
    let MetaOp::PutInlines { puts } = op else { return Some(Err(error)) };
    let outcomes = puts.iter().map(|_| PutOutcome::Refused(error.clone())).collect();
    Some(Ok(leases::answer(Grants::default(), &MetaReply::Inlines(outcomes))))
}

/// After a change could not be logged: waits for room if it is one that makes some.
pub async fn wait_for_room(op: &MetaOp, error: WireError, patience: &Patience) -> Result<(), WireError> {
    if error.code != ErrorCode::NO_SPACE || Adds::of(op) != Adds::Nothing || patience.check().is_err() {
        return Err(error);
    }
    tokio::time::sleep(AGAIN).await;
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0

//! `TakeRange`: a metadata target gets inode numbers that nobody had before. A reply that is lost wastes a range.

use crate::core::Core;
use nyala_cluster::Command;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::MgmtReply;
use nyala_wire::{ErrorCode, TargetId};

pub(super) async fn handle(core: &Core, target: TargetId, after: u32) -> Result<MgmtReply, WireError> {
    let state = core.view.state();
    let last = state.last_range;
    let before = state.target(target).map_or(0, |target| target.range);
    let range = last.max(after).saturating_add(1);
    if core.propose(Command::HandOutRange { target, last, range }).await?.is_empty() {
        return Err(ErrorCode::BUSY.with("another metadata target got a range at the same time; try again"));
    }
    Ok(MgmtReply::Range { range, before })
}

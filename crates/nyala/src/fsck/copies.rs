// SPDX-License-Identifier: Apache-2.0

//! Repairs of members of mirror groups, from their mirrors. Failure model: see the parent module. A copy may be interrupted: what came of it
//! is right, and the next check finds the rest.

use super::ask::Ask;
use crate::exit::Failure;
use nyala_wire::map::Consistency;
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use nyala_wire::{GroupId, TargetId};
use std::ops::Range;

/// Bytes that a member gets with one request.
const BATCH_BYTES: usize = 1 << 20;

/// That a copy was done does not say that another member had anything: so it is looked at.
pub async fn copy_from_mirror(
    ask: &Ask,
    group: GroupId,
    target: TargetId,
    file: ChunkFileId,
    range: Range<u64>,
) -> Result<(), Failure> {
    for from in range.clone().step_by(BATCH_BYTES) {
        let len = (range.end - from).min(BATCH_BYTES as u64).next_multiple_of(BLOCK_BYTES);
        ask.client.repair_copy(group, file, (from, len as u32), target).await?;
    }
    let (listed, _) = ask.list(target, file).await?;
    match listed.first().is_some_and(|now| now.file == file && now.len >= range.end) {
        true => Ok(()),
        false => Err(Failure::failed("no other member could give it: restore the file, or remove it")),
    }
}

/// What is wrong with a member is that it is not as its primary: if another one is primary by now, that has to be looked at anew.
async fn still_primary(ask: &Ask, group: GroupId, primary: TargetId) -> Result<(), Failure> {
    match ask.primary(group).await? == Some(primary) {
        true => Ok(()),
        false => Err(Failure::failed("another member is primary by now; check again")),
    }
}

/// Management takes nothing of a member for good any more, and has it given everything.
pub async fn refill(ask: &Ask, group: GroupId, primary: TargetId, member: TargetId) -> Result<(), Failure> {
    still_primary(ask, group, primary).await?;
    for consistency in [Consistency::Bad, Consistency::NeedsResync] {
        ask.order(GroupOrder::Declare { target: member, consistency }).await?;
    }
    Ok(())
}

/// A member gets what its primary has in some ranges of a chunk file; the next check sees whether it has.
pub async fn copy_from_primary(
    ask: &Ask,
    (group, primary, member): (GroupId, TargetId, TargetId),
    file: ChunkFileId,
    ranges: &[Range<u64>],
) -> Result<(), Failure> {
    still_primary(ask, group, primary).await?;
    for range in ranges {
        for from in range.clone().step_by(BATCH_BYTES) {
            let len = (range.end - from).min(BATCH_BYTES as u64);
            ask.client.repair_copy(group, file, (from, len as u32), member).await?;
        }
    }
    Ok(())
}

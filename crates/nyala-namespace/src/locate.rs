// SPDX-License-Identifier: Apache-2.0

//! Where an entry and its data are, as the tables say it, for somebody without a session: management, for its web page.
//!
//! Pure: nothing is changed, and locks of operations under way are not looked at, so that an answer may be of the moment before one.

use crate::change::{Change, Fault, Step};
use crate::locks::Locks;
use crate::ns::info::describe;
use crate::slot_rows::slots_in_transit;
use crate::view::View;
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, TargetId, WireError};

/// Answers on the server `me`. WRONG_SERVER for what is another one's, NOT_READY while the slot moves, STALE for an
/// inode that does not exist, NOT_FOUND for a name, NOT_A_DIRECTORY.
pub fn locate(
    view: &dyn View,
    me: TargetId,
    map: &ClusterMap,
    request: &LocateRequest,
) -> Result<LocateReply, WireError> {
    let slot = request.inode.slot();
    if map.slot_target(slot) != Some(me) {
        return Err(ErrorCode::WRONG_SERVER.with(format!("slot {slot} is not served by target {me}")));
    }
    if slots_in_transit(view)?.contains(&slot) {
        return Err(ErrorCode::NOT_READY.with(format!("slot {slot} moves between servers")));
    }
    let locks = Locks::default();
    answer(&mut Change::new(view, &locks, None), me, map, request).map_err(Fault::refusal)
}

fn answer(change: &mut Change, me: TargetId, map: &ClusterMap, request: &LocateRequest) -> Step<LocateReply> {
    Ok(match &request.name {
        None => LocateReply { entry: None, info: Some(describe(change.inode(request.inode)?, request.inode, me, map)) },
        Some(name) => {
            change.dir(request.inode)?;
            let (_, entry) = change.find_entry(request.inode, name)?.ok_or(ErrorCode::NOT_FOUND)?;
            LocateReply { entry: Some(entry.inode), info: None }
        }
    })
}

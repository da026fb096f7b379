// SPDX-License-Identifier: Apache-2.0

//! Requests to the drive set of a target. Failure model: see the parent module; they are answered also while management is away, and may wait for disks, on a thread of
//! their own.

use super::target::Target;
use nyala_transport::{Frame, Reply};
use nyala_wire::raid::RaidRequest;
use nyala_wire::{ErrorCode, TargetId, WireError, codec};
use std::collections::HashMap;
use std::sync::Arc;

/// Does what is asked.
pub(super) async fn answer(targets: &HashMap<TargetId, Arc<Target>>, request: &Frame) -> Result<Reply, WireError> {
    let RaidRequest { target: id, order } = codec::decode(&request.body)?;
    let target = targets.get(&id);
    let target = target.ok_or_else(|| ErrorCode::WRONG_SERVER.with(format!("storage target {id} is not here")))?;
    let none = || ErrorCode::NOT_SUPPORTED.with(format!("storage target {id} lies in a directory, not on a drive set"));
    let upkeep = target.upkeep().ok_or_else(none)?.clone();
    let done = tokio::task::spawn_blocking(move || upkeep.order(order)).await;
    let state = done.map_err(|error| ErrorCode::IO.with(error.to_string()))??;
    Ok(Reply::ok(codec::encode(&state)))
}

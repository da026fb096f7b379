// SPDX-License-Identifier: Apache-2.0

//! `Goodbye`: a service stops in an orderly way. Of a run that is not the current one it means nothing any more.

use crate::core::Core;
use crate::liveness::declare;
use nyala_cluster::ClusterError;
use nyala_wire::NodeId;
use nyala_wire::error::WireError;
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::MgmtReply;

use crate::core::Refusal;

pub(super) async fn handle(core: &Core, node: NodeId, incarnation: u64) -> Result<MgmtReply, WireError> {
    // Before the change: a heartbeat that arrives late must not undo it.
    core.liveness.lock().detector.dead(node, incarnation);
    match declare(core, node, incarnation, Reachability::Offline).await {
        Ok(()) | Err(Refusal::Cluster(ClusterError::NoNode { .. })) => Ok(MgmtReply::Done),
        Err(error) => Err(error.into()),
    }
}

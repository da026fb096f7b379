// SPDX-License-Identifier: Apache-2.0

//! `Goodbye`: a service stops in an orderly way. Of a run that is not the current one it means nothing any more.

use crate::core::{Core, Refusal};
use nyala_cluster::{ClusterError, Command};
use nyala_wire::NodeId;
use nyala_wire::error::WireError;
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::MgmtReply;

pub(super) async fn handle(core: &Core, node: NodeId, incarnation: u64) -> Result<MgmtReply, WireError> {
    core.leader.lock().goodbye(node, incarnation);
    let offline = Command::SetReachability { node, incarnation, reachability: Reachability::Offline };
    match core.propose(offline).await {
        Ok(_) | Err(Refusal::Cluster(ClusterError::NoNode { .. })) => Ok(MgmtReply::Done),
        Err(error) => Err(error.into()),
    }
}

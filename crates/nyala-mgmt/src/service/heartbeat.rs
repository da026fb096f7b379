// SPDX-License-Identifier: Apache-2.0

//! `Heartbeat`: a service is alive and gets its lease renewed. Touches memory only.

use crate::core::Core;
use crate::counters::count;
use nyala_cluster::group::fence::Grant;
use nyala_transport::member::monotonic_ms;
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::{Heartbeat, MgmtReply};

pub(super) fn handle(core: &Core, heartbeat: &Heartbeat, connection: u64) -> Result<MgmtReply, WireError> {
    count(&core.counters.heartbeats);
    let state = core.view.state();
    let unknown = || ErrorCode::NOT_FOUND.with(format!("node {} is not registered; register again", heartbeat.node));
    let node = state.node(heartbeat.node).ok_or_else(unknown)?;
    if node.incarnation != heartbeat.incarnation {
        return Err(ErrorCode::STALE.with(format!("another run of node {} has registered", heartbeat.node)));
    }
    let mine = |target| state.target(target).is_some_and(|t| t.node == node.id);
    let capacities: Vec<_> = heartbeat.capacities.iter().filter(|c| mine(c.target)).copied().collect();
    let grant = {
        let mut liveness = core.liveness.lock();
        liveness.heard(node.id, heartbeat.incarnation, &capacities, monotonic_ms());
        liveness.heard_over(node.id, heartbeat.incarnation, connection);
        liveness.grant(&state, heartbeat)
    };
    if node.reachability != Reachability::Online || state.groups.iter().any(|group| !group.fencing.is_empty()) {
        core.look.notify_one();
    }
    let down = || ErrorCode::NOT_READY.with("this run is called offline; no lease until that is taken back");
    let Grant { lease_ms, map_version } = grant.ok_or_else(down)?;
    Ok(MgmtReply::Lease { lease_ms, map_version })
}

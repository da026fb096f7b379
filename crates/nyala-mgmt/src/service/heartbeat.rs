// SPDX-License-Identifier: Apache-2.0

//! `Heartbeat`: a service is alive and gets its lease renewed. Touches memory only.

use crate::core::Core;
use crate::counters::count;
use nyala_cluster::leader::NoLease;
use nyala_cluster::lease_ledger::Grant;
use nyala_transport::member::monotonic_ms;
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{Heartbeat, MgmtReply};

pub(super) fn handle(core: &Core, heartbeat: &Heartbeat, connection: u64) -> Result<MgmtReply, WireError> {
    count(&core.counters.heartbeats);
    // The state is read under the lock: an older one may not have a verdict whose outcome is known to the leader's state.
    let answer = core.leader.lock().heartbeat(&core.view.state(), heartbeat, connection, monotonic_ms());
    if answer.look {
        core.look.notify_one();
    }
    let node = heartbeat.node;
    match answer.lease {
        Ok(Grant { lease_ms, map_version }) => Ok(MgmtReply::Lease { lease_ms, map_version }),
        Err(NoLease::Unknown) => {
            Err(ErrorCode::NOT_FOUND.with(format!("node {node} is not registered; register again")))
        }
        Err(NoLease::Superseded) => Err(ErrorCode::STALE.with(format!("another run of node {node} has registered"))),
        Err(NoLease::Offline) => {
            Err(ErrorCode::NOT_READY.with("this run is called offline; no lease until that is taken back"))
        }
    }
}

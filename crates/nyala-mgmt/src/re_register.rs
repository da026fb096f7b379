// SPDX-License-Identifier: Apache-2.0

//! A node that does not lead makes itself known to the one that does: after its start (its address may be new), as long as
//! it has no vote, and when it has not heard of a leader for a while.
//!
//! **Failure model.** Raft does not tell a node that it was removed: its peers just fall silent, which is also what a cut
//! network looks like. So it asks, by the way that clients use; only the leader's explicit word ends it. Everything may be
//! asked again.

use crate::MgmtError;
use crate::core::Core;
use crate::leadership::Bootstrap;
use nyala_transport::member::{MgmtClient, MgmtError as Asked};
use nyala_wire::mgmt::{JoinMgmt, MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, NodeId};
use openraft::ServerState;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// Between looks.
const PAUSE: Duration = Duration::from_millis(200);
/// After this time without a leader it asks what is going on.
const LONELY: Duration = Duration::from_millis(1500);

/// Runs for ever, or until the cluster does not want this node.
pub(crate) async fn stay_known(core: &Core, bootstrap: &Bootstrap, client: &MgmtClient) -> MgmtError {
    let identity = &bootstrap.identity;
    let request = MgmtRequest::JoinMgmt(JoinMgmt {
        cluster: identity.cluster,
        uuid: identity.uuid,
        addresses: bootstrap.addresses.iter().map(ToString::to_string).collect(),
        incarnation: bootstrap.incarnation,
        node: NodeId(u32::try_from(identity.node_id).unwrap_or_default()),
    });
    let mut announced = false;
    let mut company = Instant::now();
    loop {
        tokio::time::sleep(PAUSE).await;
        let (leads, registered, led, votes) = {
            let metrics = core.raft.metrics();
            let metrics = metrics.borrow();
            let votes = metrics.membership_config.voter_ids().any(|id| id == core.me);
            let leads = metrics.state == ServerState::Leader;
            let registered = leads && core.leads_in.load(Ordering::Acquire) == metrics.current_term;
            (leads, registered, metrics.current_leader.is_some(), votes)
        };
        // A leader has registered itself when it has taken over: one that was started again takes itself for the leader that
        // it was until it hears of another. One that was removed steps down by itself and asks then.
        if leads || led && announced && votes {
            announced |= registered;
            company = Instant::now();
            continue;
        }
        if announced && votes && company.elapsed() < LONELY {
            continue;
        }
        client.learn(&core.view.map());
        match client.call(&request).await {
            Ok(MgmtReply::MgmtJoined { .. }) => announced = true,
            Ok(_) => tracing::warn!("the leader answers something else than what was asked"),
            Err(Asked::Refused(error)) if error.code == ErrorCode::REMOVED => {
                return MgmtError::Removed { node: identity.node_id, dir: bootstrap.dir.clone() };
            }
            Err(error @ Asked::Refused(_)) if !error.is_transient() => return MgmtError::NotTaken(error),
            Err(error) => tracing::debug!(%error, "not announced yet"),
        }
    }
}

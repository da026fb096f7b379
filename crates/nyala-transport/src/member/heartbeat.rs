// SPDX-License-Identifier: Apache-2.0

//! The task that renews a member's lease.

use super::client::MgmtError;
use super::clock::monotonic_ms;
use super::service::{State, register_once};
use nyala_wire::ErrorCode;
use nyala_wire::mgmt::{Heartbeat, MgmtReply, MgmtRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Beats until the task is aborted or the member is expelled.
pub(super) async fn run(state: Arc<State>) {
    let mut had_lease = true;
    loop {
        let settings = state.watch.current().settings.clone();
        let next = Instant::now() + Duration::from_millis(u64::from(settings.heartbeat_ms));
        // Several attempts must fit into a lease, and a node that hangs must not use it up alone.
        let each = Duration::from_millis(u64::from(settings.lease_ms / 4).max(1));
        let mut next = next;
        match beat(&state, each).await {
            Ok(()) => {}
            Err(MgmtError::Refused(error)) if matches!(error.code, ErrorCode::STALE | ErrorCode::NOT_FOUND) => {
                tracing::warn!(node = %state.node, %error, "management does not know this process; registering again");
                if !register_again(&state).await {
                    return;
                }
            }
            Err(error) => {
                tracing::debug!(node = %state.node, %error, "heartbeat not acknowledged");
                // Management elects a leader within a part of the lease; whoever then waits for the next beat may lose it.
                next = next.min(Instant::now() + Duration::from_millis(u64::from(settings.heartbeat_ms / 5).max(10)));
            }
        }
        let has_lease = state.lease.left_ms(monotonic_ms()) > 0;
        if has_lease != had_lease {
            had_lease = has_lease;
            let node = state.node;
            if has_lease {
                tracing::info!(%node, "the lease is renewed; serving again");
            } else {
                tracing::warn!(%node, "no lease: management did not answer in time; not serving until it does");
            }
        }
        tokio::time::sleep_until(next).await;
    }
}

async fn beat(state: &State, each: Duration) -> Result<(), MgmtError> {
    let request = MgmtRequest::Heartbeat(Heartbeat {
        node: state.node,
        incarnation: state.register.incarnation,
        map_version: state.acted_on(),
        capacities: (state.capacities)(),
    });
    let sent_ms = monotonic_ms();
    match state.client.call_within(&request, each).await? {
        MgmtReply::Lease { lease_ms, map_version } => {
            state.lease.renew(sent_ms, monotonic_ms(), lease_ms, map_version);
            state.watch.heard_of(map_version);
            Ok(())
        }
        _ => Err(MgmtError::UnexpectedReply),
    }
}

/// False if management will never take this process back.
async fn register_again(state: &State) -> bool {
    let error = match register_once(&state.client, &state.register).await {
        Ok((sent_ms, registered)) if registered.node == state.node && state.has_targets(&registered.targets) => {
            state.lease.renew(sent_ms, monotonic_ms(), registered.map.settings.lease_ms, registered.map.version);
            state.watch.offer(registered.map);
            return true;
        }
        Ok(_) => {
            ErrorCode::FOREIGN.with("management gives other ids than before; it lost its state; restart the service")
        }
        Err(MgmtError::Refused(error)) if !error.code.is_transient() => error,
        Err(error) => {
            tracing::debug!(%error, "registering again failed; trying later");
            return true;
        }
    };
    state.lease.end();
    tracing::error!(node = %state.node, %error, "management refuses this process for good");
    state.expelled.send_replace(Some(error));
    false
}

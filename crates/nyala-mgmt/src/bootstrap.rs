// SPDX-License-Identifier: Apache-2.0

//! How a node with an empty directory gets into a cluster: it asks the management nodes it was told of for its number, or
//! waits until an operator names them.
//!
//! **Failure model.** The others may be away, without a leader, or forget the answer on its way: asked again for ever; the
//! directory's identity makes that the same question each time, also after a restart. What no repetition helps against (a
//! wrong secret, five nodes already) ends the service with the reason.

use crate::MgmtError;
use nyala_transport::member::{MgmtClient, MgmtError as Asked};
use nyala_wire::mgmt::{JoinMgmt, MgmtReply, MgmtRequest};
use nyala_wire::{ClusterId, NodeId};
use std::net::SocketAddr;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(200);
/// One line is logged every so many attempts.
const ATTEMPTS_PER_LINE: u32 = 50;

/// Gets the cluster and the number.
pub(crate) async fn ask_number(
    client: &MgmtClient,
    uuid: ClusterId,
    addresses: &[SocketAddr],
    incarnation: u64,
) -> Result<(ClusterId, NodeId), MgmtError> {
    let request = MgmtRequest::JoinMgmt(JoinMgmt {
        cluster: ClusterId::UNKNOWN,
        uuid,
        addresses: addresses.iter().map(ToString::to_string).collect(),
        incarnation,
        node: NodeId(0),
    });
    let mut attempts = 0_u32;
    loop {
        match client.call(&request).await {
            Ok(MgmtReply::MgmtJoined { cluster, node }) if cluster != ClusterId::UNKNOWN && node.0 != 0 => {
                tracing::info!(%cluster, %node, "this management node has its number");
                return Ok((cluster, node));
            }
            Ok(_) => return Err(MgmtError::NotTaken(Asked::UnexpectedReply)),
            Err(error) if !error.is_transient() => return Err(MgmtError::NotTaken(error)),
            Err(error) => {
                if attempts.is_multiple_of(ATTEMPTS_PER_LINE) {
                    tracing::warn!(%error, "waiting for the cluster's management to join it");
                }
                attempts = attempts.wrapping_add(1);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

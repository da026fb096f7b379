// SPDX-License-Identifier: Apache-2.0

//! Waiting for a cluster before it is mounted.
//!
//! **Failure model.** Management or the metadata service of the root may be down, without a leader, or started a moment ago: they
//! are asked again for a while that has an end, and then the mount fails with what to look at. What is answered may be old
//! the moment after; the client finds out by itself.

use crate::exit::Failure;
use nyala_client::{Client, ClientConfig};
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role};
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{InodeId, MapVersion};
use std::time::{Duration, Instant};

/// How long a cluster that does not answer yet is asked again before the mount fails.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(10);

/// Asks management, and through it whether this is a cluster that can be mounted.
pub async fn probe(config: &ClientConfig) -> Result<(), Failure> {
    let handshake = HandshakeConfig::new(config.secret.clone(), 0, Role::Client, 0);
    let handshake = HandshakeConfig { encrypt: config.encrypt, ..handshake };
    let mgmt = MgmtClient::new(config.mgmt.clone(), handshake);
    let deadline = Instant::now() + CLUSTER_TIMEOUT;
    loop {
        let asked = mgmt.call_within(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }, CLUSTER_TIMEOUT).await;
        match asked {
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() && Instant::now() < deadline => {
                tracing::info!(%error, "waiting for the management service");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the root directory can be read. A metadata service that was started again answers nobody new before the clients of
/// before have said what they keep, and those that died with it are waited for until their sessions have timed out.
pub async fn await_root(client: &Client) -> Result<(), Failure> {
    let mut root = std::pin::pin!(client.getattr(InodeId::ROOT));
    if let Ok(found) = tokio::time::timeout(CLUSTER_TIMEOUT, &mut root).await {
        return Ok(found.map(drop)?);
    }
    let map = client.map();
    let target = map.slot_target(InodeId::ROOT.slot()).and_then(|server| map.server_target(server));
    if target.is_some_and(|target| target.reachability == Reachability::Online) {
        let longest = Duration::from_millis(map.settings.session_timeout_ms.into());
        tracing::warn!(
            ?longest,
            "the metadata service is up and does not answer yet: if it was started again, it waits for clients that were cut off"
        );
        if let Ok(found) = tokio::time::timeout(longest, &mut root).await {
            return Ok(found.map(drop)?);
        }
    }
    Err(Failure::unreachable("the metadata service of the root directory does not answer; see `nyala health check`"))
}

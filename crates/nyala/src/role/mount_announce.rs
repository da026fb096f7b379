// SPDX-License-Identifier: Apache-2.0

//! Says to management where this mount serves its metrics, so that monitoring finds it.
//!
//! **Failure model.** Management may be away, of an older version, or refuse the address: the mount goes on, and says it again. It is
//! logged once for each reason.

use nyala_client::ClientConfig;
use nyala_transport::member::MgmtClient;
use nyala_transport::{HandshakeConfig, Role};
use nyala_wire::mgmt::{MOUNT_KNOWN_S, MgmtRequest, MountAt};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

/// Pause between two announcements: a new leader of management knows all mounts after it.
const PAUSE: Duration = Duration::from_secs(MOUNT_KNOWN_S / 6);

/// For ever.
pub async fn make_known(config: ClientConfig, metrics: Option<SocketAddr>) -> Infallible {
    let Some(address) = metrics else { return std::future::pending().await };
    let handshake = HandshakeConfig::new(config.secret.clone(), 0, Role::Client, 0);
    let client = MgmtClient::new(config.mgmt.clone(), HandshakeConfig { encrypt: config.encrypt, ..handshake });
    let mount = MountAt { name: config.name.clone(), address: address.to_string() };
    let mut logged = String::new();
    loop {
        if let Err(error) = client.call(&MgmtRequest::AnnounceMount(mount.clone())).await {
            let why = error.to_string();
            if why != logged {
                tracing::warn!(%error, "management was not told where this mount's metrics are; monitoring does not see it");
                logged = why;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

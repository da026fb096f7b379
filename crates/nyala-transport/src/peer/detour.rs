// SPDX-License-Identifier: Apache-2.0

//! A connection to a peer through another server.
//!
//! **Failure model.** As of [`crate::path`]. Servers that do not answer, or do not get there, cost time: others are asked meanwhile.

use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::handshake::HandshakeConfig;
use crate::hello::Role;
use crate::path::tunnel;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Most servers that are asked to pass a connection on, one each interval.
const MOST_RELAYS: usize = 6;
const NEXT_RELAY: Duration = Duration::from_millis(150);
/// Least wait for a test of large packets, and at least so many times what connecting took.
const TEST: Duration = Duration::from_millis(600);
const TEST_TIMES: u32 = 3;
const MOST_TEST: Duration = Duration::from_secs(2);

/// To whom, and with what.
#[derive(Clone)]
pub(super) struct Detour {
    pub endpoint: Endpoint,
    pub config: HandshakeConfig,
    pub buffers: Buffers,
    pub news: Arc<Notify>,
}

impl Detour {
    /// Through the first of the other servers that gets there. Management nodes do not go around among themselves: a leader that
    /// reaches too few of them is to step down.
    pub(super) async fn find(&self) -> Option<Connection> {
        let config = &self.config;
        let mut relays = match config.role {
            Role::Mgmt => Vec::new(),
            _ => config.relays.around(&self.endpoint, MOST_RELAYS),
        };
        // The last one is asked first.
        relays.reverse();
        let mut asked: JoinSet<Option<Connection>> = JoinSet::new();
        loop {
            if let Some(relay) = relays.pop() {
                let peer = self.clone();
                asked.spawn(async move { peer.through(relay).await });
            }
            let pause = if relays.is_empty() { Duration::MAX } else { NEXT_RELAY };
            match tokio::time::timeout(pause, asked.join_next()).await {
                Ok(Some(Ok(Some(connection)))) => return Some(connection),
                Ok(None) if relays.is_empty() => return None,
                _ => {}
            }
        }
    }

    async fn through(&self, relay: Vec<SocketAddr>) -> Option<Connection> {
        let (config, began, by) = (&self.config, Instant::now(), relay.first().copied()?);
        let established = match tunnel::open(relay, &self.endpoint, config).await {
            Ok(established) => established,
            Err(error) => {
                tracing::debug!(%by, peer = ?self.endpoint.addresses, %error, "no way through another server");
                return None;
            }
        };
        let connection = Connection::over(established, config, self.buffers.clone(), self.news.clone());
        let carries = connection.carries_large(test_within(began.elapsed())).await;
        if carries {
            tracing::info!(%by, peer = ?self.endpoint.addresses, "a way through another server was found");
        }
        carries.then_some(connection)
    }
}

/// Wait for a test of large packets, by how long connecting took.
pub(super) fn test_within(connecting_took: Duration) -> Duration {
    (connecting_took * TEST_TIMES).clamp(TEST, MOST_TEST)
}

// SPDX-License-Identifier: Apache-2.0

//! One peer of a pool: its connections, and the way they take.
//!
//! **Failure model.** A peer can be down for milliseconds or days, and thousands of calls may want it at that moment.
//! One attempt serves all who wait, and all get its error; the next attempt comes no sooner than 50 ms later, doubling
//! to 1 s, with a random part so that clients of a restarted server do not come in step. Who calls in between waits for
//! that attempt, so a caller that simply retries is slowed down and needs no backoff of its own. A call is **never
//! repeated** here: only its sender knows whether that is safe. The peer may be well and the way to it not: [`crate::path`].

mod backoff;
mod connections;
mod connector;
mod detour;
mod watch;

use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::handshake::HandshakeConfig;
use crate::reach;
use crate::request::Request;
use backoff::LastAttempt;
use connections::Connections;
use connector::{AHEAD, Connector};
use nyala_wire::frame::Frame;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use watch::Watched;

/// A second connection is worth its cost when the least loaded one has so many calls under way.
const BUSY_CALLS: usize = 8;

/// One peer of a pool. Clones share its connections.
#[derive(Clone)]
pub struct Peer {
    watched: Arc<Watched>,
    last: Arc<Mutex<LastAttempt>>,
    most: usize,
}

impl Peer {
    pub(crate) fn new(endpoint: Endpoint, config: HandshakeConfig, buffers: Buffers, most: usize) -> Peer {
        let (news, preferred) = (Arc::default(), Arc::default());
        let connector = Connector { endpoint, config, buffers, news, preferred };
        let (connections, turn) = (Connections::default(), tokio::sync::Mutex::new(()));
        let watched = Arc::new(Watched { connector, connections, turn });
        Peer { watched, last: Arc::new(Mutex::new(LastAttempt::new())), most: most.max(1) }
    }

    /// Sends a request over the least loaded connection, connecting first if there is none. The request's timeout
    /// covers connecting as well.
    pub async fn call(&self, request: Request) -> Result<Frame, TransportError> {
        let Some(after) = request.timeout else { return self.call_untimed(request).await };
        let address = self.endpoint().addresses.first().copied().ok_or(TransportError::NoAddress)?;
        tokio::time::timeout(after, self.call_untimed(Request { timeout: None, ..request }))
            .await
            .unwrap_or(Err(TransportError::CallTimeout { address, after }))
    }

    async fn call_untimed(&self, request: Request) -> Result<Frame, TransportError> {
        self.connection().await?.call(request).await
    }

    /// The least loaded live connection, connecting first if there is none.
    pub async fn connection(&self) -> Result<Connection, TransportError> {
        match self.watched.connections.least_loaded() {
            Some((best, count)) => {
                if count < self.most && best.in_flight() >= BUSY_CALLS {
                    self.widen();
                }
                Ok(best)
            }
            // Rare, and large: callers' futures are to be small.
            None => Box::pin(self.connect()).await,
        }
    }

    /// Closes all connections; calls under way get `Disconnected`, the next call connects again.
    pub fn disconnect(&self) {
        self.watched.connections.close_all();
    }

    /// The endpoint it was made for.
    pub fn endpoint(&self) -> &Endpoint {
        &self.watched.connector.endpoint
    }

    /// Does a connection live right now?
    pub fn is_connected(&self) -> bool {
        self.watched.connections.any_alive()
    }

    /// Whether its host can be reached, whatever its service does: directly, or by a connection through another server.
    pub async fn is_reachable(&self) -> bool {
        reach::is_reachable(&self.endpoint().addresses).await || self.watched.connections.has_other_way()
    }

    /// Adds a connection in the background.
    fn widen(&self) {
        if self.watched.connections.route.lock().is_relayed() {
            return;
        }
        let peer = self.clone();
        tokio::spawn(async move {
            let Ok(_turn) = peer.watched.turn.try_lock() else { return };
            if Instant::now() >= peer.last.lock().next_at() {
                // A failure only means that the peer stays as wide as it is; it is recorded for the backoff.
                let _ = peer.attempt().await;
            }
        });
    }

    /// Waits for a turn; whoever waited while another tried takes over that one's outcome.
    async fn connect(&self) -> Result<Connection, TransportError> {
        let seen = self.last.lock().number();
        let _turn = self.watched.turn.lock().await;
        let next_at = {
            let last = self.last.lock();
            if let Some(error) = last.failed_since(seen) {
                return Err(error);
            }
            last.next_at()
        };
        if let Some((connection, _)) = self.watched.connections.least_loaded() {
            return Ok(connection);
        }
        tokio::time::sleep_until(next_at).await;
        self.attempt().await
    }

    /// One attempt that everybody waits for. The caller holds the turn.
    async fn attempt(&self) -> Result<Connection, TransportError> {
        let (watched, trial) = (&self.watched, self.watched.connections.trial());
        let ahead = if watched.connections.route.lock().is_relayed() { Duration::ZERO } else { AHEAD };
        let outcome = watched.connector.any_way(ahead, trial).await;
        self.last.lock().note(outcome.as_ref().err());
        let live = outcome?;
        let connection = live.connection.clone();
        watched.take(live);
        Ok(connection)
    }
}

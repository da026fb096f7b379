// SPDX-License-Identifier: Apache-2.0

//! Connections to every peer that somebody talks to: made when first needed, made again when lost.
//!
//! **Failure model.** A peer can be down for milliseconds or days, and thousands of calls may want it at that moment.
//! One attempt serves all who wait, and all get its error; the next attempt comes no sooner than 50 ms later, doubling
//! to 1 s, with a random part so that clients of a restarted server do not come in step. Who calls in between waits for
//! that attempt, so a caller that simply retries is slowed down and needs no backoff of its own. A call is **never
//! repeated** here: only its sender knows whether that is safe.

use crate::buffers::Buffers;
use crate::{Connection, HandshakeConfig, Request, TransportError};
use nyala_wire::frame::Frame;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// A second connection is worth its cost when the least loaded one has so many calls under way.
const BUSY_CALLS: usize = 8;

/// Where a peer can be reached, best address first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// All lead to the same service.
    pub addresses: Vec<SocketAddr>,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint { addresses: vec![address] }
    }
}

/// How a pool behaves.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Most connections per peer.
    pub connections_per_peer: usize,
    /// Payload buffers kept for later, bytes, for all peers together.
    pub kept_buffer_bytes: usize,
}

impl Default for PoolOptions {
    /// One connection per peer, 64 MiB of buffers.
    fn default() -> PoolOptions {
        PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 64 << 20 }
    }
}

/// All peers of a process or, better, of one core: the tasks of a connection run on the runtime that first called.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<PoolShared>,
}

struct PoolShared {
    config: HandshakeConfig,
    options: PoolOptions,
    buffers: Buffers,
    peers: Mutex<HashMap<Endpoint, Peer>>,
}

/// One peer of a pool. Clones share its connections.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<PeerShared>,
}

struct PeerShared {
    endpoint: Endpoint,
    config: HandshakeConfig,
    buffers: Buffers,
    most: usize,
    connections: Mutex<Vec<Connection>>,
    /// Index of the address that worked last.
    preferred: AtomicUsize,
    attempts: tokio::sync::Mutex<()>,
    last: Mutex<LastAttempt>,
}

struct LastAttempt {
    number: u64,
    failed: Option<TransportError>,
    next_at: Instant,
    backoff: Duration,
}

impl Pool {
    /// An empty pool.
    pub fn new(config: HandshakeConfig, options: PoolOptions) -> Pool {
        let buffers = Buffers::new(options.kept_buffer_bytes);
        Pool { shared: Arc::new(PoolShared { config, options, buffers, peers: Mutex::default() }) }
    }

    /// The peer at that endpoint. Does not connect yet.
    pub fn peer(&self, endpoint: &Endpoint) -> Peer {
        let mut peers = self.shared.peers.lock();
        if let Some(peer) = peers.get(endpoint) {
            return peer.clone();
        }
        let shared = PeerShared {
            endpoint: endpoint.clone(),
            config: self.shared.config.clone(),
            buffers: self.shared.buffers.clone(),
            most: self.shared.options.connections_per_peer.max(1),
            connections: Mutex::default(),
            preferred: AtomicUsize::new(0),
            attempts: tokio::sync::Mutex::new(()),
            last: Mutex::new(LastAttempt { number: 0, failed: None, next_at: Instant::now(), backoff: BACKOFF_MIN }),
        };
        let peer = Peer { shared: Arc::new(shared) };
        peers.insert(endpoint.clone(), peer.clone());
        peer
    }

    /// Sends a request to that endpoint; see [`Peer::call`].
    pub async fn call(&self, endpoint: &Endpoint, request: Request) -> Result<Frame, TransportError> {
        self.peer(endpoint).call(request).await
    }

    /// Closes the connections to that endpoint and forgets it, as when it left the cluster map.
    pub fn forget(&self, endpoint: &Endpoint) {
        if let Some(peer) = self.shared.peers.lock().remove(endpoint) {
            peer.disconnect();
        }
    }
}

impl Peer {
    /// Sends a request over the least loaded connection, connecting first if there is none. The request's timeout
    /// covers connecting as well.
    pub async fn call(&self, request: Request) -> Result<Frame, TransportError> {
        let Some(after) = request.timeout else { return self.call_untimed(request).await };
        let address = self.address()?;
        tokio::time::timeout(after, self.call_untimed(Request { timeout: None, ..request }))
            .await
            .unwrap_or(Err(TransportError::CallTimeout { address, after }))
    }

    async fn call_untimed(&self, request: Request) -> Result<Frame, TransportError> {
        self.connection().await?.call(request).await
    }

    /// The least loaded live connection, connecting first if there is none.
    pub async fn connection(&self) -> Result<Connection, TransportError> {
        let live = {
            let mut connections = self.shared.connections.lock();
            connections.retain(|connection| connection.dead().is_none());
            let best = connections.iter().min_by_key(|connection| connection.in_flight()).cloned();
            best.map(|best| (best, connections.len()))
        };
        match live {
            Some((best, count)) => {
                if count < self.shared.most && best.in_flight() >= BUSY_CALLS {
                    self.widen();
                }
                Ok(best)
            }
            None => self.connect().await,
        }
    }

    /// Closes all connections; calls under way get `Disconnected`, the next call connects again.
    pub fn disconnect(&self) {
        let connections = std::mem::take(&mut *self.shared.connections.lock());
        connections.iter().for_each(Connection::close);
    }

    /// The endpoint it was made for.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }

    /// Does a connection live right now?
    pub fn is_connected(&self) -> bool {
        self.shared.connections.lock().iter().any(|connection| connection.dead().is_none())
    }

    fn address(&self) -> Result<SocketAddr, TransportError> {
        self.shared.endpoint.addresses.first().copied().ok_or(TransportError::NoAddress)
    }

    /// Adds a connection in the background.
    fn widen(&self) {
        let peer = self.clone();
        tokio::spawn(async move {
            let Ok(_turn) = peer.shared.attempts.try_lock() else { return };
            if Instant::now() >= peer.shared.last.lock().next_at {
                // A failure only means that the peer stays as wide as it is; it is recorded for the backoff.
                let _ = peer.attempt().await;
            }
        });
    }

    /// Waits for a turn; whoever waited while another tried takes over that one's outcome.
    async fn connect(&self) -> Result<Connection, TransportError> {
        let seen = self.shared.last.lock().number;
        let _turn = self.shared.attempts.lock().await;
        let next_at = {
            let last = self.shared.last.lock();
            if last.number != seen
                && let Some(error) = &last.failed
            {
                return Err(error.clone());
            }
            last.next_at
        };
        let live = self.shared.connections.lock().iter().find(|c| c.dead().is_none()).cloned();
        if let Some(connection) = live {
            return Ok(connection);
        }
        tokio::time::sleep_until(next_at).await;
        self.attempt().await
    }

    /// Tries every address once, the one that worked last first. The caller holds the turn.
    async fn attempt(&self) -> Result<Connection, TransportError> {
        let addresses = &self.shared.endpoint.addresses;
        let preferred = self.shared.preferred.load(Ordering::Relaxed);
        let mut outcome = Err(TransportError::NoAddress);
        for step in 0..addresses.len() {
            let index = (preferred + step) % addresses.len();
            let next =
                Connection::connect_with(addresses[index], &self.shared.config, self.shared.buffers.clone()).await;
            match next {
                Ok(connection) => {
                    self.shared.preferred.store(index, Ordering::Relaxed);
                    self.shared.connections.lock().push(connection.clone());
                    outcome = Ok(connection);
                    break;
                }
                // One refusal says more than a silent address: it proves the process dead.
                Err(_) if matches!(outcome, Err(TransportError::ConnectRefused { .. })) => {}
                Err(error) => outcome = Err(error),
            }
        }
        self.shared.last.lock().note(outcome.as_ref().err());
        outcome
    }
}

impl LastAttempt {
    fn note(&mut self, failed: Option<&TransportError>) {
        self.number += 1;
        self.failed = failed.cloned();
        if failed.is_none() {
            self.backoff = BACKOFF_MIN;
            // A server that takes connections and drops them at once must not be hammered either.
            self.next_at = Instant::now() + BACKOFF_MIN / 5;
            return;
        }
        let mut random = [0; 2];
        // Without randomness clients come in step, which is slower but not wrong.
        let _ = getrandom::fill(&mut random);
        let part = u32::from(u16::from_le_bytes(random)) % 1024;
        self.next_at = Instant::now() + self.backoff - self.backoff / 4 * part / 1024;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn backoff_doubles_up_to_its_cap_and_starts_again() {
        let refused = TransportError::ConnectRefused { address: ([127, 0, 0, 1], 1).into() };
        let mut last = LastAttempt { number: 0, failed: None, next_at: Instant::now(), backoff: BACKOFF_MIN };
        for expected_ms in [50u64, 100, 200, 400, 800, 1000, 1000] {
            last.note(Some(&refused));
            let wait = last.next_at - Instant::now();
            let most = Duration::from_millis(expected_ms);
            assert!(wait <= most && wait > most * 7 / 10, "{wait:?} of {most:?}");
        }
        last.note(None);
        last.note(Some(&refused));
        assert!(last.next_at - Instant::now() <= BACKOFF_MIN);
    }
}

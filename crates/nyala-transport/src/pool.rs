// SPDX-License-Identifier: Apache-2.0

//! Connections to every peer that somebody talks to: made when first needed, made again when lost.
//!
//! **Failure model.** As of [`crate::peer`].

use crate::buffers::Buffers;
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::handshake::HandshakeConfig;
use crate::peer::Peer;
use crate::request::Request;
use nyala_wire::frame::Frame;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

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
        let PoolShared { config, options, buffers, .. } = &*self.shared;
        let peer = Peer::new(endpoint.clone(), config.clone(), buffers.clone(), options.connections_per_peer);
        peers.insert(endpoint.clone(), peer.clone());
        peer
    }

    /// Sends a request to that endpoint; see [`Peer::call`].
    pub async fn call(&self, endpoint: &Endpoint, request: Request) -> Result<Frame, TransportError> {
        self.peer(endpoint).call(request).await
    }

    /// Whether the host of that endpoint can be reached; see [`Peer::is_reachable`].
    pub async fn is_reachable(&self, endpoint: &Endpoint) -> bool {
        self.peer(endpoint).is_reachable().await
    }

    /// Closes the connections to that endpoint and forgets it, as when it left the cluster map.
    pub fn forget(&self, endpoint: &Endpoint) {
        if let Some(peer) = self.shared.peers.lock().remove(endpoint) {
            peer.disconnect();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Requests to whichever management node answers.

use crate::{Endpoint, HandshakeConfig, Peer, Pool, PoolOptions, Request, TransportError};
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, codec, message_type};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest wait for one management node's answer, unless the caller says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Why management did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MgmtError {
    /// None of the management nodes answered; the error is the most telling one.
    #[error("the management service does not answer: {0}")]
    Unreachable(TransportError),
    /// It answered that it will not.
    #[error("the management service refuses: {0}")]
    Refused(#[from] WireError),
    /// It answered something else than what was asked for.
    #[error("the management service gave an answer of another kind; is it of another version?")]
    UnexpectedReply,
}

impl MgmtError {
    /// Whether the same request can succeed later without anybody changing a configuration.
    pub fn is_transient(&self) -> bool {
        match self {
            MgmtError::Refused(error) => error.code.is_transient(),
            MgmtError::UnexpectedReply => false,
            MgmtError::Unreachable(error) => !matches!(
                error,
                TransportError::WrongSecret { .. }
                    | TransportError::WrongCluster { .. }
                    | TransportError::VersionMismatch { .. }
                    | TransportError::EncryptionMismatch { .. }
                    | TransportError::NoAddress
            ),
        }
    }
}

/// Sends requests to management. Clones share its connections.
#[derive(Clone)]
pub struct MgmtClient {
    shared: Arc<Shared>,
}

struct Shared {
    peers: Vec<Peer>,
    /// Index of the node that answered last.
    preferred: AtomicUsize,
}

impl MgmtClient {
    /// For the management nodes at these addresses. Does not connect yet.
    pub fn new(addresses: Vec<SocketAddr>, config: HandshakeConfig) -> MgmtClient {
        let pool = Pool::new(config, PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 0 });
        let peers = addresses.into_iter().map(|address| pool.peer(&Endpoint::from(address))).collect();
        MgmtClient { shared: Arc::new(Shared { peers, preferred: AtomicUsize::new(0) }) }
    }

    /// Asks one node after the other, the one that answered last first, until one does not say "try again".
    pub async fn call(&self, request: &MgmtRequest) -> Result<MgmtReply, MgmtError> {
        self.call_within(request, CALL_TIMEOUT).await
    }

    /// The same, with another longest wait for each node. The time that a `WatchMap` may wait is added to it.
    pub async fn call_within(&self, request: &MgmtRequest, each: Duration) -> Result<MgmtReply, MgmtError> {
        let waits = match request {
            MgmtRequest::WatchMap { wait_ms, .. } => Duration::from_millis(u64::from(*wait_ms)),
            _ => Duration::ZERO,
        };
        let body = bytes::Bytes::from(codec::encode(request));
        let first = self.shared.preferred.load(Ordering::Relaxed);
        let count = self.shared.peers.len();
        let mut outcome = Err(MgmtError::Unreachable(TransportError::NoAddress));
        for step in 0..count {
            let index = (first + step) % count;
            let request = Request::new(message_type::MGMT, body.clone()).with_timeout(each + waits);
            match ask(&self.shared.peers[index], request).await {
                Err(error) if error.is_transient() => {
                    if !matches!(outcome, Err(MgmtError::Refused(_))) {
                        outcome = Err(error);
                    }
                }
                Err(error @ MgmtError::Unreachable(_)) => outcome = Err(error),
                decided => {
                    self.shared.preferred.store(index, Ordering::Relaxed);
                    return decided;
                }
            }
        }
        outcome
    }
}

async fn ask(peer: &Peer, request: Request) -> Result<MgmtReply, MgmtError> {
    let frame = peer.call(request).await.map_err(MgmtError::Unreachable)?;
    if frame.header.is_error() {
        let error = codec::decode::<WireError>(&frame.body);
        return Err(error.unwrap_or_else(|_| ErrorCode::BAD_MESSAGE.with("an error that cannot be read")).into());
    }
    codec::decode(&frame.body).map_err(|_| MgmtError::UnexpectedReply)
}

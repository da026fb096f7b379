// SPDX-License-Identifier: Apache-2.0

//! Asks metadata servers where an entry is.
//!
//! **Failure model.** A metadata server may be away, fail over, move slots or be of an older version: it is asked again for a moment, and then it is said which one
//! does not answer, and why. Whoever looks may ask for anything, often: paths are bounded in length and depth, a few are followed at once, each for a few seconds at
//! most. Nothing is held at a server, and nothing changes there.

use super::logic::path::Walk;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErrorCode, WireError, codec, message_type};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// So many paths are followed at once.
const MAX_CONCURRENT: usize = 4;
/// Longest time for a path.
const MOST: Duration = Duration::from_secs(8);
/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(3);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
/// Payload buffers that are kept, bytes: answers have no payload.
const BUFFERS: usize = 64 << 10;

/// The way to metadata servers.
pub(crate) struct Locator {
    pool: Pool,
    places: Semaphore,
}

impl Locator {
    /// Connects when it is asked first.
    pub fn new(handshake: HandshakeConfig) -> Locator {
        let handshake = HandshakeConfig { connect_timeout: ANSWER, handshake_timeout: ANSWER, ..handshake };
        let options = PoolOptions { kept_buffer_bytes: BUFFERS, ..PoolOptions::default() };
        Locator { pool: Pool::new(handshake, options), places: Semaphore::new(MAX_CONCURRENT) }
    }

    /// What is at a path. `map`: the cluster as it is known here now.
    pub async fn find(&self, path: &str, map: impl Fn() -> Arc<ClusterMap>) -> Result<EntryInfo, WireError> {
        let mut walk = Walk::of(path)?;
        let deadline = Instant::now() + MOST;
        let busy = || ErrorCode::BUSY.with("other paths are being looked up; try again in a moment");
        // The semaphore is never closed.
        let _place = timeout_at(deadline, self.places.acquire()).await.map_err(|_| busy())?;
        loop {
            match self.ask(walk.asks(), &map, deadline).await {
                Err(error) => walk.refused(error)?,
                Ok(reply) => {
                    if let Some(info) = walk.hear(reply)? {
                        return Ok(info);
                    }
                }
            }
        }
    }

    async fn ask(
        &self,
        request: &LocateRequest,
        map: &impl Fn() -> Arc<ClusterMap>,
        deadline: Instant,
    ) -> Result<LocateReply, WireError> {
        loop {
            let failed = match self.try_once(request, &map()).await {
                Err(error) if error.code.is_transient() || error.code == ErrorCode::IO => error,
                outcome => return outcome,
            };
            if Instant::now() + PAUSE >= deadline {
                return Err(failed);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_once(&self, request: &LocateRequest, map: &ClusterMap) -> Result<LocateReply, WireError> {
        let slot = request.inode.slot();
        let server = map.slot_target(slot);
        let server = server.ok_or_else(|| ErrorCode::NOT_FOUND.with(format!("no metadata server has slot {slot}")))?;
        let away = |why: &str| ErrorCode::IO.with(format!("metadata target {server} does not answer: {why}"));
        let node = map.server_node(server).ok_or_else(|| away("no node serves it now"))?;
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        let asked = Request::new(message_type::META_LOCATE, codec::encode(request)).at(map.version.0, 0);
        let frame = self.pool.call(&endpoint, asked.with_timeout(ANSWER)).await;
        let frame = frame.map_err(|error| away(&error.to_string()))?;
        if !frame.is_error() {
            return codec::decode(&frame.body);
        }
        let error: WireError = codec::decode(&frame.body)?;
        if error.code == ErrorCode::UNKNOWN_MESSAGE {
            let what = format!(
                "the service of metadata target {server} is of an older version, which management cannot ask for paths"
            );
            return Err(error.code.with(what));
        }
        Err(error)
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The steps of a walk through a target, at a set rate. Failure model: see the parent module.

use crate::cluster::Cluster;
use crate::exit::Failure;
use nyala_client::Client;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::storage::{BLOCK_BYTES, MAX_IO_BYTES, StorageOp, StorageReply, StorageRequest};
use nyala_wire::walk::{PIECE_BYTES, WalkAt, WalkPiece};
use nyala_wire::{TargetId, WireError, codec, message_type};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for the answer to a step.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// A target that does not answer is asked again for so long.
const TARGET_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(300);

/// A way to the targets of a cluster.
pub struct Look {
    /// Knows the map, and whose a chunk file is.
    pub client: Client,
    /// Connections to its services.
    pub pool: Pool,
    /// Bytes that all walks have looked at.
    pub walked: AtomicU64,
}

/// Pieces of a target, one after the other.
pub struct Steps<'a> {
    look: &'a Look,
    target: TargetId,
    verify: bool,
    /// Bytes a second; 0 is as fast as it goes.
    rate: u64,
    next: Option<WalkAt>,
    pieces: VecDeque<WalkPiece>,
    began: Instant,
    /// Bytes that were looked at.
    pub bytes: u64,
}

impl Look {
    /// Connects, to look only.
    pub async fn at(cluster: &Cluster) -> Result<Look, Failure> {
        Ok(Look::with(cluster.client().await?, cluster))
    }

    /// Connects, to remove what nobody needs as well.
    pub async fn to_remove(cluster: &Cluster) -> Result<Look, Failure> {
        Ok(Look::with(cluster.leasing_client().await?, cluster))
    }

    fn with(client: Client, cluster: &Cluster) -> Look {
        let pool = Pool::new(cluster.handshake(), PoolOptions::default());
        Look { client, pool, walked: AtomicU64::new(0) }
    }

    /// All pieces of a target.
    pub fn walk(&self, target: TargetId, verify: bool, rate: u64) -> Steps<'_> {
        let (next, pieces) = (Some(WalkAt::default()), VecDeque::new());
        Steps { look: self, target, verify, rate, next, pieces, began: Instant::now(), bytes: 0 }
    }

    /// A piece as it is now; one without data if there is none.
    pub async fn again(&self, target: TargetId, at: WalkAt, verify: bool) -> Result<WalkPiece, Failure> {
        let (pieces, _) = self.step(target, at, 0, verify).await?;
        Ok(pieces.into_iter().find(|piece| piece.at == at).unwrap_or_else(|| WalkPiece::empty(at)))
    }

    async fn step(
        &self,
        target: TargetId,
        at: WalkAt,
        bytes: u32,
        verify: bool,
    ) -> Result<(Vec<WalkPiece>, Option<WalkAt>), Failure> {
        let began = Instant::now();
        let op = StorageOp::Walk { offset: at.offset, bytes, verify };
        let body = codec::encode(&StorageRequest::new(target, at.file, op));
        loop {
            let map = self.client.map();
            let endpoint = map.node_of(target).map(|node| Endpoint { addresses: node.addresses.clone() });
            let endpoint = endpoint.ok_or_else(|| Failure::failed(format!("there is no storage target {target}")))?;
            let request =
                Request::new(message_type::STORAGE, body.clone()).at(map.version.0, 0).with_timeout(STEP_TIMEOUT);
            let failure = match self.pool.call(&endpoint, request).await {
                Ok(frame) if !frame.is_error() => match codec::decode(&frame.body)? {
                    StorageReply::Walked { pieces, next } => return Ok((pieces, next)),
                    _ => return Err(Failure::failed(format!("storage target {target} answers something else"))),
                },
                Ok(frame) => {
                    let error: WireError = codec::decode(&frame.body)?;
                    let again = error.code.is_transient();
                    let failure = Failure::from(error);
                    if !again {
                        return Err(failure);
                    }
                    failure
                }
                Err(error) => Failure::from(error),
            };
            if began.elapsed() >= TARGET_TIMEOUT {
                return Err(failure);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Steps<'_> {
    /// The next piece without taking it; absent at the end.
    pub async fn peek(&mut self) -> Result<Option<&WalkPiece>, Failure> {
        while let (true, Some(at)) = (self.pieces.is_empty(), self.next) {
            let due = self.due();
            tokio::time::sleep_until((self.began + due).into()).await;
            let (pieces, next) = self.look.step(self.target, at, self.bytes_of_a_step(), self.verify).await?;
            self.next = next.filter(|next| *next > at);
            let present = |piece: &WalkPiece| u64::from(piece.present.count_ones()) * BLOCK_BYTES;
            let bytes = pieces.iter().map(present).sum::<u64>();
            self.bytes += bytes;
            self.look.walked.fetch_add(bytes, Ordering::Relaxed);
            self.pieces.extend(pieces);
        }
        Ok(self.pieces.front())
    }

    /// The next piece.
    pub async fn take(&mut self) -> Result<Option<WalkPiece>, Failure> {
        self.peek().await?;
        Ok(self.pieces.pop_front())
    }

    /// When as much as was looked at is due, from the beginning.
    fn due(&self) -> Duration {
        if self.rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(self.bytes as f64 / self.rate as f64) }
    }

    /// A slow walk takes small steps instead of long rests.
    fn bytes_of_a_step(&self) -> u32 {
        match self.rate {
            0 => MAX_IO_BYTES,
            rate => (rate / 4).clamp(PIECE_BYTES, u64::from(MAX_IO_BYTES)) as u32,
        }
    }
}

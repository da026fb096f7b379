// SPDX-License-Identifier: Apache-2.0

//! One idle session: what a client sends that does nothing.
//!
//! **Failure model.** See [`super::idle`]. A connection may be lost, also on one machine, whose kernel drops packets when very many connections
//! send at once: what was asked is asked again over another one, as a client does it, and counted. What a server refuses, or nobody answers
//! in time, is the session's end, and said.

use super::idle::Ground;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::meta::{Grants, MetaOp, MetaReply, MetaRequest, Owner, SessionReply, Want};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{SessionId, Time, message_type};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Longest wait for an answer, beside what a standing question waits.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Before what failed is asked again for the first time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How long management is asked to wait with a map.
const WATCH: Duration = Duration::from_secs(20);

/// One session.
pub struct One {
    ground: Arc<Ground>,
    pool: Pool,
    id: SessionId,
}

impl One {
    /// Connects to every service and opens a session with each metadata server; after what silence they end it.
    pub async fn open(ground: Arc<Ground>) -> Result<(Arc<One>, Duration), String> {
        let id = SessionId(getrandom::u64().map_err(|error| error.to_string())?.max(1));
        let pool = Pool::new(ground.handshake.clone(), PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 0 });
        let one = Arc::new(One { ground: ground.clone(), pool, id });
        let _turn = ground.door.acquire().await.map_err(|error| error.to_string())?;
        let mut timeout = Duration::MAX;
        for meta in &ground.meta {
            timeout = timeout.min(Duration::from_millis(one.greet(meta).await?.timeout_ms.into()));
        }
        for storage in &ground.storage {
            one.call(storage, Request::new(message_type::PING, Vec::new()), Duration::ZERO).await?;
        }
        Ok((one, timeout))
    }

    /// Goes on until something fails.
    pub async fn hold(self: &Arc<One>, timeout: Duration) -> Result<(), String> {
        let mut parts = JoinSet::new();
        for number in 0..self.ground.meta.len() {
            let one = self.clone();
            parts.spawn(async move { one.answer_revocations(number).await });
            let one = self.clone();
            parts.spawn(async move {
                loop {
                    tokio::time::sleep(timeout / 3).await;
                    one.greet(&one.ground.meta[number]).await?;
                }
            });
        }
        let one = self.clone();
        parts.spawn(async move { one.watch_map().await });
        match parts.join_next().await {
            Some(Ok(result)) => result,
            _ => Err("a part of the session died".to_owned()),
        }
    }

    async fn answer_revocations(&self, number: usize) -> Result<(), String> {
        let meta = &self.ground.meta[number];
        let boot = self.greet(meta).await?.boot;
        loop {
            // It was granted nothing, so there is nothing to give back.
            self.meta(meta, MetaOp::DelegationPoll { boot, kept: Vec::new(), moving: Vec::new() }).await?;
        }
    }

    async fn watch_map(&self) -> Result<(), String> {
        loop {
            let watch = MgmtRequest::WatchMap { have: self.ground.map, wait_ms: WATCH.as_millis() as u32 };
            self.call(&self.ground.mgmt, Request::new(message_type::MGMT, encode(&watch)), WATCH).await?;
        }
    }

    async fn greet(&self, meta: &Endpoint) -> Result<SessionReply, String> {
        match self.meta(meta, MetaOp::SessionOpen { client: "nyala bench sessions".to_owned() }).await? {
            MetaReply::Session(reply) => Ok(reply),
            _ => Err("a metadata server answered something else than was asked".to_owned()),
        }
    }

    async fn meta(&self, to: &Endpoint, op: MetaOp) -> Result<MetaReply, String> {
        let (now, want) = (Time::default(), Want::NOTHING);
        let owner = Owner::default();
        let request = MetaRequest {
            session: self.id,
            sequence: 0,
            acked_below: 0,
            owner,
            now,
            op,
            want,
            caller: None,
            user: None,
        };
        let request = Request::new(message_type::META, encode(&request)).at(self.ground.map.0, 0);
        let body = self.call(to, request, WATCH).await?;
        let (_, rest) = Grants::split(&body).map_err(|error| error.to_string())?;
        decode(rest).map_err(|error| error.to_string())
    }

    async fn call(&self, to: &Endpoint, request: Request, wait: Duration) -> Result<Vec<u8>, String> {
        let (until, mut pause) = (Instant::now() + REPLY_TIMEOUT + wait, FIRST_PAUSE);
        let frame = loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.pool.call(to, request.clone().with_timeout(left)).await {
                Ok(frame) => break frame,
                Err(error) if left <= pause => return Err(error.to_string()),
                Err(_) => {
                    self.ground.again.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            }
        };
        if frame.is_error() {
            return Err(decode::<nyala_wire::WireError>(&frame.body).map_or_else(|e| e.to_string(), |e| e.to_string()));
        }
        Ok(frame.body.to_vec())
    }
}

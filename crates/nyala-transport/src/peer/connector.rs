// SPDX-License-Identifier: Apache-2.0

//! Making a connection: directly, and through other servers where that takes too long.
//!
//! **Failure model.** As of [`crate::path`]. One refusal says more than a silent address: it proves the process dead, and no other way is
//! tried. A peer that was suspect proves itself before it is used ([`Connection::carries_large`]).

use super::detour::{Detour, test_within};
use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::handshake::{self, HandshakeConfig};
use crate::path::route::{Trial, Way};
use crate::socket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A peer that was well is tried directly for so long before others are asked.
pub(super) const AHEAD: Duration = Duration::from_millis(400);

/// A connection and how it gets there.
#[derive(Clone)]
pub(super) struct Live {
    pub connection: Connection,
    pub way: Way,
}

/// Makes connections to one peer.
#[derive(Clone)]
pub(super) struct Connector {
    pub endpoint: Endpoint,
    pub config: HandshakeConfig,
    pub buffers: Buffers,
    /// Told when a connection is stuck or dead.
    pub news: Arc<Notify>,
    /// Index of the address that worked last.
    pub preferred: Arc<AtomicUsize>,
}

impl Connector {
    /// Directly, and `ahead` later through other servers as well: the first that works.
    pub(super) async fn any_way(&self, ahead: Duration, trial: Trial) -> Result<Live, TransportError> {
        let mut direct = std::pin::pin!(self.direct(trial));
        let around = async {
            tokio::time::sleep(ahead).await;
            self.around().await
        };
        let mut around = std::pin::pin!(around);
        let (mut failed, mut none) = (None, false);
        loop {
            if let Some(error) = failed.take_if(|_| none) {
                return Err(error);
            }
            tokio::select! {
                made = &mut direct, if failed.is_none() => match made {
                    Err(error) if !matches!(error, TransportError::ConnectRefused { .. }) => failed = Some(error),
                    other => return other,
                },
                made = &mut around, if !none => match made {
                    Some(made) => return Ok(made),
                    None => none = true,
                },
            }
        }
    }

    /// Tries every address once, the one that worked last first.
    pub(super) async fn direct(&self, trial: Trial) -> Result<Live, TransportError> {
        let addresses = &self.endpoint.addresses;
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut outcome = Err(TransportError::NoAddress);
        for step in 0..addresses.len() {
            let index = (preferred + step) % addresses.len();
            match self.direct_to(addresses[index], &trial).await {
                Ok(live) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(live);
                }
                Err(_) if matches!(outcome, Err(TransportError::ConnectRefused { .. })) => {}
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// With segments that get smaller, until a test gets through.
    async fn direct_to(&self, address: SocketAddr, trial: &Trial) -> Result<Live, TransportError> {
        for segment in trial.segments.iter().copied() {
            let (connection, took) = self.connect_to(address, segment).await?;
            if !trial.tested || connection.carries_large(test_within(took)).await {
                if segment.is_some() {
                    tracing::info!(%address, segment, "large packets get lost on the way; small ones are sent");
                }
                return Ok(Live { connection, way: Way::Direct(segment) });
            }
        }
        Err(TransportError::Connect { address, reason: "it greets, and anything longer gets lost".to_owned() })
    }

    /// And how long it took.
    pub(super) async fn connect_to(
        &self,
        address: SocketAddr,
        segment: Option<u16>,
    ) -> Result<(Connection, Duration), TransportError> {
        let (config, began) = (&self.config, Instant::now());
        let attempt = async |config: HandshakeConfig| {
            let stream = socket::connect(address, config.connect_timeout, config.dead_after, segment).await?;
            handshake::connect(stream, address, &config, false).await
        };
        let established = handshake::with_keys(config, attempt).await?;
        let connection = Connection::over(established, config, self.buffers.clone(), self.news.clone());
        Ok((connection, began.elapsed()))
    }

    async fn around(&self) -> Option<Live> {
        let (endpoint, config) = (self.endpoint.clone(), self.config.clone());
        let detour = Detour { endpoint, config, buffers: self.buffers.clone(), news: self.news.clone() };
        detour.find().await.map(|connection| Live { connection, way: Way::Relayed })
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Asks one service or mount for its page of metrics.
//!
//! **Failure model.** It may be away, hang, be of an older version that does not say its figures, or send a page that is none: it is said
//! which. A connection that failed is not used again.

use crate::http::{self, Ask};
use crate::logic::pick::{Before, pick};
use crate::logic::series::Key;
use crate::url::{Url, UrlError};
use hyper::Method;
use nyala_metrics::catalog::Source;
use nyala_metrics::parse::parse;
use nyala_transport::{Connection, Frame, HandshakeConfig, Request};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{codec, message_type};
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for one of them.
pub const ANSWER: Duration = Duration::from_secs(3);
/// Longest page, bytes.
const LONGEST_PAGE: usize = 8 << 20;

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// What it is.
    pub service: Source,
    /// Alias of the node, or `host:/mount/point`.
    pub name: String,
}

/// Somebody who is asked again and again.
pub struct Asked {
    /// Its addresses.
    pub at: Vec<SocketAddr>,
    connection: Option<Connection>,
    before: Before,
}

impl Asked {
    /// At these addresses. Does not connect yet.
    pub fn at(at: Vec<SocketAddr>) -> Asked {
        Asked { at, connection: None, before: Before::default() }
    }

    /// Its connection is not used again.
    pub fn hang_up(&mut self) {
        self.connection = None;
    }

    /// What a service says of itself, without what it counts of clients and users; nothing for a mount.
    pub async fn stats(
        &mut self,
        instance: &Instance,
        handshake: &HandshakeConfig,
    ) -> Result<Option<ServiceStats>, String> {
        if instance.service == Source::Mount {
            return Ok(None);
        }
        let reply = call(connected(self, handshake).await?, message_type::STATS).await?;
        let mut stats: ServiceStats = codec::decode(&reply.body).map_err(|error| error.to_string())?;
        stats.counters.retain(|(name, _)| !name.starts_with("client.") && !name.starts_with("user."));
        Ok(Some(stats))
    }

    /// The numbers of its page.
    pub async fn sample(
        &mut self,
        instance: &Instance,
        handshake: &HandshakeConfig,
    ) -> Result<Vec<(Key, i64)>, String> {
        let page = match instance.service {
            Source::Mount => over_http(&self.at).await?,
            _ => over_connection(self, handshake).await?,
        };
        let families = parse(&page).map_err(|error| format!("its page of metrics: {error}"))?;
        Ok(pick(instance.service, &instance.name, &families, &mut self.before))
    }
}

async fn over_connection(asked: &mut Asked, handshake: &HandshakeConfig) -> Result<String, String> {
    let connection = connected(asked, handshake).await?;
    let reply = call(connection, message_type::METRICS).await?;
    String::from_utf8(reply.payload.to_vec()).map_err(|_| "its page of metrics is no text".to_owned())
}

async fn connected<'a>(asked: &'a mut Asked, handshake: &HandshakeConfig) -> Result<&'a Connection, String> {
    let mut failed = "it has no address".to_owned();
    if asked.connection.as_ref().is_none_or(|connection| connection.dead().is_some()) {
        asked.connection = None;
        for address in &asked.at {
            match Connection::connect(*address, handshake).await {
                Ok(connection) => {
                    asked.connection = Some(connection);
                    break;
                }
                Err(error) => failed = error.to_string(),
            }
        }
    }
    asked.connection.as_ref().ok_or(failed)
}

async fn call(connection: &Connection, message: u16) -> Result<Frame, String> {
    let request = Request::new(message, Vec::new()).with_timeout(ANSWER);
    let reply = connection.call(request).await.map_err(|error| error.to_string())?;
    if reply.is_error() {
        let error: Result<nyala_wire::error::WireError, _> = codec::decode(&reply.body);
        return Err(error.map_or_else(|_| "an error without a reason".to_owned(), |error| error.message));
    }
    Ok(reply)
}

async fn over_http(at: &[SocketAddr]) -> Result<String, String> {
    let address = at.first().ok_or("it has no address")?;
    let url: Url = format!("http://{address}").parse().map_err(|error: UrlError| error.to_string())?;
    let ask = Ask {
        method: Method::GET,
        path: "/metrics",
        authorization: None,
        body: String::new(),
        content_type: http::TEXT,
        longest: LONGEST_PAGE,
        within: ANSWER,
    };
    match http::ask(&url, ask).await? {
        (200, page) => Ok(page),
        (status, said) => Err(format!("status {status}: {}", said.lines().next().unwrap_or_default())),
    }
}

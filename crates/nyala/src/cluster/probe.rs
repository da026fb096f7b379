// SPDX-License-Identifier: Apache-2.0

//! Asks one service whether it is there and how it is.
//!
//! **Failure model.** It may be gone, hang, or listen on some of its addresses only: each address is tried in order, with
//! a limit for each, and what each said is kept.

use crate::exit::Failure;
use nyala_transport::{Connection, HandshakeConfig, Request, TransportError};
use nyala_wire::map::Node;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::trace::{TraceReply, TraceRequest, TracedRequest};
use nyala_wire::{WireError, codec, message_type};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Services that are asked at once.
const ASKED_TOGETHER: usize = 64;
/// Longest wait for each step.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// What came of asking.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The address that answered, and how long it took, microseconds.
    pub reached: Option<(SocketAddr, u64)>,
    /// What the service says of itself.
    pub stats: Option<ServiceStats>,
    /// Addresses that did not answer, and why.
    pub failed: Vec<(SocketAddr, TransportError)>,
}

/// Asks a service at the first of its addresses that answers.
pub async fn ask_node(addresses: &[SocketAddr], handshake: &HandshakeConfig) -> Answer {
    let mut answer = Answer::default();
    let handshake =
        HandshakeConfig { connect_timeout: STEP_TIMEOUT, handshake_timeout: STEP_TIMEOUT, ..handshake.clone() };
    for address in addresses {
        match ask_address(*address, &handshake).await {
            Ok((micros, stats)) => {
                answer.reached = Some((*address, micros));
                answer.stats = stats;
                return answer;
            }
            Err(error) => answer.failed.push((*address, error)),
        }
    }
    answer
}

/// The same of many, in their order. Those that do not answer take their time, which does not add up.
pub async fn ask_nodes(nodes: &[&Node], handshake: &HandshakeConfig) -> Vec<Answer> {
    let mut answers = Vec::new();
    for some in nodes.chunks(ASKED_TOGETHER) {
        let ask = |node: &&Node| {
            let (addresses, handshake) = (node.addresses.clone(), handshake.clone());
            tokio::spawn(async move { ask_node(&addresses, &handshake).await })
        };
        let asked: Vec<_> = some.iter().map(ask).collect();
        for answer in asked {
            // A task that was lost has no answer.
            answers.push(answer.await.unwrap_or_default());
        }
    }
    answers
}

/// The page of metrics of the service at an address.
pub async fn metrics_page(address: SocketAddr, handshake: &HandshakeConfig) -> Result<String, Failure> {
    let handshake =
        HandshakeConfig { connect_timeout: STEP_TIMEOUT, handshake_timeout: STEP_TIMEOUT, ..handshake.clone() };
    let connection = Connection::connect(address, &handshake).await?;
    let request = Request::new(message_type::METRICS, Vec::new()).with_timeout(STEP_TIMEOUT);
    let reply = connection.call(request).await?;
    connection.close();
    if reply.is_error() {
        return Err(codec::decode::<WireError>(&reply.body).unwrap_or_else(|error| error).into());
    }
    String::from_utf8(reply.payload.to_vec()).map_err(|_| Failure::failed("its page of metrics is no text"))
}

/// What the service at the other side has recorded of a trace; nothing where it does not answer, or is of a version that records nothing.
pub async fn recorded(connection: &Connection, trace: u64) -> Vec<TracedRequest> {
    let body = codec::encode(&TraceRequest { trace });
    let reply = connection.call(Request::new(message_type::TRACE, body).with_timeout(STEP_TIMEOUT)).await;
    let reply = reply.ok().filter(|reply| !reply.is_error());
    reply.and_then(|reply| codec::decode::<TraceReply>(&reply.body).ok()).map_or_else(Vec::new, |reply| reply.requests)
}

async fn ask_address(
    address: SocketAddr,
    handshake: &HandshakeConfig,
) -> Result<(u64, Option<ServiceStats>), TransportError> {
    let connection = Connection::connect(address, handshake).await?;
    let request = |message_type| Request::new(message_type, Vec::new()).with_timeout(STEP_TIMEOUT);
    let sent = Instant::now();
    connection.call(request(message_type::PING)).await?;
    let micros = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
    let stats = connection.call(request(message_type::STATS)).await?;
    connection.close();
    let stats = if stats.is_error() { None } else { codec::decode(&stats.body).ok() };
    Ok((micros, stats))
}

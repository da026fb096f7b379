// SPDX-License-Identifier: Apache-2.0

//! Asks a service for a report of its host. Failure model: see [`super::hosts`].

use nyala_transport::{Connection, HandshakeConfig, Request};
use nyala_wire::host_report::{HostReportReply, HostReportRequest, MAX_REPORT_BYTES};
use nyala_wire::map::Node;
use nyala_wire::{WireError, codec, message_type};
use std::time::Duration;

/// Longest wait for a connection, and for one answer that takes no work.
pub const STEP: Duration = Duration::from_secs(3);
/// Longest wait for a report to be made: journald has its own limit.
const MAKE: Duration = Duration::from_secs(30);

/// How much of each host is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Newest bytes of each log.
    pub log_bytes: u64,
    /// Most bytes of a host, before they are compressed.
    pub most_bytes: u64,
}

/// A connection to a service, at the first of its addresses that answers.
pub async fn connect(node: &Node, handshake: &HandshakeConfig) -> Result<Connection, String> {
    let handshake = HandshakeConfig { connect_timeout: STEP, handshake_timeout: STEP, ..handshake.clone() };
    let mut failed = "it has no address".to_owned();
    for address in &node.addresses {
        match Connection::connect(*address, &handshake).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failed = error.to_string(),
        }
    }
    Err(failed)
}

/// One question, and its answer.
pub async fn ask(
    connection: &Connection,
    request: HostReportRequest,
    within: Duration,
) -> Result<(HostReportReply, Vec<u8>), String> {
    let request = Request::new(message_type::HOST_REPORT, codec::encode(&request)).with_timeout(within);
    let frame = connection.call(request).await.map_err(|error| error.to_string())?;
    let said = |error: WireError| error.to_string();
    if frame.is_error() {
        return Err(codec::decode::<WireError>(&frame.body).map_or_else(said, said));
    }
    Ok((codec::decode(&frame.body).map_err(said)?, frame.payload.to_vec()))
}

/// A whole report of the host of one service.
pub async fn report(node: &Node, handshake: &HandshakeConfig, share: Share) -> Result<Vec<u8>, String> {
    let connection = connect(node, handshake).await?;
    let Share { log_bytes, most_bytes } = share;
    let (made, _) = ask(&connection, HostReportRequest::Make { log_bytes, most_bytes }, MAKE).await?;
    // Compressed, it is no longer than the bytes in it and the list of them.
    if made.bytes > MAX_REPORT_BYTES {
        return Err("its report is longer than any may be".to_owned());
    }
    let mut report = Vec::new();
    while (report.len() as u64) < made.bytes {
        let piece = HostReportRequest::Piece { report: made.report, offset: report.len() as u64 };
        let (_, piece) = ask(&connection, piece, STEP).await?;
        if piece.is_empty() || (report.len() + piece.len()) as u64 > made.bytes {
            return Err("its report has another length than it says".to_owned());
        }
        report.extend_from_slice(&piece);
    }
    connection.close();
    Ok(report)
}

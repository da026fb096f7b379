// SPDX-License-Identifier: Apache-2.0

//! One question to a server: test your way to another one. Failure model: see the parent module.

use nyala_transport::{Connection, Request};
use nyala_tune::links::LinkFigures;
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::{ErrorCode, WireError, codec, message_type};
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for a server's answer, without the time for which it sends.
const ANSWER: Duration = Duration::from_secs(10);
/// A server that does as many tests as it can is asked again so often.
const BUSY_ASKED: usize = 20;
/// After so long.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How much is sent to measure the speed of one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpeedTest {
    /// Bytes at most; 0: speeds are not measured.
    pub bytes: u64,
    /// Time at most, milliseconds.
    pub within_ms: u32,
}

/// What a test found, to be judged.
pub(super) fn figures(reply: &LinkTestReply) -> LinkFigures {
    LinkFigures {
        local: reply.local.ip().to_string(),
        round_trip_us: reply.round_trip_us,
        mtu: reply.mtu,
        large: reply.large,
        bytes_per_s: (reply.sent_us > 0).then(|| reply.sent_bytes.saturating_mul(1_000_000) / reply.sent_us),
    }
}

/// Asks a server for one test; waits while it does others.
pub(super) async fn test(
    connection: &Connection,
    to: SocketAddr,
    speed: SpeedTest,
) -> Result<LinkTestReply, WireError> {
    let body = codec::encode(&LinkTestRequest { to, bytes: speed.bytes, within_ms: speed.within_ms });
    let within = ANSWER + Duration::from_millis(speed.within_ms.into());
    let mut asked = 0;
    loop {
        let request = Request::new(message_type::LINK_TEST, body.clone()).with_timeout(within);
        let reply = connection.call(request).await.map_err(|error| ErrorCode::NOT_READY.with(error.to_string()))?;
        if !reply.is_error() {
            return codec::decode(&reply.body);
        }
        let error: WireError = codec::decode(&reply.body)?;
        asked += 1;
        if error.code != ErrorCode::BUSY || asked == BUSY_ASKED {
            return Err(error);
        }
        tokio::time::sleep(BUSY_PAUSE).await;
    }
}

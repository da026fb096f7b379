// SPDX-License-Identifier: Apache-2.0

//! Measures the way to another server once, because an operator asks: whether it is reached, how large packets may be, how fast it is.
//!
//! **Failure model.** The other server may be gone, refuse the secret, or be unreachable: the operator gets that as an error within a few
//! seconds. Packets of full size may get lost on the way while small ones pass: then the large message does not come back, that is reported,
//! and nothing more is sent. A server that hangs looks the same, but does not answer the small messages before it either, which is an error.
//! Bytes and time are bounded whatever is asked, and so is the number of tests at once; only servers of the cluster are tested.

use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::error::TransportError;
use crate::handshake::{self, HandshakeConfig, PeerInfo, Role};
use crate::request::{Reply, Request};
use crate::{socket, tcp_option};
use bytes::Bytes;
use nyala_wire::frame::Frame;
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest, MAX_LINK_TEST_BYTES, MAX_LINK_TEST_MS};
use nyala_wire::relay::MAX_PATH_TEST;
use nyala_wire::{ErrorCode, WireError, codec, message_type};
use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Tests at once, of all cores of a server.
pub(crate) const MOST_AT_ONCE: usize = 4;
/// Longest wait for the other server's host, and for the handshake.
const CONNECT: Duration = Duration::from_millis(800);
/// Longest wait for a message to come back.
const COMES_BACK: Duration = Duration::from_millis(1500);
/// Small messages; the shortest round trip counts.
const SMALL: usize = 3;
/// Of one message that measures the speed, bytes. Far above [`MAX_PATH_TEST`], so that nothing comes back.
const PIECE: usize = 256 << 10;

/// Answers a LINK_TEST. `may` says which addresses are those of servers.
pub(crate) async fn answer(
    peer: &PeerInfo,
    request: &Frame,
    config: &HandshakeConfig,
    running: &Arc<Semaphore>,
    may: impl Fn(SocketAddr) -> bool,
) -> Reply {
    let measured = async {
        if peer.role != Role::Cli {
            return Err(ErrorCode::UNAUTHORIZED.with("only an operator's command may have links tested"));
        }
        let asked: LinkTestRequest = codec::decode(&request.body)?;
        if !may(asked.to) {
            return Err(ErrorCode::UNAUTHORIZED.with("that is no server of this cluster"));
        }
        let busy = |_| ErrorCode::BUSY.with("this server tests as many links as it can");
        let _running = running.try_acquire().map_err(busy)?;
        let not_reached = |error: TransportError| ErrorCode::NOT_READY.with(error.to_string());
        measure(&asked, config).await.map_err(not_reached)
    };
    match measured.await {
        Ok(reply) => Reply::ok(codec::encode::<LinkTestReply>(&reply)),
        Err(error) => Reply::error(codec::encode::<WireError>(&error)),
    }
}

async fn measure(asked: &LinkTestRequest, config: &HandshakeConfig) -> Result<LinkTestReply, TransportError> {
    let (connection, kernels, local) = connect(asked.to, config).await?;
    let mut round_trip = Duration::MAX;
    for _ in 0..SMALL {
        let began = Instant::now();
        send(&connection, Bytes::from_static(&[0]), COMES_BACK).await?;
        round_trip = round_trip.min(began.elapsed());
    }
    let large = send(&connection, Bytes::from_static(&[0; MAX_PATH_TEST]), COMES_BACK).await.is_ok();
    let within = Duration::from_millis(asked.within_ms.min(MAX_LINK_TEST_MS).into());
    let bytes = if large { asked.bytes.min(MAX_LINK_TEST_BYTES) } else { 0 };
    let (sent_bytes, took) = send_much(&connection, bytes, within).await;
    // By now the kernel knows of a smaller packet size on the way, if anybody on it says so.
    let sizes = tcp_option::packet_sizes(&kernels).unwrap_or_default();
    connection.close();
    Ok(LinkTestReply {
        local,
        round_trip_us: micros(round_trip),
        mtu: sizes.path_mtu,
        segment: sizes.segment,
        large,
        sent_bytes,
        sent_us: micros(took),
    })
}

/// A connection, its socket to look at, and the address that it goes out from.
async fn connect(
    to: SocketAddr,
    config: &HandshakeConfig,
) -> Result<(Connection, OwnedFd, SocketAddr), TransportError> {
    let config = HandshakeConfig { handshake_timeout: CONNECT, ..config.clone() };
    let attempt = async |config: HandshakeConfig| {
        let stream = socket::connect(to, CONNECT, config.dead_after, None).await?;
        handshake::connect(stream, to, &config, false).await
    };
    let established = handshake::with_keys(&config, attempt).await?;
    let lost = |error: std::io::Error| TransportError::Disconnected { address: to, reason: error.to_string() };
    let local = established.stream.local_addr().map_err(lost)?;
    let kernels = established.stream.as_fd().try_clone_to_owned().map_err(lost)?;
    Ok((Connection::over(established, &config, Buffers::new(0), Arc::default()), kernels, local))
}

async fn send(connection: &Connection, payload: Bytes, within: Duration) -> Result<(), TransportError> {
    let test = Request::new(message_type::PATH_TEST, Bytes::new()).with_payload(vec![payload]);
    connection.call(test.with_timeout(within)).await.map(drop)
}

/// Sends so many bytes, for so long at most; how many of them were answered, and when the last one was.
async fn send_much(connection: &Connection, bytes: u64, within: Duration) -> (u64, Duration) {
    let (left, done, last) = (Cell::new(bytes), Cell::new(0), Cell::new(Duration::ZERO));
    let (piece, began) = (Bytes::from(vec![0; PIECE]), Instant::now());
    let sender = async || {
        while left.get() > 0 && began.elapsed() < within {
            let len = left.get().min(PIECE as u64);
            left.set(left.get() - len);
            if send(connection, piece.slice(..len as usize), within + COMES_BACK).await.is_err() {
                return;
            }
            done.set(done.get() + len);
            last.set(began.elapsed());
        }
    };
    tokio::join!(sender(), sender(), sender(), sender());
    (done.get(), last.get())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

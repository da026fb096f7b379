// SPDX-License-Identifier: Apache-2.0

//! TCP sockets set up the way we want them.
//!
//! **Failure model.** A host can vanish without a word and a peer can stop reading: both end the connection (keepalive and
//! TCP_USER_TIMEOUT), so nobody holds memory for it for ever. Whoever connected waits for answers and finds out after
//! `dead_after` at the latest; whoever accepted only frees memory, and takes [`ACCEPTED`] times as long: thousands of idle clients must
//! not be asked by everybody every few seconds whether they are there. A port can be taken.

use crate::error::TransportError;
use crate::tcp_option;
use rustix::net::sockopt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// Whoever connected asks a silent peer's kernel after this time, and then twice as often: what a request under way waits for may
/// be lost on its way.
const IDLE: Duration = Duration::from_secs(2);

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// The accepting side's user timeout, as a multiple of the other one's.
const ACCEPTED: u32 = 6;

/// Sets an accepted socket up.
pub(crate) fn prepare_accepted(stream: &TcpStream, dead_after: Duration) -> std::io::Result<()> {
    let after = dead_after * ACCEPTED;
    // Silence must leave time for several questions: with a user timeout, Linux ends a connection that has been silent for so
    // long with the second one.
    prepare(stream, after / 2, after / 6, after)
}

/// Sets a socket up: asks after `idle` and then each `interval`, and gives up `after` the other side was last heard of.
/// Options that the system refuses are left; none is needed for correctness.
fn prepare(stream: &TcpStream, idle: Duration, interval: Duration, after: Duration) -> std::io::Result<()> {
    let second = Duration::from_secs(1);
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, idle.max(second))?;
    sockopt::set_tcp_keepintvl(stream, interval.max(second))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    sockopt::set_tcp_user_timeout(stream, u32::try_from(after.as_millis()).unwrap_or(u32::MAX))?;
    do_not_pace_within_a_host(stream);
    Ok(())
}

/// Congestion control that paces (`bbr`) lets a timer send what could be sent at once. Between hosts that is for the
/// machine's administrator to say; within a host there is no network to be kind to.
fn do_not_pace_within_a_host(stream: &TcpStream) {
    let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else { return };
    if here.ip() == there.ip() {
        // why ignored: it is only slower without. Cubic is a module of some kernels, reno is in all.
        let _ = sockopt::set_tcp_congestion(stream, "cubic").or_else(|_| sockopt::set_tcp_congestion(stream, "reno"));
    }
}

/// Connects. With a `segment`, neither side puts more bytes than that into a packet.
pub(crate) async fn connect(
    address: SocketAddr,
    within: Duration,
    dead_after: Duration,
    segment: Option<u16>,
) -> Result<TcpStream, TransportError> {
    // On one host a connection can be there at the first look, before any timeout.
    let connecting = match within.is_zero() {
        true => return Err(TransportError::ConnectTimeout { address, after: within }),
        false => tokio::time::timeout(within, start(address, segment)).await,
    };
    let stream = match connecting {
        Err(_) => return Err(TransportError::ConnectTimeout { address, after: within }),
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
            return Err(TransportError::ConnectRefused { address });
        }
        Ok(Err(error)) if error.kind() == ErrorKind::TimedOut => {
            return Err(TransportError::ConnectTimeout { address, after: within });
        }
        Ok(Err(error)) => return Err(TransportError::Connect { address, reason: error.to_string() }),
        Ok(Ok(stream)) => stream,
    };
    prepare(&stream, dead_after.min(IDLE), dead_after.min(IDLE) / 2, dead_after)
        .map_err(|e| TransportError::Connect { address, reason: e.to_string() })?;
    Ok(stream)
}

async fn start(address: SocketAddr, segment: Option<u16>) -> std::io::Result<TcpStream> {
    let Some(bytes) = segment else { return TcpStream::connect(address).await };
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    tcp_option::limit_segments(&socket, bytes)?;
    socket.connect(address).await
}

pub(crate) fn listen(address: SocketAddr) -> Result<std::net::TcpListener, TransportError> {
    let bind = || {
        let listener = std::net::TcpListener::bind(address)?;
        // Listening again only changes the backlog: the default of 128 drops clients that all come back at once.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bind().map_err(|error: std::io::Error| match error.kind() {
        ErrorKind::AddrInUse => TransportError::PortInUse { address },
        _ => TransportError::Bind { address, reason: error.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_paced_within_a_host_and_who_accepts_is_patient() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let time = Duration::from_secs(10);
        let client = connect(listener.local_addr().unwrap(), time, time, None).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        prepare_accepted(&server, time).unwrap();
        for end in [&client, &server] {
            let used = sockopt::tcp_congestion(end).unwrap();
            assert!(["cubic", "reno"].contains(&used.as_str()), "{used}");
        }
        let timeouts = [&client, &server].map(|end| sockopt::tcp_user_timeout(end).unwrap());
        assert_eq!(timeouts, [10_000, 60_000]);
        let silence = [&client, &server].map(|end| sockopt::tcp_keepidle(end).unwrap().as_secs());
        assert_eq!(silence, [2, 30], "whole seconds");
    }
}

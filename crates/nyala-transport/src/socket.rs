// SPDX-License-Identifier: Apache-2.0

//! TCP sockets set up the way we want them.
//!
//! **Failure model.** A host can vanish without a word and a peer can stop reading: both end the connection after
//! `dead_after` (keepalive and TCP_USER_TIMEOUT), so nobody holds memory for it for ever. A port can be taken.

use crate::TransportError;
use rustix::net::sockopt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Sets a connected socket up. Options that the system refuses are left; none is needed for correctness.
pub(crate) fn prepare(stream: &TcpStream, dead_after: Duration) -> std::io::Result<()> {
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    let third = (dead_after / 3).max(Duration::from_secs(1));
    sockopt::set_tcp_keepidle(stream, third)?;
    sockopt::set_tcp_keepintvl(stream, third)?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    sockopt::set_tcp_user_timeout(stream, u32::try_from(dead_after.as_millis()).unwrap_or(u32::MAX))?;
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

pub(crate) async fn connect(
    address: SocketAddr,
    within: Duration,
    dead_after: Duration,
) -> Result<TcpStream, TransportError> {
    let connecting = tokio::time::timeout(within, TcpStream::connect(address)).await;
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
    prepare(&stream, dead_after).map_err(|e| TransportError::Connect { address, reason: e.to_string() })?;
    Ok(stream)
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
    async fn nothing_is_paced_within_a_host() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let time = Duration::from_secs(10);
        let client = connect(listener.local_addr().unwrap(), time, time).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        prepare(&server, time).unwrap();
        for end in [&client, &server] {
            let used = sockopt::tcp_congestion(end).unwrap();
            assert!(["cubic", "reno"].contains(&used.as_str()), "{used}");
        }
    }
}

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
    Ok(())
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

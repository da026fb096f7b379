// SPDX-License-Identifier: Apache-2.0

//! A probe: whether a service's host refuses connections.
//!
//! **Failure model.** The host is down or the network swallows packets: no answer, which proves nothing. The process
//! hangs: the kernel still accepts for it, which proves nothing either. The process is dead: the host refuses. A packet
//! filter refuses too, in the host's name, for a process that lives: a refusal alone proves nothing ([`nyala_cluster::leader`]).

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_millis(500);

/// Whether a host of these addresses refuses the connection, and none accepts it.
pub(crate) async fn refuses(addresses: &[SocketAddr]) -> bool {
    let mut refused = false;
    for address in addresses {
        match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return false,
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => refused = true,
            Ok(Err(_)) | Err(_) => {}
        }
    }
    refused
}

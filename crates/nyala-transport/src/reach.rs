// SPDX-License-Identifier: Apache-2.0

//! Whether a host can be reached at all.
//!
//! **Failure model.** A call without an answer says little: the service may be slow, its disk stuck, its process stopped. The host's kernel takes
//! connections for it all the same; it takes none if packets get lost on the way there or on the way back. One lost packet is
//! sent again after a second, so a wait below that proves nothing.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Long enough for a packet that was lost to be sent once more.
pub const WITHIN: Duration = Duration::from_millis(1500);

/// Whether a host takes or refuses a connection at one of these addresses, in time ([`WITHIN`]).
pub async fn is_reachable(addresses: &[SocketAddr]) -> bool {
    let mut probes = JoinSet::new();
    for address in addresses.iter().copied() {
        probes.spawn(async move {
            match tokio::time::timeout(WITHIN, TcpStream::connect(address)).await {
                Ok(Ok(_)) => true,
                Ok(Err(error)) => error.kind() == ErrorKind::ConnectionRefused,
                Err(_) => false,
            }
        });
    }
    while let Some(probe) = probes.join_next().await {
        if probe.unwrap_or(false) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_listens_or_refuses_is_there_and_nobody_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(is_reachable(&[address]).await, "it need not be accepted");
        drop(listener);
        assert!(is_reachable(&[address]).await);
        assert!(!is_reachable(&[]).await);
    }
}

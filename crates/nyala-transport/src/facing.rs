// SPDX-License-Identifier: Apache-2.0

//! Which address of this host others can reach a service at that listens on all of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

/// The address to announce for a service that listens on `listen`: that one, or, if it means "all interfaces", the
/// address of the interface that leads to the first of `peers`, with the same port. Sends nothing.
pub fn facing(listen: SocketAddr, peers: &[SocketAddr]) -> SocketAddr {
    if !listen.ip().is_unspecified() {
        return listen;
    }
    let towards = |peer: &SocketAddr| -> std::io::Result<IpAddr> {
        let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        // Connecting a UDP socket only chooses the route.
        socket.connect(peer)?;
        Ok(socket.local_addr()?.ip())
    };
    let ip = peers.iter().find_map(|peer| towards(peer).ok()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_faces_loopback() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(facing(address("127.0.0.1:8005"), &[]), address("127.0.0.1:8005"));
        assert_eq!(facing(address("0.0.0.0:8005"), &[address("127.0.0.1:8008")]), address("127.0.0.1:8005"));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Chooses the address to advertise for a service that listens on all of them.
//!
//! **Failure model.** The host may have no network yet, or no default route: the next best address is taken. A loopback
//! address is advertised only where the host has nothing else, because every other host would find itself there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses of nobody (for documentation), to ask the kernel for the default route.
const ANYWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

/// The address to announce for a service that listens on `listen`: that one, or, if it means "all interfaces", the
/// address of the interface that leads to the first of `peers` on another host, else that of the default route, else any
/// that others can reach, with the same port. Sends nothing.
pub fn advertised_address(listen: SocketAddr, peers: &[SocketAddr]) -> SocketAddr {
    if !listen.ip().is_unspecified() {
        return listen;
    }
    let anywhere = ANYWHERE.map(|ip| SocketAddr::new(ip, 9));
    let routed = peers.iter().chain(&anywhere).filter_map(|peer| towards(peer).ok());
    let mine = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let fits = |ip: &IpAddr| is_reachable(ip) && (ip.is_ipv4() || listen.is_ipv6());
    let ip = routed.chain(local_addresses(&mine)).find(fits);
    SocketAddr::new(ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), listen.port())
}

/// The address of the interface that leads to `peer`.
fn towards(peer: &SocketAddr) -> std::io::Result<IpAddr> {
    let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    // Connecting a UDP socket only chooses the route.
    socket.connect(peer)?;
    Ok(socket.local_addr()?.ip())
}

/// Whether other hosts can have a way there.
fn is_reachable(ip: &IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        // Such an address means nothing without the name of an interface.
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || link_local)
}

/// This host's addresses, from the kernel's routing tables as text: the line after an address says that it is local.
fn local_addresses(fib_trie: &str) -> Vec<IpAddr> {
    let lines = fib_trie.lines().zip(fib_trie.lines().skip(1));
    let local = lines.filter(|(_, next)| next.trim() == "/32 host LOCAL");
    local.filter_map(|(line, _)| line.trim().strip_prefix("|-- ")?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_configured_is_advertised() {
        assert_eq!(advertised_address(address("127.0.0.1:8005"), &[]), address("127.0.0.1:8005"));
        assert_eq!(
            advertised_address(address("10.1.2.3:8005"), &[address("127.0.0.1:8008")]),
            address("10.1.2.3:8005")
        );
    }

    #[test]
    fn loopback_is_not_advertised_where_there_is_another_address() {
        let mine = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
        let others = local_addresses(&mine).iter().any(is_reachable);
        for peers in [vec![], vec![address("127.0.0.1:8008")]] {
            let chosen = advertised_address(address("0.0.0.0:8005"), &peers);
            assert_eq!((chosen.port(), chosen.ip().is_loopback()), (8005, !others), "{chosen}");
        }
    }

    #[test]
    fn addresses_are_found_in_the_routing_tables() {
        let text = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n        \
                    |-- 127.0.0.1\n              /32 host LOCAL\n     |-- 10.77.0.3\n        /32 host LOCAL\n";
        let found: Vec<String> = local_addresses(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.1", "10.77.0.3"]);
        assert!(local_addresses("").is_empty() && local_addresses("/32 host LOCAL").is_empty());
    }
}

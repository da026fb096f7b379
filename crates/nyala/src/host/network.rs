// SPDX-License-Identifier: Apache-2.0

//! Network interfaces, and how servers are reached by them.

use super::Root;
use crate::cluster::{Cluster, ask_node};
use crate::command::json_name::json_name;
use crate::exit::{Failure, io};
use if_addrs::{IfAddr, Interface as Known};
use nyala_tune::facts::{Interface, Node};
use nyala_wire::map::{Node as MapNode, Role};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// How often a server is asked; the shortest round trip counts.
const ASKED: usize = 5;

/// The addresses of this host.
fn known() -> Result<Vec<Known>, Failure> {
    if_addrs::get_if_addrs().map_err(io("cannot list the network interfaces"))
}

/// Interfaces that are up, without loopback.
pub fn interfaces(root: &Root) -> Result<Vec<Interface>, Failure> {
    let known = known()?;
    let of = |name: String| {
        let text = |file: &str| root.text(&format!("sys/class/net/{name}/{file}")).map(|text| text.trim().to_owned());
        let up = text("operstate").is_some_and(|state| state == "up");
        let number = |file: &str| text(file).and_then(|text| text.parse().ok());
        let mut subnets: Vec<String> = known.iter().filter(|own| own.name == name).filter_map(subnet).collect();
        subnets.dedup();
        (up && name != "lo").then(|| Interface {
            mtu: number("mtu"),
            speed: number("speed"),
            duplex: text("duplex"),
            subnets,
            name: name.clone(),
        })
    };
    Ok(root.names("sys/class/net").into_iter().filter_map(of).collect())
}

/// The network of an address, as in `10.0.0.0/24`; only of IPv4, where an address is answered for by any interface.
fn subnet(own: &Known) -> Option<String> {
    match &own.addr {
        IfAddr::V4(v4) if !own.is_loopback() && v4.prefixlen < 32 => {
            let network = std::net::Ipv4Addr::from(u32::from(v4.ip) & u32::from(v4.netmask));
            Some(format!("{network}/{}", v4.prefixlen))
        }
        _ => None,
    }
}

/// Names of interfaces that are in a subnet with another one.
pub fn sharing_subnets(interfaces: &[Interface]) -> Vec<String> {
    let shares = |own: &&Interface| {
        let others = interfaces.iter().filter(|other| other.name != own.name);
        others.flat_map(|other| &other.subnets).any(|subnet| own.subnets.contains(subnet))
    };
    interfaces.iter().filter(shares).map(|own| own.name.clone()).collect()
}

/// How a server is called in what is shown, as in `storage s1 [ID: 3]`.
pub fn server_name(node: &MapNode) -> String {
    format!("{} {} [ID: {}]", json_name(&node.role), node.alias, node.id)
}

/// The addresses of this host; none where the kernel does not say.
pub fn local_addresses() -> Vec<IpAddr> {
    known().map_or_else(|_| Vec::new(), |known| known.iter().map(Known::ip).collect())
}

/// Every server of the cluster, as this host reaches it.
pub async fn nodes(cluster: &Cluster) -> Result<Vec<Node>, Failure> {
    let known = known()?;
    let mut nodes = Vec::new();
    for node in cluster.map().await?.nodes.into_iter().filter(|node| node.role != Role::Client) {
        let mut answer = ask_node(&node.addresses, &cluster.handshake()).await;
        if let Some((address, shortest)) = &mut answer.reached {
            for _ in 1..ASKED {
                let again = ask_node(std::slice::from_ref(address), &cluster.handshake()).await;
                *shortest = again.reached.map_or(*shortest, |(_, micros)| micros.min(*shortest));
            }
        }
        nodes.push(Node {
            name: server_name(&node),
            interface: answer.reached.and_then(|(address, _)| interface_to(address, &known)),
            round_trip_us: answer.reached.map(|(_, micros)| micros),
            failed: answer.failed.iter().map(|(address, error)| (address.to_string(), error.to_string())).collect(),
        });
    }
    Ok(nodes)
}

/// The interface by which packets to an address go out. Nothing is sent: the kernel only chooses.
fn interface_to(address: SocketAddr, known: &[Known]) -> Option<String> {
    let any: IpAddr = if address.is_ipv4() { [0, 0, 0, 0].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(address).ok()?;
    let own = socket.local_addr().ok()?.ip();
    known.iter().find(|known| known.ip() == own).map(|known| known.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;

    #[test]
    fn interfaces_that_are_up() {
        let host = Pretended::new();
        let found = interfaces(&host.root).unwrap();
        let shown: Vec<_> =
            found.iter().map(|own| (own.name.as_str(), own.mtu, own.speed, own.duplex.as_deref())).collect();
        assert_eq!(shown, [("eth0", Some(1500), Some(25_000), Some("full"))]);
        assert_eq!(interface_to("127.0.0.1:9".parse().unwrap(), &known().unwrap()).as_deref(), Some("lo"));
    }

    #[test]
    fn interfaces_in_one_subnet_are_named() {
        let of = |name: &str, subnet: &str| Interface {
            name: name.into(),
            subnets: vec![subnet.into()],
            ..Interface::default()
        };
        let all = [of("a", "10.0.0.0/24"), of("b", "10.0.1.0/24"), of("c", "10.0.0.0/24")];
        assert_eq!(sharing_subnets(&all), ["a", "c"]);
        assert_eq!(sharing_subnets(&all[..2]), Vec::<String>::new());
    }
}

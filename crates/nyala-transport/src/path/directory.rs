// SPDX-License-Identifier: Apache-2.0

//! The servers that may pass a connection on.
//!
//! **Failure model.** What is known of the cluster may be old: a server in it that is gone costs an attempt. Before the first map there are
//! only the management nodes that were configured.

use crate::endpoint::Endpoint;
use nyala_wire::map::{ClusterMap, Reachability, Role};
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;

/// Most servers that are remembered.
const MOST: usize = 256;

/// The servers. Clones share what is known.
#[derive(Clone, Debug, Default)]
pub struct RelayDirectory {
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    configured: Vec<SocketAddr>,
    version: u64,
    servers: Vec<(Role, Vec<SocketAddr>)>,
}

impl RelayDirectory {
    /// Takes the management nodes that were configured.
    pub fn seed(&self, mgmt: &[SocketAddr]) {
        self.known.lock().configured = mgmt.iter().take(MOST).copied().collect();
    }

    /// Takes the servers of a map, if it is newer than the last one.
    pub fn learn(&self, map: &ClusterMap) {
        let mut known = self.known.lock();
        if map.version.0 <= known.version {
            return;
        }
        known.version = map.version.0;
        let serves = |role| matches!(role, Role::Mgmt | Role::Meta | Role::Storage);
        let there = map.nodes.iter().filter(|node| serves(node.role) && node.reachability != Reachability::Offline);
        known.servers = there.map(|node| (node.role, node.addresses.clone())).take(MOST).collect();
    }

    /// Other servers than the peer, each once, in an order that differs: management, which has little room, last.
    pub(crate) fn around(&self, peer: &Endpoint, most: usize) -> Vec<Vec<SocketAddr>> {
        let known = self.known.lock();
        let mut all: Vec<(bool, u16, Vec<SocketAddr>)> = Vec::new();
        let configured = known.configured.iter().map(|address| (Role::Mgmt, vec![*address]));
        for (role, addresses) in known.servers.iter().cloned().chain(configured) {
            let taken = |address: &SocketAddr| {
                peer.addresses.contains(address) || all.iter().any(|(.., other)| other.contains(address))
            };
            if !addresses.is_empty() && !addresses.iter().any(taken) {
                let mut random = [0; 2];
                // why ignored: without randomness everybody asks the same servers first, which is slower but not wrong.
                let _ = getrandom::fill(&mut random);
                all.push((role == Role::Mgmt, u16::from_le_bytes(random), addresses));
            }
        }
        all.sort_by_key(|(mgmt, random, _)| (*mgmt, *random));
        all.into_iter().map(|(.., addresses)| addresses).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::Node;
    use nyala_wire::{MapVersion, NodeId};

    fn at(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn node(port: u16, role: Role, reachability: Reachability) -> Node {
        Node {
            id: NodeId(u32::from(port)),
            alias: format!("n{port}"),
            role,
            addresses: vec![at(port), at(port + 100)],
            reachability,
        }
    }

    #[test]
    fn servers_in_reach_other_than_the_peer_are_asked_management_last() {
        let directory = RelayDirectory::default();
        directory.seed(&[at(1), at(9)]);
        let ports = |peer: u16| -> Vec<u16> {
            directory.around(&at(peer).into(), 9).iter().map(|addresses| addresses[0].port()).collect()
        };
        let sorted = |mut ports: Vec<u16>| {
            ports.sort_unstable();
            ports
        };
        assert_eq!(sorted(ports(9)), [1]);
        let (online, offline) = (Reachability::Online, Reachability::Offline);
        let nodes = vec![
            node(1, Role::Mgmt, online),
            node(2, Role::Storage, online),
            node(3, Role::Meta, online),
            node(4, Role::Storage, offline),
            node(5, Role::Client, online),
        ];
        directory.learn(&ClusterMap { version: MapVersion(3), nodes, ..ClusterMap::default() });
        let found = ports(7);
        assert_eq!((sorted(found[..2].to_vec()), sorted(found[2..].to_vec())), (vec![2, 3], vec![1, 9]));
        assert_eq!(sorted(ports(103)), [1, 2, 9], "the peer is known by its other address");
        directory.learn(&ClusterMap { version: MapVersion(2), ..ClusterMap::default() });
        assert_eq!(ports(7).len(), 4, "an old map is no news");
        assert_eq!(directory.around(&at(7).into(), 2).len(), 2);
    }
}

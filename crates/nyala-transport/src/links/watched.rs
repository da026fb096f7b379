// SPDX-License-Identifier: Apache-2.0

//! Which addresses of other servers a server watches. Pure.

use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Role};
use std::net::SocketAddr;

/// An address of another server.
pub(super) type Address = (NodeId, SocketAddr);

/// Most addresses that are watched. In a large cluster each server watches those that follow it by number, so that every server is
/// watched by many, and none has more to do for a larger cluster.
pub(super) const MOST: usize = 64;

/// The addresses of the servers that follow `own`, all of a server or none.
pub(super) fn watched(map: &ClusterMap, own: NodeId) -> Vec<Address> {
    let mut others: Vec<_> = map.nodes.iter().filter(|node| node.role != Role::Client && node.id != own).collect();
    // Those above come first, and then from the smallest on.
    others.sort_by_key(|node| (node.id < own, node.id));
    let mut all: Vec<Address> = Vec::new();
    for node in others {
        if all.len() + node.addresses.len() > MOST {
            break;
        }
        all.extend(node.addresses.iter().map(|address| (node.id, *address)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::{Node, Reachability};

    fn map(servers: u32, addresses: u8) -> ClusterMap {
        let node = |id: u32, role| Node {
            id: NodeId(id),
            alias: String::new(),
            role,
            addresses: (0..addresses).map(|rail| ([10, rail, 0, 1], id as u16).into()).collect(),
            reachability: Reachability::Online,
        };
        let clients = [node(1000, Role::Client)];
        ClusterMap {
            nodes: (1..=servers).map(|id| node(id, Role::Storage)).chain(clients).collect(),
            ..ClusterMap::default()
        }
    }

    fn nodes(map: &ClusterMap, own: u32) -> Vec<u32> {
        let mut nodes: Vec<u32> = watched(map, NodeId(own)).iter().map(|(node, _)| node.0).collect();
        nodes.dedup();
        nodes
    }

    #[test]
    fn every_other_server_of_a_small_cluster() {
        assert_eq!(nodes(&map(4, 2), 3), [4, 1, 2]);
        assert_eq!(watched(&map(4, 2), NodeId(3)).len(), 6);
        assert_eq!(nodes(&map(1, 2), 1), [0; 0]);
    }

    #[test]
    fn as_many_in_a_large_one_and_each_server_by_as_many() {
        let map = map(500, 3);
        let mut by = [0; 501];
        for own in 1..=500 {
            let watched = nodes(&map, own);
            assert_eq!(watched.len(), MOST / 3);
            watched.iter().for_each(|node| by[*node as usize] += 1);
        }
        assert!(by[1..].iter().all(|count| *count == MOST / 3), "{by:?}");
    }
}

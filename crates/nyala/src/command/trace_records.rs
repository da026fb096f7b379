// SPDX-License-Identifier: Apache-2.0

//! What services recorded of operations that were followed, asked for and put together with what their client saw. Failure model: see [`super::trace`].

use super::trace_parts::Followed;
use super::trace_table::Operation;
use crate::cluster::{Cluster, recorded};
use nyala_transport::Connection;
use nyala_wire::NodeId;
use nyala_wire::map::ClusterMap;
use nyala_wire::trace::TracedRequest;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// All of each operation, in the order in which they were first done.
pub async fn put_together(
    cluster: &Cluster,
    map: &ClusterMap,
    followed: impl Iterator<Item = (u64, Followed)>,
) -> Vec<Vec<Operation>> {
    let followed: Vec<(u64, Followed)> = followed.collect();
    let who = |address: SocketAddr| {
        let node = map.nodes.iter().find(|node| node.addresses.contains(&address));
        node.map_or_else(|| address.to_string(), |node| node.alias.clone())
    };
    let exchanges = followed.iter().flat_map(|(_, one)| &one.exchanges);
    let asked: BTreeSet<SocketAddr> = exchanges.map(|exchange| exchange.address).collect();
    let mut connections = Vec::new();
    for address in asked.iter().copied().chain(other_members(map, &asked)) {
        // Without a record, the request stands there as a whole.
        if let Ok(connection) = Connection::connect(address, &cluster.handshake()).await {
            connections.push((address, connection));
        }
    }
    let node = |id: u32| map.node(NodeId(id)).map_or_else(|| format!("node {id}"), |node| node.alias.clone());
    let mut done: Vec<(String, Vec<Operation>)> = Vec::new();
    for (trace, followed) in followed {
        let mut records: Vec<(SocketAddr, TracedRequest)> = Vec::new();
        for (address, connection) in &connections {
            let found = recorded(connection, trace).await;
            records.extend(found.into_iter().map(|record| (*address, record)));
        }
        let name = followed.operation.clone();
        let operation = followed.with(trace, &records, who, node);
        match done.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(operation),
            None => done.push((name, vec![operation])),
        }
    }
    done.into_iter().map(|(_, all)| all).collect()
}

/// Where those are asked who are in a mirror group with somebody that the client asked, and were not asked themselves.
fn other_members(map: &ClusterMap, asked: &BTreeSet<SocketAddr>) -> BTreeSet<SocketAddr> {
    let was_asked =
        |target| map.node_of(target).is_some_and(|node| node.addresses.iter().any(|address| asked.contains(address)));
    let groups = map.groups.iter().filter(|group| group.members.iter().any(|member| was_asked(*member)));
    let members = groups.flat_map(|group| group.members.iter().copied()).filter(|member| !was_asked(*member));
    members.filter_map(|member| map.node_of(member)?.addresses.first().copied()).collect()
}

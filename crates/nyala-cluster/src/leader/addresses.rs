// SPDX-License-Identifier: Apache-2.0

//! Whether the management nodes can reach each other where they say that they are.
//!
//! **Failure model.** A loopback address leads every host to itself. A node that is known by one gets nothing from the
//! others, and takes its own answers for theirs unless messages name their receiver; so nodes with loopback addresses form
//! a cluster with each other on one host, or none.

use crate::state::{ClusterState, NodeRecord};
use nyala_wire::error::WireError;
use nyala_wire::map::Role;
use nyala_wire::mgmt::JoinMgmt;
use nyala_wire::{ClusterId, ErrorCode};
use std::net::{IpAddr, SocketAddr};

fn others(state: &ClusterState, uuid: ClusterId) -> impl Iterator<Item = &NodeRecord> {
    state.nodes.iter().filter(move |node| node.role == Role::Mgmt && node.uuid != uuid)
}

fn loopback(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    addresses.iter().find(|address| address.ip().is_loopback()).copied()
}

/// Refuses a node that others could not reach, or that could not reach them. `from` is where the request came from;
/// `answers` says which nodes are there at the moment, by id.
pub fn check_join(
    state: &ClusterState,
    request: &JoinMgmt,
    from: IpAddr,
    answers: impl Fn(u64) -> bool,
) -> Result<(), WireError> {
    let theirs: Vec<SocketAddr> = request.addresses.iter().filter_map(|text| text.parse().ok()).collect();
    let local = loopback(&theirs);
    let no = |message: String| Err(ErrorCode::INVALID.with(message));
    if let Some(address) = local.filter(|_| !from.to_canonical().is_loopback()) {
        return no(format!(
            "it would be reached at {address}, which leads every other host to itself; set `advertise` of that \
             management node to an address that the others reach"
        ));
    }
    if state.nodes.iter().any(|node| node.uuid == request.uuid) {
        return Ok(());
    }
    for node in others(state, request.uuid) {
        let alias = &node.alias;
        if let (None, Some(address)) = (local, loopback(&node.addresses)) {
            return no(format!(
                "management node {alias} is known as {address}, which leads every other host to itself; start {alias} \
                 again with `advertise` set to an address that others reach, then join"
            ));
        }
        if let (Some(address), None) = (local, loopback(&node.addresses)) {
            return no(format!(
                "it would be reached at {address}, which leads the host of {alias} to itself; set `advertise` of the \
                 new management node to an address that the others reach"
            ));
        }
        if let Some(taken) = theirs.iter().find(|address| node.addresses.contains(address))
            && answers(u64::from(node.id.0))
        {
            return no(format!("{taken} is the address of management node {alias}; give each node its own"));
        }
    }
    Ok(())
}

/// An address of this node that leads the other management nodes to themselves.
pub fn misleading(state: &ClusterState, uuid: ClusterId, addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let apart = others(state, uuid).any(|node| loopback(&node.addresses).is_none());
    loopback(addresses).filter(|_| apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, RegisterNode};
    use nyala_wire::NodeId;
    use nyala_wire::map::Settings;

    const HERE: &str = "127.0.0.1";

    fn state(address: &str) -> ClusterState {
        let cluster = ClusterId([5; 16]);
        let mut state = ClusterState::default();
        state.apply(Command::Init { cluster, settings: Settings::default() }).unwrap();
        let addresses = vec![address.parse().unwrap()];
        let (uuid, alias, targets) = (ClusterId([1; 16]), String::new(), Vec::new());
        let first = RegisterNode { cluster, role: Role::Mgmt, uuid, alias, addresses, incarnation: 1, targets };
        state.apply(Command::RegisterNode(first)).unwrap();
        state
    }

    fn join(state: &ClusterState, uuid: u8, address: &str, from: &str) -> Result<(), String> {
        let addresses = vec![address.to_owned()];
        let (cluster, uuid) = (ClusterId::UNKNOWN, ClusterId([uuid; 16]));
        let request = JoinMgmt { cluster, uuid, addresses, incarnation: 7, node: NodeId(0) };
        check_join(state, &request, from.parse().unwrap(), |_| true).map_err(|error| error.message)
    }

    #[test]
    fn loopback_joins_loopback_on_one_host_and_nothing_else() {
        let (local, global) = (state("127.0.0.1:8008"), state("10.0.0.1:8008"));
        assert_eq!(join(&local, 2, "127.0.0.2:8008", HERE), Ok(()));
        assert_eq!(join(&global, 2, "10.0.0.2:8008", "10.0.0.2"), Ok(()));
        assert_eq!(join(&global, 2, "10.0.0.2:8008", "::ffff:10.0.0.2"), Ok(()));
        let refused = |answer: Result<(), String>, word: &str| {
            let message = answer.unwrap_err();
            assert!(message.contains("advertise") && message.contains(word), "{message}");
        };
        refused(join(&global, 2, "127.0.0.1:8008", "10.0.0.2"), "that management node");
        refused(join(&local, 2, "127.0.0.1:8008", "10.0.0.2"), "that management node");
        refused(join(&local, 2, "10.0.0.2:8008", "10.0.0.2"), "mgmt1");
        refused(join(&global, 2, "127.0.0.1:8009", HERE), "new management node");
        assert!(join(&global, 2, "10.0.0.1:8008", "10.0.0.2").unwrap_err().contains("its own"));
        // A member may move, from one kind of address to the other too, but not out of reach.
        assert_eq!(join(&local, 1, "10.0.0.1:8008", HERE), Ok(()));
        refused(join(&global, 1, "127.0.0.1:8008", "10.0.0.1"), "that management node");
    }

    #[test]
    fn a_node_does_not_start_where_the_others_would_miss_it() {
        let me = ClusterId([9; 16]);
        let at = |text: &str| vec![text.parse().unwrap()];
        assert!(misleading(&state("10.0.0.1:8008"), me, &at("127.0.0.1:8008")).is_some());
        assert_eq!(misleading(&state("10.0.0.1:8008"), me, &at("10.0.0.2:8008")), None);
        assert_eq!(misleading(&state("127.0.0.1:8008"), me, &at("127.0.0.2:8008")), None);
        assert_eq!(misleading(&state("10.0.0.1:8008"), ClusterId([1; 16]), &at("127.0.0.1:8008")), None, "alone");
    }
}

// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --listnodes`.

use crate::compat::{cluster, command_line::CommandLine};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::InodeId;
use nyala_wire::map::{ClusterMap, Node, Role};

/// Lists nodes of a type.
pub fn list(line: &CommandLine) -> Outcome {
    line.only(&["nodetype", "details", "nicdetails", "reachable"], "listnodes")?;
    let role = match line.need("nodetype", "mgmt|meta|storage|client")?.to_ascii_lowercase().as_str() {
        "mgmt" | "management" => Role::Mgmt,
        "meta" | "metadata" => Role::Meta,
        "storage" => Role::Storage,
        "client" => Role::Client,
        other => {
            let known = "mgmt, meta, storage, client";
            return Err(Failure::usage(format!("Invalid or missing node type: {other}; possible: {known}")));
        }
    };
    let map = block_on(async { cluster::find(line)?.map().await })?;
    print(&text(&map, role, line.has("details") || line.has("nicdetails")))
}

fn text(map: &ClusterMap, role: Role, details: bool) -> String {
    let nodes: Vec<&Node> = map.nodes.iter().filter(|node| node.role == role).collect();
    let mut text = String::new();
    for node in &nodes {
        text += &format!("{}\n", cluster::title(node));
        if details {
            let port = node.addresses.first().map_or(0, std::net::SocketAddr::port);
            let interfaces: Vec<String> =
                node.addresses.iter().map(|address| format!("{}(TCP)", address.ip())).collect();
            text += &format!("   Ports: UDP: 0; TCP: {port}\n   Interfaces: {}\n", interfaces.join(" "));
        }
    }
    if details {
        text += &format!("\nNumber of nodes: {}\n", nodes.len());
        let root = map.slot_target(InodeId::ROOT.slot()).and_then(|server| map.server_node(server));
        if let Some(root) = root.filter(|_| role == Role::Meta) {
            text += &format!("Root: {}\n", root.id);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::map::Reachability;

    #[test]
    fn nodes_with_details() {
        let node = Node {
            id: NodeId(21),
            alias: "stor1-inst1".into(),
            role: Role::Storage,
            addresses: vec!["192.168.5.11:8003".parse().unwrap(), "192.168.5.12:8003".parse().unwrap()],
            reachability: Reachability::Online,
        };
        let map = ClusterMap { nodes: vec![node], ..ClusterMap::default() };
        assert_eq!(text(&map, Role::Storage, false), "stor1-inst1 [ID: 21]\n");
        assert_eq!(
            text(&map, Role::Storage, true),
            "stor1-inst1 [ID: 21]\n   Ports: UDP: 0; TCP: 8003\n   Interfaces: 192.168.5.11(TCP) 192.168.5.12(TCP)\n\nNumber of nodes: 1\n"
        );
        assert_eq!(text(&map, Role::Client, true), "\nNumber of nodes: 0\n");
    }
}

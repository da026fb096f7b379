// SPDX-License-Identifier: Apache-2.0

//! `beegfs-net` and `beegfs-check-servers`: which address of each server answers.

use super::{cluster, command_line::CommandLine};
use crate::cluster::ask_node;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::map::{Node, Role};
use std::net::SocketAddr;

const ROLES: [(Role, &str, &str); 3] = [
    (Role::Mgmt, "mgmt_nodes", "Management"),
    (Role::Meta, "meta_nodes", "Metadata"),
    (Role::Storage, "storage_nodes", "Storage"),
];

type Reached = (Node, Option<SocketAddr>);

fn ask(line: &CommandLine) -> Result<Vec<Reached>, Failure> {
    line.only(&[], "")?;
    block_on(async {
        let cluster = cluster::find(line)?;
        let mut all = Vec::new();
        for node in cluster.map().await?.nodes {
            let answer = ask_node(&node.addresses, &cluster.handshake()).await;
            all.push((node, answer.reached.map(|(address, _)| address)));
        }
        Ok(all)
    })
}

/// Prints the connections of this host to each server.
pub fn net(line: &CommandLine) -> Outcome {
    print(&net_text(&ask(line)?))
}

fn net_text(nodes: &[Reached]) -> String {
    let mut text = String::new();
    for (role, title, _) in ROLES {
        text += &format!("\n{title}\n=============\n");
        for (node, reached) in nodes.iter().filter(|(node, _)| node.role == role) {
            let connections = reached.map_or("<none>".to_owned(), |address| format!("TCP: 1 ({address});"));
            text += &format!("{}\n   Connections: {connections}\n", cluster::title(node));
        }
    }
    text
}

/// Prints which servers are reachable; exit code 1 if one is not.
pub fn check(line: &CommandLine) -> Outcome {
    let nodes = ask(line)?;
    print(&check_text(&nodes))?;
    Ok(if nodes.iter().all(|(_, reached)| reached.is_some()) { Exit::Ok } else { Exit::Failed })
}

fn check_text(nodes: &[Reached]) -> String {
    let mut sections = Vec::new();
    for (role, _, title) in ROLES {
        let mut text = format!("{title}\n==========\n");
        for (node, reached) in nodes.iter().filter(|(node, _)| node.role == role) {
            let state = reached.map_or("UNREACHABLE".to_owned(), |at| format!("reachable at {at} (protocol: TCP)"));
            text += &format!("{}: {state}\n", cluster::title(node));
        }
        sections.push(text);
    }
    sections.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::map::Reachability;

    #[test]
    fn servers_stand_in_their_sections() {
        let node = |id, role, alias: &str| Node {
            id: NodeId(id),
            alias: alias.into(),
            role,
            addresses: Vec::new(),
            reachability: Reachability::Online,
        };
        let at: SocketAddr = "192.168.5.14:8003".parse().unwrap();
        let nodes = [(node(31, Role::Storage, "stor2-inst1"), Some(at)), (node(11, Role::Meta, "meta1-inst1"), None)];
        let net = net_text(&nodes);
        assert!(
            net.contains(
                "storage_nodes\n=============\nstor2-inst1 [ID: 31]\n   Connections: TCP: 1 (192.168.5.14:8003);\n"
            ),
            "{net}"
        );
        assert!(net.contains("meta1-inst1 [ID: 11]\n   Connections: <none>\n"), "{net}");
        let check = check_text(&nodes);
        assert!(
            check.contains(
                "Storage\n==========\nstor2-inst1 [ID: 31]: reachable at 192.168.5.14:8003 (protocol: TCP)\n"
            ),
            "{check}"
        );
        assert!(check.contains("Metadata\n==========\nmeta1-inst1 [ID: 11]: UNREACHABLE\n"), "{check}");
    }
}

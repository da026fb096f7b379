// SPDX-License-Identifier: Apache-2.0

//! `nyala health net`: which address of each node answers, and how fast.

use super::json_name::json_name;
use crate::cluster::{ClusterArgs, ask_node};
use crate::exit::Outcome;
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::NodeId;
use nyala_wire::map::Role;
use serde::Serialize;
use std::net::SocketAddr;

/// Flags of `nyala health net`.
#[derive(Clone, Debug, clap::Args)]
pub struct HealthNetArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A node's connections, as seen from this machine.
#[derive(Clone, Debug, Serialize)]
struct NodeNet {
    id: NodeId,
    role: Role,
    alias: String,
    /// The first address that answered.
    address: Option<SocketAddr>,
    rtt_us: Option<u64>,
    /// Addresses that did not answer, with the reason.
    failed: Vec<Failed>,
}

#[derive(Clone, Debug, Serialize)]
struct Failed {
    address: SocketAddr,
    error: String,
}

/// Shows connections.
pub fn run(args: HealthNetArgs, output: Output) -> Outcome {
    let nodes = block_on(async {
        let cluster = args.cluster.find()?;
        let mut nodes = Vec::new();
        for node in cluster.map().await?.nodes {
            if node.role == Role::Client {
                continue;
            }
            let answer = ask_node(&node.addresses, &cluster.handshake()).await;
            let failed = answer.failed.iter();
            nodes.push(NodeNet {
                id: node.id,
                role: node.role,
                alias: node.alias,
                address: answer.reached.map(|(address, _)| address),
                rtt_us: answer.reached.map(|(_, micros)| micros),
                failed: failed.map(|(address, e)| Failed { address: *address, error: e.to_string() }).collect(),
            });
        }
        Ok(nodes)
    })?;
    show(output, &nodes, |nodes| render(nodes))
}

fn render(nodes: &[NodeNet]) -> String {
    let mut text = String::new();
    for role in [Role::Mgmt, Role::Meta, Role::Storage] {
        let title = format!("{}_nodes", json_name(&role));
        text += &format!("{title}\n{}\n", "=".repeat(title.len()));
        for node in nodes.iter().filter(|node| node.role == role) {
            text += &format!("{} [ID: {}]\n", node.alias, node.id);
            text += &match (node.address, node.rtt_us) {
                (Some(address), Some(micros)) => format!("   Connections: TCP ({address}), {micros} us;\n"),
                _ => "   Connections: <none>\n".to_owned(),
            };
            for failed in &node.failed {
                text += &format!("   {}: {}\n", failed.address, failed.error);
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_in_sections() {
        let node = |role, address: Option<&str>| NodeNet {
            id: NodeId(3),
            role,
            alias: "x".into(),
            address: address.map(|text| text.parse().unwrap()),
            rtt_us: address.map(|_| 70),
            failed: vec![],
        };
        let text = render(&[node(Role::Meta, Some("127.0.0.1:8005")), node(Role::Storage, None)]);
        assert!(
            text.contains("meta_nodes\n==========\nx [ID: 3]\n   Connections: TCP (127.0.0.1:8005), 70 us;"),
            "{text}"
        );
        assert!(text.contains("storage_nodes\n=============\nx [ID: 3]\n   Connections: <none>"), "{text}");
    }
}

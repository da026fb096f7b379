// SPDX-License-Identifier: Apache-2.0

//! Servers that are to be asked. Failure model: see the parent module.

use super::super::network::server_name;
use nyala_transport::{Connection, HandshakeConfig};
use nyala_wire::map::Node;
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for a connection to a server, for each address.
pub(super) const CONNECT: Duration = Duration::from_secs(2);

/// A server of the cluster, with a connection if it is reached.
pub(super) struct Server {
    pub name: String,
    pub addresses: Vec<SocketAddr>,
    pub connection: Option<Connection>,
}

/// Connects to all at once, to each at the first address that answers.
pub(super) async fn connect(nodes: Vec<Node>, handshake: &HandshakeConfig) -> Vec<Server> {
    let handshake = HandshakeConfig { connect_timeout: CONNECT, handshake_timeout: CONNECT, ..handshake.clone() };
    let one = |node: Node| {
        let handshake = handshake.clone();
        tokio::spawn(async move {
            let mut connection = None;
            for address in &node.addresses {
                connection = Connection::connect(*address, &handshake).await.ok();
                if connection.is_some() {
                    break;
                }
            }
            Server { name: server_name(&node), addresses: node.addresses, connection }
        })
    };
    let tasks: Vec<_> = nodes.into_iter().map(one).collect();
    let mut servers = Vec::new();
    for task in tasks {
        // A task ends early only with the runtime.
        servers.extend(task.await.ok());
    }
    servers
}

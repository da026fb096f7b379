// SPDX-License-Identifier: Apache-2.0

//! Ways between servers and the clocks of their hosts, by asking each server.
//!
//! **Failure model.** A server may be away, hang, or be of a version that knows no such questions: it is named as not looked at, and the
//! others are asked all the same. Every question has a limit of time, and so does everything that a server does for it; servers are asked
//! at once, so that limits do not add up. Speeds are measured in rounds in which no host takes part twice.

mod ask;
mod clocks;
mod servers;
mod speeds;

pub use ask::SpeedTest;

use crate::cluster::Cluster;
use crate::exit::Failure;
use ask::{figures, test};
use nyala_transport::{Connection, Role as Peer};
use nyala_tune::links::{HostClock, Link, hosts};
use nyala_wire::ErrorCode;
use nyala_wire::map::Role;
use servers::{Server, connect};
use std::net::SocketAddr;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// Each way of each server to each address of another one.
    pub links: Vec<Link>,
    /// Clocks, one for each host.
    pub clocks: Vec<HostClock>,
    /// What could not be asked, and why.
    pub not_looked_at: Vec<String>,
}

/// Asks the servers of a cluster.
pub async fn links(cluster: &Cluster, speed: SpeedTest) -> Result<Looked, Failure> {
    let mut nodes = cluster.map().await?.nodes;
    nodes.retain(|node| node.role != Role::Client);
    let servers = connect(nodes, &cluster.handshake()).await;
    let ips = |server: &Server| server.addresses.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>();
    let host_of = hosts(&servers.iter().map(ips).collect::<Vec<_>>());
    let (clocks, not_looked_at) = clocks::compare(&servers, &host_of).await;
    let mut looked = Looked { links: Vec::new(), clocks, not_looked_at };
    if cluster.handshake().role != Peer::Cli {
        looked.not_looked_at.push("ways between servers: the secret of this host has no key for operators".into());
        return Ok(looked);
    }
    reach(&servers, &mut looked).await;
    if speed.bytes > 0 {
        speeds::measure(&servers, &host_of, speed, &mut looked.links).await;
    }
    Ok(looked)
}

/// Has each server try each address of each other one. Servers do so at once, each one address after the other.
async fn reach(servers: &[Server], looked: &mut Looked) {
    let all: Vec<(String, Vec<SocketAddr>)> =
        servers.iter().map(|server| (server.name.clone(), server.addresses.clone())).collect();
    let mut tasks = Vec::new();
    for server in servers {
        let Some(connection) = server.connection.clone() else {
            looked.not_looked_at.push(format!("ways of {}: this host does not reach it", server.name));
            continue;
        };
        let (from, others) = (server.name.clone(), all.clone());
        tasks.push(tokio::spawn(async move { reach_from(&connection, &from, &others).await }));
    }
    for task in tasks {
        match task.await {
            Ok(Ok(links)) => looked.links.extend(links),
            Ok(Err(why)) => looked.not_looked_at.push(why),
            // A task ends early only with the runtime.
            Err(_) => {}
        }
    }
}

async fn reach_from(
    connection: &Connection,
    from: &str,
    others: &[(String, Vec<SocketAddr>)],
) -> Result<Vec<Link>, String> {
    let mut links = Vec::new();
    for (to, addresses) in others.iter().filter(|(to, _)| to != from) {
        for address in addresses {
            let found = test(connection, *address, SpeedTest::default()).await;
            if let Err(error) = &found
                && error.code == ErrorCode::UNKNOWN_MESSAGE
            {
                return Err(format!("ways of {from}: it is older than this command"));
            }
            let found = found.map(|reply| figures(&reply)).map_err(|error| error.message);
            links.push(Link { from: from.to_owned(), to: to.clone(), address: address.to_string(), found });
        }
    }
    Ok(links)
}

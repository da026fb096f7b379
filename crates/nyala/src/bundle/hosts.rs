// SPDX-License-Identifier: Apache-2.0

//! What the services of other hosts report of them, unpacked into `hosts/NAME/`.
//!
//! **Failure model.** A host may be away, hang, be busy with a report, or run an older version: it is named, with the reason, and the others are asked
//! all the same, several at once. Where a host has several services, the next one is asked if the first does not answer. What comes is not
//! trusted: names stay below the host's directory, sizes below what was asked for, and all of it passes the gate for secrets of this host, too.

use super::archive::Archive;
use super::host_ask::{STEP, Share, ask, connect, report};
use super::report::{LEAST, host_name};
use super::unpack::unpack;
use crate::cluster::Cluster;
use crate::up::ClusterDir;
use nyala_wire::host_report::HostReportRequest;
use nyala_wire::map::{ClusterMap, Node, Role};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Hosts that make reports at once.
const MAX_CONCURRENT: usize = 8;

/// Adds what hosts report, but for this one, of which the command takes the same itself.
pub async fn add<W: Write>(
    archive: &mut Archive<W>,
    (cluster, cluster_dir): (&Cluster, Option<&ClusterDir>),
    map: &ClusterMap,
    share: Share,
    end: Instant,
) -> io::Result<()> {
    let nodes: Vec<Node> = map.nodes.iter().filter(|node| node.role != Role::Client).cloned().collect();
    let own = host_name(cluster_dir);
    let mut hosts: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    for (node, host) in who(cluster, nodes, end).await {
        match host {
            Ok(host) if host == own => {}
            Ok(host) => hosts.entry(host).or_default().push(node),
            Err(why) => archive.missing(&format!("the host of {}-{}", node.id, node.alias), &why),
        }
    }
    for (node, report) in reports(cluster, hosts, share, end).await {
        let name = format!("{}-{}", node.id, node.alias);
        match report {
            Ok(report) => unpack(archive, &name, &report, share.most_bytes.max(LEAST))?,
            Err(why) => archive.missing(&format!("the host of {name}"), &why),
        }
    }
    Ok(())
}

/// Asks every service for its host.
async fn who(cluster: &Cluster, nodes: Vec<Node>, end: Instant) -> Vec<(Node, Result<String, String>)> {
    let ask = |node: Node| {
        let handshake = cluster.handshake();
        async move {
            let said = async { ask(&connect(&node, &handshake).await?, HostReportRequest::Who, STEP).await };
            let host = said.await.map(|(reply, _)| reply.host);
            (node, host)
        }
    };
    ask_all(nodes, ask, end).await
}

/// Has each host report by the first of its services that does.
async fn reports(
    cluster: &Cluster,
    hosts: BTreeMap<String, Vec<Node>>,
    share: Share,
    end: Instant,
) -> Vec<(Node, Result<Vec<u8>, String>)> {
    let ask = |nodes: Vec<Node>| {
        let handshake = cluster.handshake();
        async move {
            let mut last = None;
            for node in nodes {
                let outcome = report(&node, &handshake, share).await;
                let is_made = outcome.is_ok();
                last = Some((node, outcome));
                if is_made {
                    break;
                }
            }
            last
        }
    };
    ask_all(hosts.into_values().collect(), ask, end).await.into_iter().flatten().collect()
}

/// Asks several at once until `end`. What has not answered by then says so by itself: each has its own limits.
async fn ask_all<I, T, F>(all: Vec<I>, ask: impl Fn(I) -> F, end: Instant) -> Vec<T>
where
    T: 'static,
    F: Future<Output = T> + 'static,
{
    let (mut waiting, mut asked, mut answers) = (all.into_iter(), JoinSet::new(), Vec::new());
    loop {
        while asked.len() < MAX_CONCURRENT
            && let Some(next) = waiting.next()
        {
            asked.spawn_local(ask(next));
        }
        match timeout_at(end, asked.join_next()).await {
            Ok(Some(Ok(answer))) => answers.push(answer),
            Ok(Some(Err(_))) => {}
            Ok(None) | Err(_) => return answers,
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! `nyala health check`: is everything there and well? The exit code says it too.

use super::health_slow;
use crate::cluster::{Answer, Cluster, ClusterArgs, ask_nodes};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_cluster::health::{Finding, Probe, findings};
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, Node, Reachability, Role};
use nyala_wire::{NodeId, TargetId};
use serde::Serialize;
use std::net::SocketAddr;

/// Flags of `nyala health check`.
#[derive(Clone, Debug, clap::Args)]
pub struct HealthCheckArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Health {
    healthy: bool,
    nodes: Vec<NodeHealth>,
    targets: Vec<TargetHealth>,
    /// A sentence for each thing that is wrong.
    problems: Vec<String>,
    /// The same, with how bad it is and what to do.
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, Serialize)]
struct NodeHealth {
    id: NodeId,
    role: Role,
    alias: String,
    reachability: Reachability,
    reachable: bool,
    address: Option<SocketAddr>,
    error: Option<String>,
    /// Absent where the service does not answer.
    checksum_errors: Option<u64>,
    uptime_s: Option<u64>,
    /// Operations of the last minutes that were slow. They make nothing unhealthy: a server that was away has some, and so has a busy one.
    slow_operations: Option<u64>,
    /// What it says of itself; the findings have what is wrong.
    #[serde(skip)]
    probe: Probe,
}

#[derive(Clone, Debug, Serialize)]
struct TargetHealth {
    id: TargetId,
    node: NodeId,
    reachability: Reachability,
    consistency: Consistency,
    capacity_pool: CapacityPool,
}

/// Checks.
pub fn run(args: HealthCheckArgs, output: Output) -> Outcome {
    let health = block_on(async { examine(&args.cluster.find()?).await })?;
    show(output, &health, render)?;
    Ok(if health.healthy { Exit::Ok } else { Exit::Degraded })
}

/// Asks every service, and judges.
pub async fn examine(cluster: &Cluster) -> Result<Health, Failure> {
    let map = cluster.map().await?;
    let servers: Vec<&Node> = map.nodes.iter().filter(|node| node.role != Role::Client).collect();
    let answers = ask_nodes(&servers, &cluster.handshake()).await;
    let nodes = servers.iter().zip(&answers).map(|(node, answer)| judge_node(node, answer)).collect();
    Ok(judge(&map, nodes))
}

fn judge_node(node: &Node, answer: &Answer) -> NodeHealth {
    let error = answer.failed.first().map(|(_, error)| error.to_string());
    let probe = match (&answer.reached, &answer.stats) {
        (Some(_), Some(stats)) => Probe::answered(node.id, stats),
        // Of a version that says nothing of itself.
        (Some(_), None) => Probe { node: node.id, ..Probe::default() },
        (None, _) => Probe::silent(node.id, error.clone().unwrap_or_else(|| "it has no address".to_owned())),
    };
    NodeHealth {
        id: node.id,
        role: node.role,
        alias: node.alias.clone(),
        reachability: node.reachability,
        reachable: answer.reached.is_some(),
        address: answer.reached.map(|(address, _)| address),
        error,
        checksum_errors: probe.checksum_errors,
        uptime_s: answer.stats.as_ref().map(|stats| stats.uptime_s),
        slow_operations: probe.slow_operations,
        probe,
    }
}

fn judge(map: &ClusterMap, nodes: Vec<NodeHealth>) -> Health {
    let findings = findings(map, &nodes.iter().map(|node| node.probe.clone()).collect::<Vec<_>>());
    let problems: Vec<String> = findings.iter().map(|finding| finding.what.clone()).collect();
    let targets = map.targets.iter().map(|target| TargetHealth {
        id: target.id,
        node: target.node,
        reachability: target.reachability,
        consistency: target.consistency,
        capacity_pool: target.capacity_pool,
    });
    Health { healthy: problems.is_empty(), targets: targets.collect(), nodes, problems, findings }
}

fn render(health: &Health) -> String {
    let mut text = String::new();
    for (role, title) in [(Role::Mgmt, "Management"), (Role::Meta, "Metadata"), (Role::Storage, "Storage")] {
        text += &format!("{title}\n==========\n");
        for node in health.nodes.iter().filter(|node| node.role == role) {
            let state = match node.address {
                Some(address) => format!("reachable at {address} (protocol: TCP)"),
                None => "UNREACHABLE".to_owned(),
            };
            text += &format!("{} [ID: {}]: {state}\n", node.alias, node.id);
        }
        text.push('\n');
    }
    let slow = health.nodes.iter().map(|node| (node.alias.as_str(), node.id, node.slow_operations.unwrap_or(0)));
    text += &health_slow::shown(slow.collect());
    if health.healthy {
        text += &format!("All {} targets are online and good.\n", health.targets.len());
    } else {
        text += "Problems\n==========\n";
        health.findings.iter().for_each(|found| text += &format!("{}\n  {}\n", found.what, found.advice));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_transport::TransportError;
    use nyala_wire::PoolId;
    use nyala_wire::map::{Target, TargetKind};
    use nyala_wire::mgmt::ServiceStats;

    fn node(id: u32, role: Role) -> Node {
        let addresses = vec!["127.0.0.1:1".parse().unwrap()];
        Node { id: NodeId(id), alias: format!("n{id}"), role, addresses, reachability: Reachability::Online }
    }

    fn map() -> ClusterMap {
        let target = |id, kind, node| Target {
            id: TargetId(id),
            alias: format!("t{id}"),
            kind,
            node: NodeId(node),
            pool: PoolId(1),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        };
        ClusterMap {
            nodes: vec![node(1, Role::Meta), node(2, Role::Storage)],
            targets: vec![target(1, TargetKind::Meta, 1), target(101, TargetKind::Storage, 2)],
            ..ClusterMap::default()
        }
    }

    fn well(node: &Node, errors: u64) -> NodeHealth {
        let stats = ServiceStats { counters: vec![("checksum.errors".into(), errors)], ..ServiceStats::default() };
        judge_node(node, &Answer { reached: Some((node.addresses[0], 9)), stats: Some(stats), failed: vec![] })
    }

    #[test]
    fn all_well() {
        let map = map();
        let health = judge(&map, map.nodes.iter().map(|node| well(node, 0)).collect());
        assert!(health.healthy, "{:?}", health.problems);
        assert!(render(&health).contains("n2 [ID: 2]: reachable at 127.0.0.1:1 (protocol: TCP)"));
        // Slow operations are named, and make nothing unhealthy.
        let stats = ServiceStats { counters: vec![("slow.lately".into(), 4321)], ..ServiceStats::default() };
        let slow = |node: &Node| {
            let (reached, stats) = (Some((node.addresses[0], 9)), Some(stats.clone()));
            judge_node(node, &Answer { reached, stats, failed: vec![] })
        };
        let health = judge(&map, map.nodes.iter().map(slow).collect());
        assert!(health.healthy && render(&health).contains("n1 [ID: 1]: 4321;"), "{}", render(&health));
    }

    #[test]
    fn every_kind_of_trouble_is_said() {
        let problems = |map: &ClusterMap, nodes: Vec<NodeHealth>| {
            let health = judge(map, nodes);
            assert!(!health.healthy);
            render(&health)
        };
        let mut bad = map();
        bad.targets[0].reachability = Reachability::Offline;
        bad.targets[1].consistency = Consistency::NeedsResync;
        bad.targets[1].capacity_pool = CapacityPool::Emergency;
        let text = problems(&bad, bad.nodes.iter().map(|node| well(node, 0)).collect());
        for word in ["target 1 (t1) is offline", "needs-resync", "emergency"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let map = map();
        let text = problems(&map, map.nodes.iter().map(|node| well(node, 3)).collect());
        assert!(text.contains("found 3 blocks"), "{text}");
        let address = "127.0.0.1:1".parse().unwrap();
        let gone = Answer { failed: vec![(address, TransportError::ConnectRefused { address })], ..Answer::default() };
        let text = problems(&map, vec![well(&map.nodes[0], 0), judge_node(&map.nodes[1], &gone)]);
        assert!(text.contains("UNREACHABLE") && text.contains("refuses the connection"), "{text}");
        assert!(problems(&ClusterMap::default(), vec![]).contains("no storage service"));
        let waiting = crate::command::mirror_list::tests::mirrored();
        let text = problems(&waiting, waiting.nodes.iter().map(|node| well(node, 0)).collect());
        assert!(text.contains("mirror group 1 waits for target 101, its last good member"), "{text}");
    }
}

// SPDX-License-Identifier: Apache-2.0

//! Waiting until services that were started work.
//!
//! **Failure model.** A service may end at once (port taken, directory foreign), hang, or run without getting anywhere
//! because another does not. The first is seen at once, the others when the time is over; each error names the service and
//! has the last lines of its log.

use super::cluster_dir::ClusterDir;
use super::files::tail;
use super::plan::{Kind, Plan, ServicePlan};
use super::service::Started;
use crate::cluster::{Cluster, ask_node};
use crate::exit::{Exit, Failure};
use crate::mount::table;
use nyala_wire::map::Reachability;
use nyala_wire::mgmt::MgmtRole;
use std::time::{Duration, Instant};

/// Lines of log in an error.
const LINES: usize = 12;
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a service answers; `started` is its process, if this command started it.
pub async fn await_service(
    cluster_dir: &ClusterDir,
    plan: &Plan,
    cluster: &Cluster,
    service: &ServicePlan,
    mut started: Option<&mut Started>,
    deadline: Instant,
) -> Result<(), Failure> {
    let log_from = started.as_ref().map_or(0, |started| started.log_from);
    let log = || tail(&cluster_dir.log(&service.name), log_from, LINES);
    loop {
        if is_there(plan, cluster, service).await {
            return Ok(());
        }
        if let Some(Ok(Some(status))) = started.as_mut().map(|started| started.child.try_wait()) {
            let message = format!("{} did not start ({status}); {}", service.name, log());
            return Err(Failure { exit: Exit::of_child(status.code()), message });
        }
        if Instant::now() >= deadline {
            return Err(Failure::failed(format!("{} does not answer; {}", service.name, log())));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn is_there(plan: &Plan, cluster: &Cluster, service: &ServicePlan) -> bool {
    match service.listen {
        Some(address) => ask_node(&[address], &cluster.handshake()).await.reached.is_some(),
        None => {
            // Asked on a thread of its own: a mount that is not served yet makes the question wait.
            let path = plan.mount.clone();
            let ask = move || matches!(table::at(&path), Ok(Some(_))) && rustix::fs::statfs(&path).is_ok();
            let answered = tokio::time::timeout(Duration::from_secs(5), tokio::task::spawn_blocking(ask)).await;
            answered.is_ok_and(|answer| answer.unwrap_or(false))
        }
    }
}

/// Waits until all management nodes have their vote, and all metadata and storage targets are registered and online.
pub async fn await_all(
    cluster_dir: &ClusterDir,
    plan: &Plan,
    cluster: &Cluster,
    deadline: Instant,
) -> Result<(), Failure> {
    loop {
        let missing = missing(plan, cluster).await?;
        let Some(first) = missing.first() else { return Ok(()) };
        if Instant::now() >= deadline {
            return Err(Failure::failed(format!(
                "not all services came online; missing: {}; {}",
                missing.join(", "),
                tail(&cluster_dir.log(first), 0, LINES)
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Services that are not in the map with all their targets online, and management nodes without a vote.
async fn missing(plan: &Plan, cluster: &Cluster) -> Result<Vec<String>, Failure> {
    let map = cluster.map().await?;
    let mut mgmt: Vec<&ServicePlan> = plan.of(Kind::Mgmtd).collect();
    if mgmt.len() > 1 {
        let mut voters = cluster.mgmt_nodes().await?;
        voters.retain(|node| node.role != MgmtRole::Learner && node.reachable);
        let votes = |service: &&ServicePlan| {
            voters.iter().any(|node| service.listen.is_some_and(|listen| node.addresses.contains(&listen)))
        };
        mgmt.retain(|service| !votes(service));
    } else {
        // It has answered, so it leads.
        mgmt.clear();
    }
    let is_online = |service: &&ServicePlan| {
        let node = map.nodes.iter().find(|node| service.listen.is_some_and(|listen| node.addresses.contains(&listen)));
        let Some(node) = node else { return false };
        let wanted = if service.kind == Kind::Storage { service.targets.len() } else { 1 };
        let online =
            |target: &&nyala_wire::map::Target| target.node == node.id && target.reachability == Reachability::Online;
        map.targets.iter().filter(online).count() >= wanted
    };
    let servers = plan.services.iter().filter(|service| matches!(service.kind, Kind::Meta | Kind::Storage));
    let servers = servers.filter(|service| !is_online(service));
    Ok(mgmt.into_iter().chain(servers).map(|service| service.name.clone()).collect())
}

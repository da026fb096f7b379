// SPDX-License-Identifier: Apache-2.0

//! What the services of a cluster say over their connections: state and changes, health, metrics.
//!
//! **Failure model.** Any of them may be away, hang, or be of an older version: it is named, and the others are asked all the same. Services are
//! asked several at once, and all of it has an end.

use super::archive::Archive;
use crate::cluster::{Cluster, ask_node, metrics_page};
use crate::command::health_check;
use crate::exit::Failure;
use nyala_transport::member::MgmtError;
use nyala_wire::map::{ClusterMap, Role};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, ServiceStats, StateChange};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Most services that are asked at once.
const MAX_CONCURRENT: usize = 16;

/// Adds everything; until when at the latest. With the cluster map, if that was to be had.
pub async fn add<W: Write>(
    archive: &mut Archive<W>,
    cluster: &Cluster,
    end: Instant,
) -> io::Result<Option<ClusterMap>> {
    let map = piece(archive, "cluster/map.json", end, cluster.map()).await?;
    piece(archive, "cluster/capacities.json", end, cluster.capacities()).await?;
    piece(archive, "cluster/management.json", end, cluster.mgmt_nodes()).await?;
    piece(archive, "cluster/changes.json", end, changes(cluster)).await?;
    piece(archive, "cluster/health.json", end, health_check::examine(cluster)).await?;
    if let Some(map) = &map {
        services(archive, cluster, map, end).await?;
    }
    Ok(map)
}

/// The last changes of the cluster state, as the leader remembers them, newest first.
async fn changes(cluster: &Cluster) -> Result<Vec<StateChange>, Failure> {
    match cluster.ask(MgmtRequest::Changes).await? {
        MgmtReply::Changes(changes) => Ok(changes),
        _ => Err(MgmtError::UnexpectedReply.into()),
    }
}

/// Adds one answer, or says why there is none.
async fn piece<W: Write, T: Serialize>(
    archive: &mut Archive<W>,
    name: &str,
    end: Instant,
    answer: impl Future<Output = Result<T, Failure>>,
) -> io::Result<Option<T>> {
    match timeout_at(end, answer).await {
        Ok(Ok(answer)) => archive.add_json(name, &answer).map(|()| Some(answer)),
        Ok(Err(failure)) => {
            archive.missing(name, &failure.message);
            Ok(None)
        }
        Err(_) => {
            archive.missing(name, NO_TIME);
            Ok(None)
        }
    }
}

/// Why something was not waited for.
const NO_TIME: &str = "the time of --time was over";

/// What came of asking one service.
struct Said {
    name: String,
    page: Result<String, String>,
    stats: Result<ServiceStats, String>,
}

/// Metrics and counters of every service, in the order of their ids.
async fn services<W: Write>(
    archive: &mut Archive<W>,
    cluster: &Cluster,
    map: &ClusterMap,
    end: Instant,
) -> io::Result<()> {
    let mut nodes: Vec<_> = map.nodes.iter().filter(|node| node.role != Role::Client).cloned().collect();
    nodes.sort_by_key(|node| node.id);
    let names: Vec<String> = nodes.iter().map(|node| format!("{}-{}", node.id, node.alias)).collect();
    let (mut waiting, mut asked) = (nodes.into_iter().zip(names.clone()).rev().collect::<Vec<_>>(), JoinSet::new());
    let mut said: Vec<Said> = Vec::new();
    loop {
        while asked.len() < MAX_CONCURRENT
            && let Some((node, name)) = waiting.pop()
        {
            let handshake = cluster.handshake();
            asked.spawn_local(async move {
                let answer = ask_node(&node.addresses, &handshake).await;
                let failed = answer.failed.first().map_or("it has no address".to_owned(), |(_, why)| why.to_string());
                let page = match answer.reached {
                    Some((address, _)) => metrics_page(address, &handshake).await.map_err(|why| why.to_string()),
                    None => Err(failed.clone()),
                };
                Said { name, page, stats: answer.stats.ok_or(failed) }
            });
        }
        match timeout_at(end, asked.join_next()).await {
            Ok(Some(Ok(one))) => said.push(one),
            Ok(Some(Err(_))) => {}
            Ok(None) | Err(_) => break,
        }
    }
    for name in names {
        let Some(one) = said.iter().find(|one| one.name == name) else {
            archive.missing(&format!("service {name}"), NO_TIME);
            continue;
        };
        match &one.page {
            Ok(page) => archive.add(&format!("services/{name}/metrics.txt"), page.as_bytes(), None)?,
            Err(why) => archive.missing(&format!("services/{name}/metrics.txt"), why),
        }
        match &one.stats {
            Ok(stats) => archive.add_json(&format!("services/{name}/counters.json"), stats)?,
            Err(why) => archive.missing(&format!("services/{name}/counters.json"), why),
        }
    }
    Ok(())
}

/// Longest wait for all services unless something else is said.
pub const DEFAULT_TIME: Duration = Duration::from_secs(60);

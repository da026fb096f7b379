// SPDX-License-Identifier: Apache-2.0

//! `nyala status`: the processes of the cluster of `nyala up`.

use super::json_name::json_name;
use crate::cluster::{Cluster, ask_node};
use crate::exit::{Exit, Outcome};
use crate::mount::table;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::up::{ClusterDir, DEFAULT_DIR, Kind, Plan, ServicePlan, ServiceState, state};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Longest wait for a connection.
const LISTENS: Duration = Duration::from_secs(1);

/// Flags of `nyala status`.
#[derive(Clone, Debug, clap::Args)]
pub struct StatusArgs {
    /// Directory of the cluster
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
}

/// How a service's process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessState {
    /// It runs and answers.
    Running,
    /// It runs and does not answer.
    NotAnswering,
    /// There is no process.
    Stopped,
}

/// A service's process.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    name: String,
    kind: Kind,
    pid: Option<i32>,
    state: ProcessState,
    /// Where it listens, or where it is mounted.
    address: String,
    log: PathBuf,
}

/// Shows processes.
pub fn run(args: StatusArgs, output: Output) -> Outcome {
    let cluster_dir = ClusterDir::new(&args.dir);
    let plan = cluster_dir.load()?;
    let cluster = plan.cluster(&cluster_dir);
    if let Err(why) = &cluster {
        eprintln!("nyala: {why}; without it, only whether a service listens can be seen");
    }
    let statuses = block_on(async { Ok(collect(&cluster_dir, &plan, cluster.as_ref().ok()).await) })?;
    show(output, &statuses, |statuses| render(statuses))?;
    // A mount that nobody asked for is not missed.
    let well = |status: &Status| match (status.kind, status.state) {
        (_, ProcessState::Running) => true,
        (Kind::Mount, ProcessState::Stopped) => cluster_dir.process(&status.name).is_none(),
        _ => false,
    };
    Ok(if statuses.iter().all(well) { Exit::Ok } else { Exit::Degraded })
}

/// Looks at every service of the cluster.
pub async fn collect(cluster_dir: &ClusterDir, plan: &Plan, cluster: Option<&Cluster>) -> Vec<Status> {
    let mut statuses = Vec::new();
    for service in &plan.services {
        let pid = match state(cluster_dir, service) {
            ServiceState::Running(running) => Some(running.id.pid),
            ServiceState::Stopped => None,
        };
        let state = match pid {
            None => ProcessState::Stopped,
            Some(_) if answers(plan, service, cluster).await => ProcessState::Running,
            Some(_) => ProcessState::NotAnswering,
        };
        let address = service.listen.map_or_else(|| plan.mount.display().to_string(), |listen| listen.to_string());
        let (name, kind, log) = (service.name.clone(), service.kind, cluster_dir.log(&service.name));
        statuses.push(Status { name, kind, pid, state, address, log });
    }
    statuses
}

async fn answers(plan: &Plan, service: &ServicePlan, cluster: Option<&Cluster>) -> bool {
    match (service.listen, cluster) {
        (Some(listen), Some(cluster)) => ask_node(&[listen], &cluster.handshake()).await.reached.is_some(),
        // Who cannot read the secret can still see whether somebody listens.
        (Some(listen), None) => {
            let connected = tokio::time::timeout(LISTENS, tokio::net::TcpStream::connect(listen)).await;
            connected.is_ok_and(|connected| connected.is_ok())
        }
        (None, _) => matches!(table::at(&plan.mount), Ok(Some(_))),
    }
}

fn render(statuses: &[Status]) -> String {
    let mut table = Table::new(&["NAME", "TYPE", "PID", "STATE", "ADDRESS"]);
    for status in statuses {
        let pid = status.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        table.row([
            status.name.clone(),
            json_name(&status.kind),
            pid,
            json_name(&status.state),
            status.address.clone(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::ClusterOptions;

    #[test]
    fn without_the_secret_a_service_that_listens_is_not_called_silent() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = Plan::new(&ClusterOptions::default()).unwrap();
        let service = &mut plan.services[0];
        service.listen = Some(listener.local_addr().unwrap());
        let service = service.clone();
        assert!(block_on(async { Ok(answers(&plan, &service, None).await) }).unwrap());
        drop(listener);
        assert!(!block_on(async { Ok(answers(&plan, &service, None).await) }).unwrap());
    }

    #[test]
    fn what_was_never_started_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::new(&ClusterOptions::default()).unwrap();
        let address = plan.service("meta2").unwrap().listen.unwrap().to_string();
        let statuses = block_on(async { Ok(collect(&ClusterDir::new(dir.path()), &plan, None).await) }).unwrap();
        assert!(statuses.iter().all(|status| status.state == ProcessState::Stopped));
        let text = render(&statuses);
        assert!(text.contains("meta2") && text.contains(&address) && text.contains("stopped"), "{text}");
    }
}

// SPDX-License-Identifier: Apache-2.0

//! `nyala bench sessions`: what clients cost that are merely there, and whether many busy ones cost more than one.
//!
//! One client works with as many tasks as there will be busy clients; then idle sessions are opened; then as many clients
//! as tasks do the same work. Memory and CPU are the servers' own figures.
//!
//! **Failure model.** A session that cannot be opened ends the benchmark with its message; one that is lost while the
//! others work is counted and said. All sessions end with the process: servers forget them after their time.

mod holders;
mod idle;
mod job;
mod one;
mod render;
mod report;
mod work;

pub use job::SessionsJob;
pub use render::render;
pub use report::{Report, Server, Work};

use super::measure::services::Services;
use crate::error::BenchError;
use crate::report::aim::at_most;
use holders::{Holders, Outcome};
use nyala_client::{Client, ClientConfig};
use nyala_wire::map::ClusterMap;
use std::time::Duration;

/// Name of the aim, also where it was not measured.
pub const MEMORY_AIM: &str = "memory per connected idle client, worst server";
/// KiB that a client may take.
pub const MEMORY_AIM_KIB: f64 = 256.0;

/// Only holds sessions.
pub async fn hold(config: &ClientConfig, map: &ClusterMap, count: usize) -> Result<(), BenchError> {
    holders::hold(config, map, count).await.map_err(BenchError::Failed)
}

async fn open(job: &SessionsJob, services: usize) -> Result<Holders, BenchError> {
    let (host, flags, idle) = (job.host.clone(), job.cluster_flags.clone(), job.idle);
    let opened = tokio::task::spawn_blocking(move || Holders::start(&host, &flags, idle, services)).await;
    opened.map_err(|error| BenchError::failed(error.to_string()))?.map_err(BenchError::Failed)
}

/// Runs it.
pub async fn run(job: &SessionsJob) -> Result<Report, BenchError> {
    let failed = BenchError::Failed;
    let client = Client::connect(job.config.clone()).await?;
    let services = Services::new(&job.config, &client.map());
    let setting = work::setting(&services);
    let mut done = work::run(job, &services, 1).await.map_err(failed)?;
    job.ended.one();

    let before = services.stats().await.map_err(failed)?;
    let holders = open(job, services.total()).await?;
    // What was only needed for opening has been given back by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let with = services.stats().await.map_err(failed)?;
    job.ended.one();
    let rest = job.span.max(Duration::from_secs(1));
    tokio::time::sleep(rest).await;
    let after = services.stats().await.map_err(failed)?;
    job.ended.one();
    let servers: Vec<Server> = before
        .into_iter()
        .zip(with)
        .zip(after)
        .map(|(((role, name, before), (_, _, with)), (_, _, after))| {
            let grown = with.resident_bytes.saturating_sub(before.resident_bytes);
            Server {
                role,
                name,
                before_bytes: before.resident_bytes,
                with_bytes: with.resident_bytes,
                per_session_bytes: grown as f64 / job.idle.max(1) as f64,
                idle_cpu_percent: after.cpu_us.saturating_sub(with.cpu_us) as f64 / 1e4 / rest.as_secs_f64(),
            }
        })
        .collect();
    done.extend(work::run(job, &services, job.busy).await.map_err(failed)?);
    job.ended.one();
    let Outcome { lost, again } = holders.end().map_err(failed)?;
    // What it did is done; a failing goodbye changes nothing.
    let _ = client.shutdown().await;
    let worst = servers.iter().map(|server| server.per_session_bytes / 1024.0).fold(0.0, f64::max);
    let aims = vec![at_most(MEMORY_AIM, (job.idle > 0).then_some(worst), MEMORY_AIM_KIB, "KiB")];
    Ok(Report { bench: "sessions", setting, idle: job.idle, lost, again, servers, work: done, aims })
}

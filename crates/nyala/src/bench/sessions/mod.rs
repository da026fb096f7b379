// SPDX-License-Identifier: Apache-2.0

//! `nyala bench sessions`: what clients cost that are merely there, and whether many busy ones cost more than one.
//!
//! One client works with as many tasks as there will be busy clients; then idle sessions are opened; then as many clients
//! as tasks do the same work. Memory and CPU are the servers' own figures.
//!
//! **Failure model.** A session that cannot be opened ends the benchmark with its message; one that is lost while the
//! others work is counted and said. All sessions end with the process: servers forget them after their time.

mod args;
mod holders;
mod idle;
mod one;
mod render;
mod report;
mod work;

pub use args::SessionsArgs;
pub use render::render;
pub use report::{Report, Server, Work};

use super::measure::services::Services;
use crate::bench::report::aim::at_most;
use crate::exit::Failure;
use holders::Holders;
use nyala_client::{Client, ClientConfig};
use nyala_wire::map::ClusterMap;
use std::time::Duration;

/// Name of the aim, also where it was not measured.
pub const MEMORY_AIM: &str = "memory per connected idle client, worst server";
/// KiB that a client may take.
pub const MEMORY_AIM_KIB: f64 = 256.0;

async fn configuration(args: &SessionsArgs) -> Result<(ClientConfig, ClusterMap), Failure> {
    let cluster = args.cluster.find()?;
    let map = cluster.map().await?;
    let mut config = ClientConfig::new(cluster.mgmt.clone(), cluster.secret.clone(), "nyala bench sessions");
    config.retry_timeout = Duration::from_secs(60);
    config.encrypt = cluster.encrypt;
    Ok((config, map))
}

/// Only holds sessions.
pub async fn hold(args: &SessionsArgs, count: usize) -> Result<(), Failure> {
    let (config, map) = configuration(args).await?;
    holders::hold(&config, &map, count).await.map_err(Failure::failed)
}

async fn open(args: &SessionsArgs, services: usize) -> Result<Holders, Failure> {
    let (cluster, idle) = (args.cluster.clone(), args.idle);
    let opened = tokio::task::spawn_blocking(move || Holders::start(&cluster, idle, services)).await;
    opened.map_err(|error| Failure::failed(error.to_string()))?.map_err(Failure::failed)
}

/// Runs it.
pub async fn run(args: &SessionsArgs) -> Result<Report, Failure> {
    let failed = |why: String| Failure::failed(why);
    let (config, _) = configuration(args).await?;
    let client = Client::connect(config.clone()).await?;
    let services = Services::new(&config, &client.map());
    let setting = work::setting(&services);
    let mut done = work::run(&config, &services, 1, args).await.map_err(failed)?;

    let before = services.stats().await.map_err(failed)?;
    let holders = open(args, services.total()).await?;
    // What was only needed for opening has been given back by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let with = services.stats().await.map_err(failed)?;
    let rest = Duration::from_secs(args.seconds.max(1));
    tokio::time::sleep(rest).await;
    let after = services.stats().await.map_err(failed)?;
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
                per_session_bytes: grown as f64 / args.idle.max(1) as f64,
                idle_cpu_percent: after.cpu_us.saturating_sub(with.cpu_us) as f64 / 1e4 / rest.as_secs_f64(),
            }
        })
        .collect();
    done.extend(work::run(&config, &services, args.busy, args).await.map_err(failed)?);
    let lost = holders.end().map_err(failed)?;
    // What it did is done; a failing goodbye changes nothing.
    let _ = client.shutdown().await;
    let worst = servers.iter().map(|server| server.per_session_bytes / 1024.0).fold(0.0, f64::max);
    let aims = vec![at_most(MEMORY_AIM, (args.idle > 0).then_some(worst), MEMORY_AIM_KIB, "KiB")];
    Ok(Report { bench: "sessions", setting, idle: args.idle, lost, servers, work: done, aims })
}

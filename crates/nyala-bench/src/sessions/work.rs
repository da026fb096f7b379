// SPDX-License-Identifier: Apache-2.0

//! The same small-file work by one client and by many clients.
//!
//! **Failure model.** An operation that fails ends the benchmark; what was made is removed all the same.

use super::job::SessionsJob;
use super::report::Work;
use crate::driver::native::Native;
use crate::driver::{Content, Site};
use crate::engine::{Outcome, Workers};
use crate::measure::services::{RoleCpu, Services};
use crate::plan::fill::Fill;
use crate::plan::{Phase, meta};
use crate::report::Setting;
use crate::stop::Stop;
use nyala_client::Client;
use nyala_wire::map::Role;
use std::sync::Arc;
use std::time::Duration;

/// Files of each task at most.
const FILES: u64 = 200;
/// Threads that the clients share.
const THREADS: usize = 2;
/// Servers finish what they put off.
const REST: Duration = Duration::from_millis(700);

/// This machine and the cluster.
pub fn setting(services: &Services) -> Setting {
    Setting {
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        native_threads: THREADS,
        meta: services.count(Role::Meta),
        storage: services.count(Role::Storage),
        ..Setting::default()
    }
}

/// Does the work with so many clients, always with the same number of tasks.
pub async fn run(job: &SessionsJob, services: &Services, clients: u16) -> Result<Vec<Work>, String> {
    let mut all = Vec::new();
    for _ in 0..clients {
        all.push(Client::connect(job.config.clone()).await.map_err(|error| error.to_string())?);
    }
    let tasks = usize::from(job.busy);
    let workload = meta::small(meta::Sizes { tasks, files: FILES, seed: 1 });
    let content = Content { fill: Arc::new(Fill::new(1, meta::SMALL_BYTES)), verify: true };
    let name = format!(".nyala-bench-sessions-{}-{clients}", std::process::id());
    let site = Arc::new(Native::shared(all.clone(), name));
    let result = match site.prepare(&workload.dirs).await {
        Ok(()) => phases(&site, &workload.phases, &content, services, usize::from(clients), job).await,
        Err(error) => Err(error),
    };
    let cleaned = site.clean_up().await;
    for client in all {
        // What it did is done; a failing goodbye changes nothing.
        let _ = client.shutdown().await;
    }
    cleaned.and(result)
}

async fn phases(
    site: &Arc<Native>,
    phases: &[Phase],
    content: &Content,
    services: &Services,
    clients: usize,
    job: &SessionsJob,
) -> Result<Vec<Work>, String> {
    let workers = Workers::start(site, THREADS)?;
    let limit = (!job.span.is_zero()).then_some(job.span);
    let (mut rows, mut made) = (Vec::new(), Vec::new());
    for phase in phases {
        let before = rested(services).await?;
        let outcome = workers.run(phase, &made, content, limit, &Stop::default()).await?;
        let cpu = rested(services).await?.since(&before)?;
        rows.push(row(phase, clients, &outcome, cpu));
        if phase.step.makes() {
            made = outcome.done;
        }
    }
    Ok(rows)
}

async fn rested(services: &Services) -> Result<RoleCpu, String> {
    services.checkpoint().await?;
    tokio::time::sleep(REST).await;
    services.taken().await.map(|taken| taken.cpu)
}

fn row(phase: &Phase, clients: usize, outcome: &Outcome, cpu: RoleCpu) -> Work {
    let ops = outcome.latency.count();
    Work {
        step: phase.step.name(),
        clients,
        tasks: phase.tasks,
        ops,
        per_s: ops as f64 / outcome.took.as_secs_f64().max(1e-9),
        p99_us: outcome.latency.percentiles().p99,
        servers_us: cpu.total_us() as f64 / ops.max(1) as f64,
    }
}

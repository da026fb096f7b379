// SPDX-License-Identifier: Apache-2.0

//! The same files written and read in each placement in turn.
//!
//! **Failure model.** A write or a read that fails ends it with its path; what was made goes with the cluster. CPU time is taken when all processes have come to rest,
//! or after three seconds, so that what they do in the background counts for what caused it.

use super::cluster::ParityCluster;
use super::compare::Cost;
use super::placement::Placement;
use super::space;
use crate::caches::drop_caches;
use crate::driver::posix::Posix;
use crate::driver::{Content, Site};
use crate::ended::Ended;
use crate::engine::Workers;
use crate::error::BenchError;
use crate::measure::cpu;
use crate::measure::rest::cpu_at_rest;
use crate::peers::cpu_us;
use crate::plan::data::{Sizes, easy};
use crate::plan::fill::Fill;
use crate::stop::Stop;
use std::sync::Arc;

/// Phases of a round.
pub const PHASES: u64 = 2 * Placement::ALL.len() as u64;

/// One round.
pub async fn round(cluster: &ParityCluster, sizes: Sizes, stop: &Stop, ended: &Ended) -> Result<Vec<Cost>, BenchError> {
    let mut costs = Vec::new();
    for placement in Placement::ALL {
        let failed = |error| BenchError::failed(format!("{}: {error}", placement.name()));
        let site = Arc::new(Posix::new(cluster.dir(placement).join("files")));
        let cost = measure(cluster, placement, &site, sizes, (stop, ended)).await.map_err(failed);
        let cleaned = site.clean_up().await.map_err(failed);
        costs.push(cost?);
        cleaned?;
    }
    Ok(costs)
}

/// CPU time of all that works, at rest, microseconds.
async fn clock(cluster: &ParityCluster) -> u64 {
    let root = cluster.root();
    cpu_at_rest(|| cpu_us(&root) + cpu::own_us() + cpu::children_us()).await
}

async fn measure(
    cluster: &ParityCluster,
    placement: Placement,
    site: &Arc<Posix>,
    sizes: Sizes,
    (stop, ended): (&Stop, &Ended),
) -> Result<Cost, String> {
    let workload = easy(sizes);
    let [write, read] = &workload.phases[..] else { return Err("it is written and then read".to_owned()) };
    let content = Content { fill: Arc::new(Fill::new(sizes.seed, sizes.transfer)), verify: false };
    let workers = Workers::start(site, sizes.tasks)?;
    site.prepare(&workload.dirs).await?;
    let going_on = || if stop.wanted() { Err(BenchError::stopped().to_string()) } else { Ok(()) };
    going_on()?;
    let taken = space::at_rest(&cluster.disks());
    let before = clock(cluster).await;
    let written = workers.run(write, &[], &content, None, stop).await?;
    going_on()?;
    if placement == Placement::Coded {
        cluster.encode(placement).map_err(|error| error.to_string())?;
    }
    let write_us = clock(cluster).await.saturating_sub(before);
    ended.one();
    drop_caches()?;
    let disk_bytes = space::at_rest(&cluster.disks()).saturating_sub(taken);
    let before = clock(cluster).await;
    let read = workers.run(read, &written.done, &content, None, stop).await?;
    let read_us = clock(cluster).await.saturating_sub(before);
    ended.one();
    going_on()?;
    if read.bytes != written.bytes {
        return Err(format!("{} bytes were written and {} read", written.bytes, read.bytes));
    }
    Ok(Cost { placement, bytes: written.bytes, write_us, read_us, disk_bytes })
}

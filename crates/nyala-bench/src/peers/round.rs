// SPDX-License-Identifier: Apache-2.0

//! One round on one file system: every workload, with the CPU time of its processes taken before and after each phase, when they have
//! come to rest.

use super::compare::Figure;
use super::kind::Kind;
use super::sizes::{Sizes, workloads};
use super::system::System;
use super::trees::Handling;
use crate::caches::drop_caches;
use crate::driver::posix::Posix;
use crate::driver::{Content, Site};
use crate::ended::Ended;
use crate::engine::Workers;
use crate::error::BenchError;
use crate::measure::rest::cpu_at_rest;
use crate::plan::Workload;
use crate::plan::fill::Fill;
use crate::stop::Stop;
use std::path::Path;
use std::sync::Arc;

/// CPU time once nobody works any more.
async fn at_rest(system: &System) -> u64 {
    if system.kind == Kind::Local {
        return 0;
    }
    cpu_at_rest(|| system.cpu_us()).await
}

/// A round.
pub struct Round<'a> {
    pub system: &'a System,
    pub sizes: &'a Sizes,
    /// The archive of the tree.
    pub archive: &'a Path,
    /// Whether its figures count.
    pub counts: bool,
    pub stop: &'a Stop,
    pub ended: &'a Ended,
}

impl Round<'_> {
    /// Does it all; figures of each phase.
    pub async fn run(&self) -> Result<Vec<Figure>, BenchError> {
        let workloads = workloads(self.sizes);
        let largest = workloads.iter().flat_map(|workload| &workload.phases).map(|phase| phase.bytes).max();
        let content = Content { fill: Arc::new(Fill::new(1, largest.unwrap_or(0))), verify: true };
        let base = self.system.mount().join(format!(".nyala-bench-peers-{}", std::process::id()));
        let site = Arc::new(Posix::new(base));
        let workers = Workers::start(&site, self.sizes.tasks.into()).map_err(BenchError::Failed)?;
        let mut figures = Vec::new();
        for workload in &workloads {
            let failed =
                |error| BenchError::failed(format!("{} on {}: {error}", workload.name, self.system.kind.name()));
            site.prepare(&workload.dirs).await.map_err(failed)?;
            let done = self.workload(workload, &workers, &content, &mut figures).await;
            let cleaned = site.clean_up().await;
            done.and(cleaned).map_err(failed)?;
        }
        self.trees(&mut figures).await?;
        Ok(figures)
    }

    /// CPU time so far, at rest.
    async fn clock(&self) -> u64 {
        if self.counts { at_rest(self.system).await } else { 0 }
    }

    async fn workload(
        &self,
        workload: &Workload,
        workers: &Workers,
        content: &Content,
        figures: &mut Vec<Figure>,
    ) -> Result<(), String> {
        let mut made = Vec::new();
        for phase in &workload.phases {
            if self.stop.wanted() {
                return Err("ended by a signal".to_owned());
            }
            if phase.step.wants_cold_caches() {
                tokio::task::spawn_blocking(drop_caches).await.map_err(|error| error.to_string())??;
            }
            let before = self.clock().await;
            let limit = Some(self.sizes.limit);
            let outcome = workers.run(phase, &made, content, limit, self.stop).await?;
            let after = self.clock().await;
            figures.push(Figure {
                workload: phase.workload.to_owned(),
                step: phase.step.name().to_owned(),
                items: outcome.items,
                bytes: outcome.bytes,
                seconds: outcome.took.as_secs_f64(),
                cpu_us: after.saturating_sub(before),
            });
            if phase.step.makes() {
                made = outcome.done;
            }
            self.ended.one();
        }
        Ok(())
    }

    async fn trees(&self, figures: &mut Vec<Figure>) -> Result<(), BenchError> {
        for handling in Handling::ALL {
            if self.stop.wanted() {
                return Err(BenchError::stopped());
            }
            if handling == Handling::Look {
                drop_caches().map_err(BenchError::Failed)?;
            }
            let before = self.clock().await;
            let took = handling.run(self.system.mount(), self.archive)?;
            let after = self.clock().await;
            figures.push(Figure {
                workload: "tree".to_owned(),
                step: handling.name().to_owned(),
                items: handling.items(self.sizes.tree),
                bytes: 0,
                seconds: took.as_secs_f64(),
                cpu_us: after.saturating_sub(before),
            });
            self.ended.one();
        }
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0

//! The parts of the whole, one after the other on one cluster.

use super::scores::{Parts, mirror_figures};
use crate::ended::Ended;
use crate::error::BenchError;
use crate::failure;
use crate::floors;
use crate::report;
use crate::session::{self, Job};
use crate::sessions::{self, SessionsJob};
use crate::stop::Stop;
use std::fmt::Display;

/// What is to be measured.
pub struct Plan {
    /// `bench meta`.
    pub meta: Job,
    /// `bench data`.
    pub data: Job,
    /// `bench sessions`.
    pub sessions: SessionsJob,
    /// `bench failure`, which makes a cluster of its own.
    pub failure: failure::Options,
    /// `bench floor`, with the sizes of `bench data`.
    pub floor: floors::Options,
}

impl Plan {
    /// Has all parts count the phases that have ended in one place. Gives that, and how many there are.
    pub fn count(&mut self) -> (Ended, u64) {
        let ended = self.meta.ended.clone();
        self.data.ended = ended.clone();
        self.floor.ended = ended.clone();
        self.sessions.ended = ended.clone();
        self.failure.ended = ended.clone();
        let jobs = self.meta.phases() + self.data.phases();
        (ended, jobs + self.floor.phases() + SessionsJob::PHASES + failure::states())
    }
}

fn report_error<T>(part: &str, result: Result<T, impl Display>) -> Result<T, String> {
    result.map_err(|error| {
        eprintln!("nyala bench {part}: {error}");
        format!("bench {part}: {error}")
    })
}

/// Runs all of them. A signal ends the whole.
pub async fn measure(plan: Plan, stop: &Stop) -> Result<Parts, BenchError> {
    let go_on = || if stop.wanted() { Err(BenchError::stopped()) } else { Ok(()) };
    let meta: Result<report::Report, String> = report_error("meta", session::run(plan.meta, stop).await);
    go_on()?;
    let data = report_error("data", session::run(plan.data, stop).await);
    go_on()?;
    let floor = report_error("floor", measure_floor(plan.floor, stop).await);
    go_on()?;
    let sessions = report_error("sessions", sessions::run(&plan.sessions).await);
    go_on()?;
    let mirrors = report_error("failure", failure::run(&plan.failure, stop).await);
    go_on()?;
    let mirrors = mirrors.and_then(|study| mirror_figures(&study.report));
    Ok(Parts { meta, data, sessions, mirrors, floor, mirrored_data: Err("not measured".to_owned()) })
}

/// The floor, right behind what it is held against.
async fn measure_floor(options: floors::Options, stop: &Stop) -> Result<floors::FloorReport, BenchError> {
    let stop = stop.clone();
    let run = tokio::task::spawn_blocking(move || floors::run(&options, &stop)).await;
    run.unwrap_or_else(|error| Err(BenchError::failed(format!("it died: {error}"))))
}

/// Data on a cluster of its own whose files are mirrored; `job` finds it, or says why there is none. A signal ends the whole.
pub async fn measure_mirrored(
    job: Result<Job, String>,
    stop: &Stop,
) -> Result<Result<report::Report, String>, BenchError> {
    let report = match report_error("data, mirrored", job) {
        Ok(job) => report_error("data, mirrored", session::run(job, stop).await),
        Err(why) => Err(why),
    };
    if stop.wanted() { Err(BenchError::stopped()) } else { Ok(report) }
}

// SPDX-License-Identifier: Apache-2.0

//! The parts of the whole, one after the other on one cluster.

use super::scores::{Parts, mirror_figures};
use crate::error::BenchError;
use crate::failure;
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
}

fn told<T>(part: &str, result: Result<T, impl Display>) -> Result<T, String> {
    result.map_err(|error| {
        eprintln!("nyala bench {part}: {error}");
        format!("bench {part}: {error}")
    })
}

/// Runs all of them. A signal ends the whole.
pub async fn measure(plan: Plan, stop: &Stop) -> Result<Parts, BenchError> {
    let go_on = || if stop.wanted() { Err(BenchError::stopped()) } else { Ok(()) };
    let meta: Result<report::Report, String> = told("meta", session::run(plan.meta, stop).await);
    go_on()?;
    let data = told("data", session::run(plan.data, stop).await);
    go_on()?;
    let sessions = told("sessions", sessions::run(&plan.sessions).await);
    go_on()?;
    let mirrors = told("failure", failure::run(&plan.failure, stop).await);
    go_on()?;
    Ok(Parts { meta, data, sessions, mirrors: mirrors.and_then(|study| mirror_figures(&study.report)) })
}

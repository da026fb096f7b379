// SPDX-License-Identifier: Apache-2.0

//! What a directory costs that is split: CPU time of all metadata services for an operation in it, by what it is where one server has the
//! whole directory, and how evenly servers share it. The same work is done on clusters of different size in turn, several times. Pure.

use crate::plan::Step;
use crate::ratio::Ratio;
use crate::report::aim::{Aim, at_most};
use crate::report::{Backend, Report, Row};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an operation may cost at most, by what it costs on one server; and the busiest server's share, by that of all on average.
const LIMIT: f64 = 1.1;
/// The workload that counts.
const WORKLOAD: &str = "shared";
const STEPS: [Step; 3] = [Step::Create, Step::Stat, Step::Unlink];
const BACKENDS: [Backend; 2] = [Backend::Native, Backend::Mount];

/// An operation on a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// Metadata servers of the cluster.
    pub servers: u16,
    /// What was done.
    pub step: Step,
    /// Through what.
    #[serde(rename = "place")]
    pub backend: Backend,
    /// CPU time of all metadata services for an operation, microseconds, all rounds together.
    pub us: f64,
    /// By what it is on one server: the median of the rounds, and the least and the most.
    pub ratio: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// The CPU time of the busiest server by that of all servers on average, all rounds together.
    pub busiest: f64,
    /// CPU time of each service for an operation, microseconds, by its name.
    pub services_us: BTreeMap<String, f64>,
    /// Requests to metadata servers for an operation, where the client is this process.
    pub requests: Option<f64>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Operation by operation.
    pub operations: Vec<Operation>,
    /// Median ratios next to what they should be.
    pub aims: Vec<Aim>,
}

/// A round: a report for each cluster, by its number of metadata servers, the one with one server first.
pub type Round = Vec<(u16, Report)>;

fn find(report: &Report, step: Step, backend: Backend) -> Option<&Row> {
    let same = |row: &&Row| row.workload == WORKLOAD && row.step == step && row.backend == backend;
    report.rows.iter().find(same).filter(|row| row.items > 0)
}

fn meta_us(row: &Row) -> f64 {
    row.cpu.meta_us.unwrap_or(0) as f64
}

fn per_item(rows: &[&Row], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(|row| of(row)).sum::<f64>() / rows.iter().map(|row| row.items as f64).sum::<f64>()
}

/// One operation on the clusters with so many servers, over all rounds.
fn operation(rounds: &[Round], servers: u16, step: Step, backend: Backend) -> Option<Operation> {
    let of = |round: &Round, servers| {
        let report = round.iter().find(|(number, _)| *number == servers).map(|(_, report)| report)?;
        find(report, step, backend).cloned()
    };
    let pairs: Vec<(Row, Row)> = rounds.iter().filter_map(|round| Some((of(round, 1)?, of(round, servers)?))).collect();
    let cost = |row: &Row| meta_us(row) / row.items as f64;
    let ratio = Ratio::of(pairs.iter().map(|(one, these)| cost(these) / cost(one)))?;
    let rows: Vec<&Row> = pairs.iter().map(|(_, row)| row).collect();
    let used = |row: &Row, name: &str| {
        row.meta_each_us.iter().find(|(other, _)| other == name).map_or(0.0, |(_, us)| *us as f64)
    };
    let names = rows.iter().flat_map(|row| row.meta_each_us.iter().map(|(name, _)| name.clone()));
    let services_us: BTreeMap<String, f64> =
        names.map(|name| (name.clone(), per_item(&rows, |row| used(row, &name)))).collect();
    let us = per_item(&rows, meta_us);
    let busiest = services_us.values().copied().fold(0.0, f64::max);
    let asked = rows.iter().all(|row| row.requests.is_some());
    let requests = asked.then(|| per_item(&rows, |row| row.requests.as_ref().map_or(0.0, |all| all.meta as f64)));
    Some(Operation {
        servers,
        step,
        backend,
        us,
        ratio: ratio.median,
        least: ratio.least,
        most: ratio.most,
        busiest: busiest * f64::from(servers) / us,
        services_us,
        requests,
    })
}

/// Compares clusters in all rounds.
pub fn compare(rounds: &[Round]) -> Comparison {
    let (mut operations, mut wanted) = (Vec::new(), Vec::new());
    let sizes: Vec<u16> = rounds.first().into_iter().flatten().map(|(servers, _)| *servers).collect();
    for (backend, step) in BACKENDS.into_iter().flat_map(|backend| STEPS.map(|step| (backend, step))) {
        for &servers in &sizes {
            let found = operation(rounds, servers, step, backend);
            if servers > 1 {
                let what = format!("{} through {}, {servers} servers", step.name(), backend.name());
                let ratio = found.as_ref().map(|found| found.ratio);
                let busiest = found.as_ref().map(|found| found.busiest);
                let cost = at_most(&format!("metadata CPU per {what} ÷ one server"), ratio, LIMIT, "×");
                let even = at_most(&format!("busiest ÷ average server, {what}"), busiest, LIMIT, "×");
                wanted.extend([cost, even].map(|aim| aim.because("its phase did nothing")));
            }
            operations.extend(found);
        }
    }
    Comparison { operations, aims: wanted }
}

pub mod document;
#[cfg(test)]
mod tests;

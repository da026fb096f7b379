// SPDX-License-Identifier: Apache-2.0

//! What very many names cost, in one directory or in many: CPU time of all metadata services for each, their memory, and what the names take
//! on disk. Pure.

use crate::plan::Step;
use crate::report::aim::{Aim, at_most};
use crate::report::{Held, Report, Row};
use serde::Serialize;

/// Largest size of an empty file in the tables, bytes.
const DISK_BYTES: f64 = 400.0;

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// Directories that the names are in.
    pub directories: u64,
    /// What was done.
    pub step: Step,
    /// How often, or how many names were listed.
    pub items: u64,
    /// In a second.
    pub rate: f64,
    /// CPU time of all metadata services for each, microseconds.
    pub meta_us: Option<f64>,
    /// CPU time of the client for each, microseconds.
    pub client_us: Option<f64>,
    /// Longest of 99 in 100 operations (a listing asks many times for one), microseconds.
    pub p99_us: f64,
    /// Requests to metadata services for each.
    pub requests: Option<f64>,
    /// What all metadata services hold afterwards.
    pub held: Held,
}

/// What was measured in one form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Form {
    /// Directories that the names are in.
    pub directories: u64,
    /// Names.
    pub names: u64,
    /// Metadata services.
    pub servers: u64,
    /// What they held before.
    pub before: Held,
    /// What a name takes in the tables once all are there, bytes.
    pub disk_bytes: f64,
    /// Resident memory of a metadata service when all names are there, bytes: the average.
    pub memory_bytes: u64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ManyNames {
    /// Form by form.
    pub forms: Vec<Form>,
    /// Operation by operation.
    pub operations: Vec<Operation>,
    /// What was wanted.
    pub aims: Vec<Aim>,
}

/// Names in one form: so many directories, what services held before, and what a run found.
pub type Run = (u64, Held, Report);

fn operation(directories: u64, row: &Row) -> Operation {
    let requests = row.requests.filter(|_| row.items > 0);
    Operation {
        directories,
        step: row.step,
        items: row.items,
        rate: row.rate(),
        meta_us: row.us_per_item(row.cpu.meta_us),
        client_us: row.us_per_item(row.cpu.client_us),
        p99_us: row.latency_us.p99,
        requests: requests.map(|all| all.meta as f64 / row.items as f64),
        held: row.meta_held,
    }
}

fn form((directories, before, report): &Run) -> Option<Form> {
    let made = report.rows.iter().find(|row| row.step == Step::Create).filter(|row| row.items > 0)?;
    let servers = report.setting.meta as u64;
    Some(Form {
        directories: *directories,
        names: made.items,
        servers,
        before: *before,
        disk_bytes: made.meta_held.table_bytes.saturating_sub(before.table_bytes) as f64 / made.items as f64,
        memory_bytes: made.meta_held.resident_bytes / servers.max(1),
    })
}

/// Sums up runs in all forms.
pub fn sum_up(runs: &[Run]) -> ManyNames {
    let forms: Vec<Form> = runs.iter().filter_map(form).collect();
    let operations = runs
        .iter()
        .flat_map(|(directories, _, report)| report.rows.iter().map(move |row| operation(*directories, row)));
    let aim = |(directories, ..): &Run| {
        let found = forms.iter().find(|form| form.directories == *directories);
        let what = format!("bytes on disk for a name, directories: {directories}");
        at_most(&what, found.map(|form| form.disk_bytes), DISK_BYTES, "B").because("no name was made")
    };
    let aims = runs.iter().map(aim).collect();
    ManyNames { operations: operations.collect(), aims, forms }
}

pub mod document;
#[cfg(test)]
mod tests;

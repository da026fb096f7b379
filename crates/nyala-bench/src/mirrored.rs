// SPDX-License-Identifier: Apache-2.0

//! What mirrored metadata costs: CPU time of all metadata services for an operation, by what it is on a server that is not mirrored.
//! The same work is done on both in turn, several times. Pure.

use crate::document::{Document, Table};
use crate::plan::Step;
use crate::ratio::Ratio;
use crate::report::aim::{Aim, at_most};
use crate::report::table::{aims, figure};
use crate::report::{Backend, Report, Row};
use serde::Serialize;
use std::collections::BTreeMap;

/// What changes and what reads may cost at most, mirrored by unmirrored.
const CHANGE: f64 = 2.1;
const READ: f64 = 1.05;
/// What is held against them: the workload, its operation, its name, and its limit.
const WANTED: [(&str, Step, &str, f64); 6] = [
    ("easy", Step::Create, "create (empty file)", CHANGE),
    ("easy", Step::Stat, "stat", READ),
    ("easy", Step::Unlink, "unlink (empty file)", CHANGE),
    ("small", Step::WriteFile, "4 KiB file create+write+close", CHANGE),
    ("small", Step::ReadFile, "4 KiB file open+read+close", READ),
    ("small", Step::Unlink, "4 KiB file unlink", CHANGE),
];

/// An operation on both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// The workload.
    pub workload: &'static str,
    /// What was done.
    pub step: Step,
    /// CPU time of all metadata services for an operation where they are not mirrored, microseconds, all rounds together.
    pub unmirrored_us: f64,
    /// The same where they are.
    pub mirrored_us: f64,
    /// The latter of each service, by its name.
    pub services_us: BTreeMap<String, f64>,
    /// Mirrored by unmirrored: the median of the rounds, and the least and the most.
    pub ratio: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Mirrored by unmirrored rate of operations, all rounds together.
    pub rate: f64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Operation by operation.
    pub operations: Vec<Operation>,
    /// Median ratios next to what they should be.
    pub aims: Vec<Aim>,
}

fn row<'a>(report: &'a Report, workload: &str, step: Step) -> Option<&'a Row> {
    let same = |row: &&Row| row.workload == workload && row.step == step && row.backend == Backend::Native;
    report.rows.iter().find(same).filter(|row| row.items > 0)
}

/// A sum over rounds for each operation.
fn per_item(rows: &[&Row], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(|row| of(row)).sum::<f64>() / rows.iter().map(|row| row.items as f64).sum::<f64>()
}

fn meta_us(row: &Row) -> f64 {
    row.cpu.meta_us.unwrap_or(0) as f64
}

/// One operation over all rounds in which it was done on both.
fn operation(rounds: &[(Report, Report)], workload: &'static str, step: Step) -> Option<Operation> {
    let both = |(plain, mirrored)| Some((row(plain, workload, step)?, row(mirrored, workload, step)?));
    let pairs: Vec<(&Row, &Row)> = rounds.iter().filter_map(|(plain, mirrored)| both((plain, mirrored))).collect();
    let cost = |row: &Row| meta_us(row) / row.items as f64;
    let ratio = Ratio::of(pairs.iter().map(|(plain, mirrored)| cost(mirrored) / cost(plain)))?;
    let (plain, mirrored): (Vec<&Row>, Vec<&Row>) = pairs.into_iter().unzip();
    let names = mirrored.iter().flat_map(|row| row.meta_each_us.iter().map(|(name, _)| name.clone()));
    let used = |row: &Row, name: &str| {
        let found = row.meta_each_us.iter().find(|(other, _)| other == name);
        found.map_or(0.0, |(_, us)| *us as f64)
    };
    let services_us = names.map(|name| (name.clone(), per_item(&mirrored, |row| used(row, &name)))).collect();
    let seconds = |rows: &[&Row]| per_item(rows, |row| row.seconds);
    Some(Operation {
        workload,
        step,
        unmirrored_us: per_item(&plain, meta_us),
        mirrored_us: per_item(&mirrored, meta_us),
        services_us,
        ratio: ratio.median,
        least: ratio.least,
        most: ratio.most,
        rate: seconds(&plain) / seconds(&mirrored),
    })
}

/// Compares rounds, each on a server that is not mirrored and on one that is.
pub fn compare(rounds: &[(Report, Report)]) -> Comparison {
    let (mut operations, mut aims) = (Vec::new(), Vec::new());
    for (workload, step, name, limit) in WANTED {
        let found = operation(rounds, workload, step);
        let what = format!("metadata CPU per {name}, mirrored ÷ unmirrored");
        let aim = at_most(&what, found.as_ref().map(|operation| operation.ratio), limit, "×");
        aims.push(aim.because("its phase did nothing"));
        operations.extend(found);
    }
    Comparison { operations, aims }
}

impl Comparison {
    /// For people.
    pub fn document(&self) -> Document {
        let heads =
            ["WORKLOAD", "OPERATION", "PLAIN-US", "MIRRORED-US", "RATIO", "LEAST", "MOST", "RATE", "EACH SERVICE, US"];
        let mut table = Table::new(&heads);
        for operation in &self.operations {
            let each = operation.services_us.iter().map(|(name, us)| format!("{name} {}", figure(Some(*us))));
            table.row([
                operation.workload.to_owned(),
                operation.step.name().to_owned(),
                figure(Some(operation.unmirrored_us)),
                figure(Some(operation.mirrored_us)),
                figure(Some(operation.ratio)),
                figure(Some(operation.least)),
                figure(Some(operation.most)),
                figure(Some(operation.rate)),
                each.collect::<Vec<_>>().join(", "),
            ]);
        }
        let mut document = Document::default();
        document
            .text("CPU of all metadata services, microseconds per operation; RATIO is the median of the rounds\n\n");
        document.table(table);
        document.text("\n");
        document.table(aims(&self.aims));
        document
    }
}

#[cfg(test)]
mod tests;

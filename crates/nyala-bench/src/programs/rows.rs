// SPDX-License-Identifier: Apache-2.0

//! Each figure over all runs. Pure.

use super::figure::{Figure, Metric};
use super::kind::Program;
use crate::page::quartiles;
use serde::Serialize;

/// A figure of a workload in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Whose.
    pub program: Program,
    /// The workload.
    pub workload: &'static str,
    /// The figure.
    pub figure: Figure,
}

/// A figure over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Whose.
    pub program: Program,
    /// The workload.
    pub workload: &'static str,
    /// What was done.
    pub operation: &'static str,
    /// What it is of.
    pub metric: Metric,
    /// Its unit.
    pub unit: &'static str,
    /// How many runs have it.
    pub runs: usize,
    /// The least.
    pub min: f64,
    /// A quarter is below.
    pub q1: f64,
    /// Half is below.
    pub median: f64,
    /// Three quarters are below.
    pub q3: f64,
    /// The most.
    pub max: f64,
    /// All, divided by how many they are.
    pub mean: f64,
    /// Of each run, in their order.
    pub values: Vec<f64>,
}

impl Summary {
    /// What was done, within the program.
    pub fn what(&self) -> String {
        format!("{} {}", self.workload, self.operation)
    }
}

/// Samples of all runs as rows, in the order in which they first came.
pub fn rows(samples: &[Sample]) -> Vec<Summary> {
    let key = |sample: &Sample| (sample.program, sample.workload, sample.figure.operation, sample.figure.metric);
    let mut keys: Vec<_> = Vec::new();
    for key in samples.iter().map(key) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let row = |wanted: &(Program, &'static str, &'static str, Metric)| {
        let values: Vec<f64> = samples.iter().filter(|one| key(one) == *wanted).map(|one| one.figure.value).collect();
        let found = quartiles(&values)?;
        let (program, workload, operation, metric) = *wanted;
        Some(Summary {
            program,
            workload,
            operation,
            metric,
            unit: metric.unit(),
            runs: values.len(),
            min: found.least,
            q1: found.low,
            median: found.median,
            q3: found.high,
            max: found.most,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            values,
        })
    };
    let mut rows: Vec<Summary> = keys.iter().filter_map(row).collect();
    // Runs that were cut short may have their first figures in any order.
    rows.sort_by_key(|row| row.program);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_figures_of_all_runs() {
        let sample = |program, operation, value| Sample {
            program,
            workload: "w",
            figure: Figure { operation, metric: Metric::Bandwidth, value },
        };
        let mut samples = vec![sample(Program::Ior, "read", 1.0)];
        samples.extend([4.0, 1.0, 3.0, 2.0, 10.0].map(|value| sample(Program::Fio, "write", value)));
        let rows = rows(&samples);
        assert_eq!(
            rows.iter().map(|row| (row.program, row.runs)).collect::<Vec<_>>(),
            [(Program::Fio, 5), (Program::Ior, 1)]
        );
        let row = &rows[0];
        assert_eq!((row.min, row.q1, row.median, row.q3, row.max, row.mean), (1.0, 2.0, 3.0, 4.0, 10.0, 4.0));
        assert_eq!((row.what(), row.unit, row.values.len()), ("w write".to_owned(), "MiB/s", 5));
    }
}

// SPDX-License-Identifier: Apache-2.0

//! What came out, side by side. Pure.

use super::kind::Kind;
use crate::page::quartiles;
use crate::report::Setting;
use serde::Serialize;

/// Rates that differ by less are level: rounds of one system on a shared machine differ as much.
const LEVEL: f64 = 1.1;
const MIB: f64 = 1_048_576.0;

/// A phase on one file system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The workload.
    pub workload: String,
    /// What was done.
    pub step: String,
    /// Operations, or entries.
    pub items: u64,
    /// Content moved, bytes; 0 where names are what is measured.
    pub bytes: u64,
    /// Wall time.
    pub seconds: f64,
    /// CPU time of all servers and the mount, microseconds.
    pub cpu_us: u64,
}

impl Figure {
    fn is_stream(&self) -> bool {
        matches!(self.step.as_str(), "write" | "read")
    }

    /// MiB of a stream, else operations.
    fn amount(&self) -> f64 {
        if self.is_stream() { self.bytes as f64 / MIB } else { self.items as f64 }
    }

    /// MiB or operations per second.
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.amount() / self.seconds } else { 0.0 }
    }

    /// Microseconds of CPU for an operation, or for a MiB.
    fn cost(&self) -> f64 {
        if self.amount() > 0.0 { self.cpu_us as f64 / self.amount() } else { 0.0 }
    }
}

/// All rounds on one file system.
pub type Rounds = (Kind, Vec<Vec<Figure>>);

/// A file system in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Which.
    pub system: Kind,
    /// MiB or operations per second: the median of the rounds.
    pub rate: f64,
    /// CPU of all its processes for an operation or a MiB, microseconds: the median of the rounds.
    pub cpu_us: f64,
}

/// How this file system does in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Faster than every other by more than a tenth.
    First,
    /// Within a tenth of the best other.
    Level,
    /// Slower than the best other by more than a tenth.
    Behind,
}

/// A phase on all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The workload.
    pub workload: String,
    /// What was done.
    pub step: String,
    /// Of rates.
    pub unit: &'static str,
    /// Each, this one first.
    pub systems: Vec<Cell>,
    /// Rate of this one by that of the best other; none without others.
    pub by_best: Option<f64>,
    /// CPU of this one by that of the best other in that respect.
    pub cpu_by_best: Option<f64>,
    /// What that means.
    pub verdict: Option<Verdict>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// `peers`.
    pub bench: &'static str,
    /// The machine.
    pub setting: Setting,
    /// Copies of content.
    pub copies: u8,
    /// Every phase.
    pub comparison: Vec<Row>,
    /// What is missing.
    pub remarks: Vec<String>,
}

fn cell(rounds: &Rounds, at: usize) -> Option<Cell> {
    let (system, rounds) = rounds;
    let figures: Vec<&Figure> = rounds.iter().filter_map(|round| round.get(at)).collect();
    let median = |of: fn(&Figure) -> f64| quartiles(&figures.iter().map(|one| of(one)).collect::<Vec<_>>());
    let (rate, cost) = (median(Figure::rate)?.median, median(Figure::cost)?.median);
    Some(Cell { system: *system, rate, cpu_us: cost })
}

fn row(all: &[Rounds], at: usize) -> Option<Row> {
    let first = all.first()?.1.first()?.get(at)?;
    let systems: Vec<Cell> = all.iter().filter_map(|rounds| cell(rounds, at)).collect();
    let own = systems.iter().find(|cell| cell.system == Kind::Nyala)?.clone();
    let others = || systems.iter().filter(|cell| !matches!(cell.system, Kind::Nyala | Kind::Local));
    let best = others().map(|cell| cell.rate).reduce(f64::max).filter(|rate| *rate > 0.0);
    let cheapest = others().map(|cell| cell.cpu_us).reduce(f64::min).filter(|us| *us > 0.0);
    let by_best = best.map(|best| own.rate / best);
    let verdict = by_best.map(|ratio| match ratio {
        ratio if ratio > LEVEL => Verdict::First,
        ratio if ratio * LEVEL >= 1.0 => Verdict::Level,
        _ => Verdict::Behind,
    });
    Some(Row {
        workload: first.workload.clone(),
        step: first.step.clone(),
        unit: if first.is_stream() { "MiB/s" } else { "per s" },
        by_best,
        cpu_by_best: cheapest.map(|cheapest| own.cpu_us / cheapest),
        verdict,
        systems,
    })
}

/// Puts all side by side; this one is first, and each round has the same phases in the same order.
pub fn compare(all: &[Rounds], setting: Setting, copies: u8, remarks: Vec<String>) -> Comparison {
    let phases = all.iter().flat_map(|(_, rounds)| rounds).map(Vec::len).max().unwrap_or(0);
    let comparison = (0..phases).filter_map(|at| row(all, at)).collect();
    Comparison { bench: "peers", setting, copies, comparison, remarks }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: Apache-2.0

//! Each figure through all runs.

use super::quartiles::quartiles;
use super::stored::{Stored, StoredRow};
use crate::all::history::NOISE;
use crate::report::Cpu;

/// A figure through all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is of.
    pub what: String,
    /// Of each run, the oldest first.
    pub values: Vec<Option<f64>>,
}

/// Figures of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they are.
    pub title: &'static str,
    /// Their unit.
    pub unit: &'static str,
    /// Less is better.
    pub less: bool,
    /// Of each phase.
    pub series: Vec<Series>,
}

/// How the newest figure compares with those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The median of those before.
    pub before: f64,
    /// How many they are.
    pub runs: usize,
    /// Newest by median.
    pub ratio: f64,
    /// Beyond what runs on a shared machine differ by without a reason: whether it became worse.
    pub worse: Option<bool>,
}

impl Series {
    /// Of figures that are all known.
    pub fn of(what: String, values: &[f64]) -> Series {
        Series { what, values: values.iter().copied().map(Some).collect() }
    }

    /// The figure of the newest run.
    pub fn newest(&self) -> Option<f64> {
        self.values.last().copied().flatten()
    }

    /// All figures that there are.
    pub fn known(&self) -> Vec<f64> {
        self.values.iter().copied().flatten().collect()
    }

    /// The newest against those before it.
    pub fn change(&self, less: bool) -> Option<Change> {
        let (newest, before) = self.values.split_last()?;
        let before: Vec<f64> = before.iter().copied().flatten().collect();
        let (newest, median) = ((*newest)?, quartiles(&before)?.median);
        if median <= 0.0 || newest <= 0.0 {
            return None;
        }
        let ratio = newest / median;
        let worsened = if less { ratio } else { 1.0 / ratio };
        let worse = if worsened > NOISE { Some(true) } else { (worsened < 1.0 / NOISE).then_some(false) };
        Some(Change { before: median, runs: before.len(), ratio, worse })
    }
}

/// CPU of all servers together.
fn servers(cpu: &Cpu) -> Option<u64> {
    let all: Vec<u64> = [cpu.mgmt_us, cpu.meta_us, cpu.storage_us].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

fn per(amount: Option<u64>, by: f64) -> Option<f64> {
    amount.filter(|_| by > 0.0).map(|amount| amount as f64 / by)
}

type Figure = fn(&StoredRow) -> Option<f64>;

/// Title, unit, whether less is better, whether it is of streams, and the figure.
const KINDS: [(&str, &str, bool, bool, Figure); 8] = [
    ("CPU of all servers for an operation", "µs", true, false, |row| per(servers(&row.cpu), row.items as f64)),
    ("CPU of the client for an operation", "µs", true, false, |row| per(row.cpu.client_us, row.items as f64)),
    ("Operations", "per second", false, false, |row| per(Some(row.items), row.seconds)),
    ("Latency of an operation, median", "µs", true, false, |row| Some(row.latency_us.p50).filter(|us| *us > 0.0)),
    ("Latency of an operation, 99 of 100", "µs", true, false, |row| Some(row.latency_us.p99).filter(|us| *us > 0.0)),
    ("CPU of all servers for a GiB", "s", true, true, |row| per(servers(&row.cpu), row.bytes as f64 * 1e6 / GIB)),
    ("CPU of the client for a GiB", "s", true, true, |row| per(row.cpu.client_us, row.bytes as f64 * 1e6 / GIB)),
    ("Streams", "GiB per second", false, true, |row| per(Some(row.bytes), row.seconds * GIB)),
];
const GIB: f64 = 1_073_741_824.0;

/// All figures of phases, in the order in which the newest run that has them names them.
pub fn groups(runs: &[Stored]) -> Vec<Group> {
    let mut whats: Vec<(String, bool)> = Vec::new();
    for row in runs.iter().rev().flat_map(|run| &run.rows) {
        let what = (row.what(), row.is_stream());
        if !whats.contains(&what) {
            whats.push(what);
        }
    }
    let groups = KINDS.map(|(title, unit, less, stream, figure)| {
        let of = |what: &String| {
            let value = |run: &Stored| run.rows.iter().find(|row| row.what() == *what).and_then(figure);
            Series { what: what.clone(), values: runs.iter().map(value).collect() }
        };
        let series = whats.iter().filter(|(_, is_stream)| *is_stream == stream).map(|(what, _)| of(what));
        let series = series.filter(|series| series.values.iter().any(Option::is_some)).collect();
        Group { title, unit, less, series }
    });
    groups.into_iter().filter(|group| !group.series.is_empty()).collect()
}

/// How many times worse than its aim each figure is, through all runs.
pub fn misses(runs: &[Stored]) -> Vec<Series> {
    let mut whats: Vec<&str> = Vec::new();
    for aim in runs.iter().rev().flat_map(Stored::figures) {
        if !whats.contains(&aim.what.as_str()) {
            whats.push(&aim.what);
        }
    }
    let of = |what: &str| {
        let value = |run: &Stored| run.figures().find(|aim| aim.what == what).and_then(|aim| aim.miss());
        Series { what: what.to_owned(), values: runs.iter().map(value).collect() }
    };
    whats.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series::of("x".into(), values)
    }

    #[test]
    fn the_newest_is_held_against_the_median_of_those_before() {
        let change = series(&[10.0, 30.0, 20.0, 40.0]).change(true).unwrap();
        assert_eq!((change.before, change.runs, change.ratio, change.worse), (20.0, 3, 2.0, Some(true)));
        assert_eq!(series(&[10.0, 20.0]).change(false).unwrap().worse, Some(false));
        assert_eq!(series(&[10.0, 12.0]).change(true).unwrap().worse, None);
        assert_eq!(series(&[10.0]).change(true), None);
        let gone = Series { values: vec![Some(1.0), None], what: "x".into() };
        assert_eq!((gone.change(true), gone.newest(), gone.known()), (None, None, vec![1.0]));
    }

    #[test]
    fn figures_of_phases_have_their_units() {
        let cpu = Cpu { meta_us: Some(30), storage_us: Some(10), client_us: Some(100), ..Cpu::default() };
        let row = |step: &str, items, bytes| StoredRow {
            workload: "w".into(),
            step: step.into(),
            backend: "native".into(),
            items,
            bytes,
            seconds: 2.0,
            cpu,
            ..StoredRow::default()
        };
        let run = Stored { rows: vec![row("create", 10, 0), row("read", 1, 4 << 30)], ..Stored::default() };
        let found: Vec<(&str, f64)> =
            groups(&[run]).iter().map(|group| (group.title, group.series[0].newest().unwrap())).collect();
        assert_eq!(
            found,
            [
                ("CPU of all servers for an operation", 4.0),
                ("CPU of the client for an operation", 10.0),
                ("Operations", 5.0),
                ("CPU of all servers for a GiB", 1e-5),
                ("CPU of the client for a GiB", 2.5e-5),
                ("Streams", 2.0),
            ]
        );
    }
}

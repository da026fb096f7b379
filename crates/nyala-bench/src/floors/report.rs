// SPDX-License-Identifier: Apache-2.0

//! Rows of a floor: for each phase what either side paid. Pure.

use super::layout::{RANDOM_BYTES, STEPS, Sizes};
use super::phase::Done;
use crate::document::{Document, Table};
use crate::measure::latency::Percentiles;
use crate::plan::Step;
use crate::report::table::figure;
use crate::report::{Backend, Cpu, Held, Row, Setting};
use serde::Serialize;

/// The workload that rows of a floor say they are of.
pub const WORKLOAD: &str = "floor";

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FloorReport {
    /// `floor`.
    pub bench: &'static str,
    /// The machine, and the directory.
    pub setting: Setting,
    /// How much was moved.
    pub sizes: Sizes,
    /// How often.
    pub rounds: usize,
    /// For each phase the round in the middle, by the CPU of each side.
    pub rows: Vec<Row>,
    /// A signal ended it early.
    pub interrupted: bool,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// A row of one phase of one round.
pub fn row(sizes: &Sizes, step: Step, done: &Done) -> Row {
    let ops: u64 = done.ops.iter().sum();
    let bytes = if step.is_random() { RANDOM_BYTES } else { sizes.block };
    Row {
        workload: WORKLOAD,
        step,
        backend: Backend::Floor,
        tasks: sizes.depth,
        ops,
        items: ops,
        bytes: ops * bytes as u64,
        seconds: done.took.as_secs_f64(),
        latency_us: Percentiles::default(),
        cpu: Cpu { storage_us: Some(done.storage_us), client_us: Some(done.client_us), ..Cpu::default() },
        meta_each_us: Vec::new(),
        meta_held: Held::default(),
        requests: None,
        of_local: None,
        cached: false,
    }
}

/// The round in the middle by what the storage side paid for a byte, with what the client's side paid in the middle of all rounds.
fn middle(rounds: &[Vec<Row>], step: Step) -> Option<Row> {
    let mut rows: Vec<&Row> = rounds.iter().flatten().filter(|row| row.step == step && row.bytes > 0).collect();
    let each = |row: &Row, us: Option<u64>| us.unwrap_or(0) as f64 / row.bytes as f64;
    rows.sort_by(|a, b| each(a, a.cpu.storage_us).total_cmp(&each(b, b.cpu.storage_us)));
    // Of an even number the dearer one.
    let row = *rows.get(rows.len() / 2)?;
    let mut clients: Vec<f64> = rows.iter().map(|row| each(row, row.cpu.client_us)).collect();
    clients.sort_by(f64::total_cmp);
    let client_us = clients[clients.len() / 2] * row.bytes as f64;
    Some(Row { cpu: Cpu { client_us: Some(client_us.round() as u64), ..row.cpu }, ..row.clone() })
}

impl FloorReport {
    /// The middle of all rounds.
    pub fn of(
        setting: Setting,
        sizes: Sizes,
        rounds: &[Vec<Row>],
        interrupted: bool,
        notes: Vec<String>,
    ) -> FloorReport {
        let rows = STEPS.into_iter().filter_map(|step| middle(rounds, step)).collect();
        FloorReport { bench: "floor", setting, sizes, rounds: rounds.len(), rows, interrupted, notes }
    }

    /// The report for people.
    pub fn document(&self) -> Document {
        let (mut document, sizes) = (Document::default(), &self.sizes);
        document.text(format!(
            "nyala bench floor: {} CPUs, Linux {}, {} connections, {} requests at once, {} files of {} MiB in {}, rounds: {}\n\n",
            self.setting.cpus,
            self.setting.kernel,
            sizes.connections,
            sizes.depth,
            sizes.files,
            figure(Some(sizes.file_bytes as f64 / (1_u64 << 20) as f64)),
            self.setting.local.as_deref().unwrap_or("-"),
            self.rounds,
        ));
        document.text("Floors (CPU of a minimal program: seconds per GiB, or microseconds per operation)\n");
        let mut table = Table::new(&["FLOOR", "OPS", "GIB", "RATE", "STORAGE-CPU", "CLIENT-CPU"]);
        for row in &self.rows {
            let stream = row.is_stream();
            let bytes = if stream { sizes.block } else { RANDOM_BYTES };
            let rate = if stream { (row.gib_per_s(), "GiB/s") } else { (row.rate(), "/s") };
            let cpu = |us| match stream {
                true => format!("{} s", figure(row.s_per_gib(us))),
                false => format!("{} µs", figure(row.us_per_item(us))),
            };
            table.row([
                format!("{} of {} KiB", row.step.name(), bytes / 1024),
                row.ops.to_string(),
                figure(Some(row.gib())),
                format!("{} {}", figure(Some(rate.0)), rate.1),
                cpu(row.cpu.storage_us),
                cpu(row.cpu.client_us),
            ]);
        }
        document.table(table);
        self.notes.iter().for_each(|note| document.text(format!("note: {note}\n")));
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SIZES: Sizes =
        Sizes { connections: 2, depth: 16, files: 4, file_bytes: 1 << 28, block: 512 << 10, random: 1000, seed: 1 };

    fn round(ops: u64, storage_us: u64, client_us: u64) -> Vec<Row> {
        let done = Done { ops: vec![ops, ops], storage_us, client_us, took: Duration::from_millis(500) };
        vec![row(&SIZES, Step::Write, &done), row(&SIZES, Step::RandomRead, &done)]
    }

    #[test]
    fn the_round_in_the_middle_is_taken_for_each_side() {
        // A GiB each, but half of that in the last.
        let rounds = [round(1024, 900_000, 100), round(1024, 500_000, 600_000), round(512, 240_000, 200_000)];
        let report = FloorReport::of(Setting::default(), SIZES, &rounds, false, Vec::new());
        assert_eq!((report.rows.len(), report.rounds), (2, 3));
        let write = &report.rows[0];
        assert_eq!((write.bytes, write.cpu.storage_us), (1 << 30, Some(500_000)));
        assert_eq!(write.cpu.client_us, Some(400_000), "200,000 for half of the bytes");
        let nothing = FloorReport::of(Setting::default(), SIZES, &[round(0, 5, 5)], true, Vec::new());
        assert_eq!(nothing.rows, []);
    }

    #[test]
    fn the_table_and_json_have_units() {
        let notes = vec!["something".to_owned()];
        let report = FloorReport::of(Setting::default(), SIZES, &[round(1024, 430_000, 210_000)], false, notes);
        let text = report.document().plain();
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).map(str::to_owned);
        assert_eq!(line("write").unwrap(), "write of 512 KiB 2048 1.00 2.00 GiB/s 0.43 s 0.21 s");
        assert_eq!(line("random read").unwrap(), "random read of 4 KiB 2048 0.01 4096 /s 210 µs 103 µs");
        assert!(text.contains("note: something") && text.contains("4 files of 256 MiB"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["bench"], &json["rows"][1]["place"]), (&"floor".into(), &"floor".into()));
        assert_eq!(json["rows"][1]["step"], "random-read");
        assert_eq!(json["sizes"]["block"], 512 << 10);
    }
}

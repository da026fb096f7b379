// SPDX-License-Identifier: Apache-2.0

//! The design's aims (section 14) that a benchmark's rows can answer.

use super::table::figure;
use super::{Place, Row};
use crate::bench::measure::loopback::Loopback;
use crate::bench::plan::Step;
use serde::{Deserialize, Serialize};

/// A figure and what it should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// What is measured.
    pub what: String,
    /// The figure; `None`: it was not measured.
    pub value: Option<f64>,
    /// What it should be at most, or at least.
    pub aim: f64,
    /// Unit of both.
    pub unit: String,
    /// The aim is a lower limit.
    pub at_least: bool,
    /// Reached.
    pub ok: bool,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Aim {
    fn new(what: &str, value: Option<f64>, aim: f64, unit: &str, at_least: bool) -> Aim {
        let ok = value.is_some_and(|value| if at_least { value >= aim } else { value <= aim });
        Aim { what: what.to_owned(), value, aim, unit: unit.to_owned(), at_least, ok, why: None }
    }

    /// The same, saying why there is no figure, if there is none.
    pub fn because(self, why: &str) -> Aim {
        let why = self.value.is_none().then(|| why.to_owned());
        Aim { why, ..self }
    }

    /// Figure ÷ aim: reached up to 1 where less is better, from 1 on where more is.
    pub fn ratio(&self) -> Option<f64> {
        self.value.map(|value| value / self.aim)
    }

    /// How many times worse than the aim; below 1 is better.
    pub fn miss(&self) -> Option<f64> {
        self.ratio().map(|ratio| if self.at_least { 1.0 / ratio.max(1e-9) } else { ratio })
    }

    /// The figure with its unit.
    pub fn measured(&self) -> String {
        self.value.map_or("-".to_owned(), |value| format!("{} {}", figure(Some(value)), self.unit))
    }

    /// The aim with its sign and unit.
    pub fn wanted(&self) -> String {
        format!("{} {} {}", if self.at_least { "≥" } else { "≤" }, self.aim, self.unit)
    }

    /// In a word.
    pub fn result(&self) -> &'static str {
        if self.ok { "ok" } else { "MISS" }
    }
}

/// An aim that is an upper limit.
pub fn at_most(what: &str, value: Option<f64>, aim: f64, unit: &str) -> Aim {
    Aim::new(what, value, aim, unit, false)
}

/// An aim that is a lower limit.
pub fn at_least(what: &str, value: Option<f64>, aim: f64, unit: &str) -> Aim {
    Aim::new(what, value, aim, unit, true)
}

/// Rows by workload, step and place.
struct Rows<'a>(&'a [Row]);

impl Rows<'_> {
    fn get(&self, workload: &str, step: Step, place: Place) -> Option<&Row> {
        let same = |row: &&Row| row.workload == workload && row.step == step && row.place == place;
        self.0.iter().find(same).filter(|row| row.ops > 0 && row.seconds > 0.0)
    }

    fn native(&self, workload: &str, step: Step) -> Option<&Row> {
        self.get(workload, step, Place::Native)
    }

    /// Metadata's CPU for each operation, microseconds.
    fn meta_us(&self, workload: &str, step: Step) -> Option<f64> {
        self.native(workload, step).and_then(|row| row.us_per_item(row.cpu.meta_us))
    }

    /// Metadata's and storage's CPU for each operation, microseconds.
    fn servers_us(&self, workload: &str, step: Step) -> Option<f64> {
        let row = self.native(workload, step)?;
        Some(row.us_per_item(row.cpu.meta_us)? + row.us_per_item(row.cpu.storage_us)?)
    }

    fn storage_us(&self, workload: &str, step: Step) -> Option<f64> {
        self.native(workload, step).and_then(|row| row.us_per_item(row.cpu.storage_us))
    }

    fn storage_s_per_gib(&self, workload: &str, step: Step) -> Option<f64> {
        self.native(workload, step).and_then(|row| row.s_per_gib(row.cpu.storage_us))
    }

    fn requests(&self, workload: &str, step: Step) -> Option<f64> {
        let row = self.native(workload, step)?;
        row.requests.map(|requests| (requests.meta + requests.storage) as f64 / row.ops as f64)
    }

    /// Rate of a native phase ÷ that of another, in percent.
    fn rates(&self, one: (&str, Step), other: (&str, Step)) -> Option<f64> {
        let rate = |(workload, step): (&str, Step)| self.native(workload, step).map(Row::rate);
        Some(100.0 * rate(one)? / rate(other)?)
    }

    /// A stream through the mount ÷ what TCP and the local file system give one after the other, in percent.
    fn stream(&self, step: Step, loopback: &Loopback) -> Option<f64> {
        let rate = |place| self.get("stream", step, place).map(Row::gib_per_s);
        let limit = 1.0 / (1.0 / loopback.stream_gib_per_s + 1.0 / rate(Place::Local)?);
        Some(100.0 * rate(Place::Mount)? / limit)
    }
}

/// The aims that these rows answer.
pub fn answered(rows: &[Row], loopback: &Loopback) -> Vec<Aim> {
    all(rows, loopback).into_iter().filter(|aim| aim.value.is_some()).collect()
}

/// All aims that rows of `meta` and `data` can answer, those that these rows do not answer without a figure.
pub fn all(rows: &[Row], loopback: &Loopback) -> Vec<Aim> {
    use Step::{Create, RandomRead, RandomWrite, Read, ReadFile, Stat, Unlink, Write, WriteFile};
    let rows = Rows(rows);
    let us = "µs";
    vec![
        at_most("metadata CPU per create (empty file, native)", rows.meta_us("easy", Create), 25.0, us),
        at_most("metadata CPU per stat or lookup (native)", rows.meta_us("easy", Stat), 8.0, us),
        at_most("metadata+storage CPU, 4 KiB file create+write+close", rows.servers_us("small", WriteFile), 40.0, us),
        at_most("metadata+storage CPU, 4 KiB file open+read+close", rows.servers_us("small", ReadFile), 20.0, us),
        at_most("metadata+storage CPU, 4 KiB file unlink", rows.servers_us("small", Unlink), 25.0, us),
        at_most("requests for 4 KiB create+write+close", rows.requests("small", WriteFile), 1.0, "requests"),
        at_most(
            "requests for 4 KiB open+read+close, lookup included",
            rows.requests("small", ReadFile),
            2.0,
            "requests",
        ),
        at_least(
            "one shared directory: rate of many directories",
            rows.rates(("hard", WriteFile), ("small", WriteFile)),
            80.0,
            "%",
        ),
        at_most("storage CPU per GiB written, checksums on", rows.storage_s_per_gib("easy", Write), 0.22, "s"),
        at_most("storage CPU per GiB read, checksums on", rows.storage_s_per_gib("easy", Read), 0.15, "s"),
        at_most("storage CPU per 4 KiB random read", rows.storage_us("random", RandomRead), 12.0, us),
        at_most("storage CPU per 4 KiB random write", rows.storage_us("random", RandomWrite), 12.0, us),
        at_least("one stream through FUSE, write: share of TCP + local", rows.stream(Write, loopback), 70.0, "%"),
        at_least("one stream through FUSE, read: share of TCP + local", rows.stream(Read, loopback), 70.0, "%"),
        at_least(
            "one shared file, 47,008-byte records: write rate of a file each",
            rows.rates(("hard", Write), ("easy", Write)),
            60.0,
            "%",
        ),
        at_least(
            "one directory, create+write 3,901 B: rate of empty creates in many",
            rows.rates(("hard", WriteFile), ("easy", Create)),
            50.0,
            "%",
        ),
    ]
}

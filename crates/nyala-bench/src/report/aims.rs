// SPDX-License-Identifier: Apache-2.0

//! The design's aims (section 14) that a benchmark's rows can answer.

use super::aim::{Aim, at_least, at_most};
use super::{Backend, Row};
use crate::measure::loopback::Loopback;
use crate::plan::Step;

/// Aims of storage that have a floor.
pub(crate) const WRITTEN: &str = "storage CPU per GiB written, checksums on";
pub(crate) const READ: &str = "storage CPU per GiB read, checksums on";
pub(crate) const RANDOM_READ: &str = "storage CPU per 4 KiB random read";
pub(crate) const RANDOM_WRITE: &str = "storage CPU per 4 KiB random write";

/// Rows by workload, step and place.
pub(crate) struct Rows<'a>(pub(crate) &'a [Row]);

impl Rows<'_> {
    /// A row that did something.
    pub(crate) fn get(&self, workload: &str, step: Step, backend: Backend) -> Option<&Row> {
        let same = |row: &&Row| row.workload == workload && row.step == step && row.backend == backend;
        self.0.iter().find(same).filter(|row| row.ops > 0 && row.seconds > 0.0)
    }

    fn native(&self, workload: &str, step: Step) -> Option<&Row> {
        self.get(workload, step, Backend::Native)
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
        // Streams by their bytes: the transfers differ in size.
        let of = |row: &Row| if row.is_stream() { row.gib_per_s() } else { row.rate() };
        let rate = |(workload, step): (&str, Step)| self.native(workload, step).map(of);
        Some(100.0 * rate(one)? / rate(other)?)
    }

    /// A stream through the mount ÷ what TCP and the local file system give one after the other, in percent.
    fn stream(&self, step: Step, loopback: &Loopback) -> Option<f64> {
        let rate = |backend| self.get("stream", step, backend).map(Row::gib_per_s);
        let limit = 1.0 / (1.0 / loopback.stream_gib_per_s + 1.0 / rate(Backend::Local)?);
        Some(100.0 * rate(Backend::Mount)? / limit)
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
        at_most(WRITTEN, rows.storage_s_per_gib("easy", Write), 0.22, "s"),
        at_most(READ, rows.storage_s_per_gib("easy", Read), 0.15, "s"),
        at_most(RANDOM_READ, rows.storage_us("random", RandomRead), 12.0, us),
        at_most(RANDOM_WRITE, rows.storage_us("random", RandomWrite), 12.0, us),
        at_least("one stream through FUSE, write: share of TCP + local", rows.stream(Write, loopback), 70.0, "%"),
        at_least(
            "one stream through FUSE, read (warm memory): share of TCP + local",
            rows.stream(Read, loopback),
            70.0,
            "%",
        ),
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

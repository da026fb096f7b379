// SPDX-License-Identifier: Apache-2.0

//! Floors: what minimal programs pay for the same transfers, so that figures of services and clients can be given as ratios that hold on any
//! machine.
//!
//! The storage side receives blocks over loopback TCP, checks their CRC-32C and writes them to files (or reads, checks and sends them) with
//! the calls that a storage service uses; the client's side makes, checksums and sends them (or receives and checks them). Neither has a
//! queue, a log, a lock, a table of checksums on disk or a second thread for a request. Sizes, connections, requests under way and the file system are
//! those of the workload that a floor stands beside, and CPU time is that of the threads, from the same kind of clock.
//!
//! - [`layout`], [`message`] (pure): order and form. [`inbox`], [`send`]: to and from a stream. [`mod@file`], [`files`]: the disk. [`service`] and
//!   [`load`]: the two sides. [`phase`]: threads and clocks. [`report`] (pure): rows. [`ratios`] (pure): figures of a cluster by these.
//!
//! **Failure model.** Files may be damaged, disks full, messages cut: checksums, places and lengths are compared, and the first difference
//! ends the run with an error that names it. Whatever happens, the run's directory is removed; of a process that is killed it stays, as
//! `nyala-floor.PID.N`. Memory is a fixed number of blocks for each connection and four bytes for each 4 KiB of the files.

mod error;
mod file;
mod files;
mod inbox;
mod layout;
mod load;
mod message;
mod phase;
pub mod ratios;
pub mod report;
mod send;
mod service;
#[cfg(test)]
mod tests;

pub use error::FloorError;
pub use layout::Sizes;
pub use report::FloorReport;

use crate::caches;
use crate::ended::Ended;
use crate::error::BenchError;
use crate::plan::Step;
use crate::plan::fill::Fill;
use crate::report::{Row, Setting};
use crate::stop::Stop;
use files::{Directory, Store};
use layout::STEPS;
use load::Terms;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// A directory on the file system that is measured.
    pub work: PathBuf,
    /// How much.
    pub sizes: Sizes,
    /// Longest time of a phase.
    pub limit: Option<Duration>,
    /// How often all phases are done; the rows are of the round in the middle.
    pub rounds: u16,
    /// Empty the page cache before reads.
    pub cold: bool,
    /// Compare every byte that is read with what was written.
    pub verify: bool,
    /// Counts the phases that have ended.
    pub ended: Ended,
}

impl Options {
    /// Phases of all rounds.
    pub fn phases(&self) -> u64 {
        u64::from(self.rounds.max(1)) * STEPS.len() as u64
    }
}

/// What all rounds share.
struct Rounds<'a> {
    options: &'a Options,
    sizes: Sizes,
    fill: Fill,
    stop: &'a Stop,
    notes: Vec<String>,
}

/// Measures. Blocks its thread until the end, or until the stop is asked for.
pub fn run(options: &Options, stop: &Stop) -> Result<FloorReport, BenchError> {
    let failed = |error: FloorError| BenchError::failed(format!("floor: {error}"));
    let sizes = options.sizes.checked().map_err(failed)?;
    let fill = Fill::new(sizes.seed, sizes.block);
    let mut run = Rounds { options, sizes, fill, stop, notes: Vec::new() };
    let mut rounds: Vec<Vec<Row>> = Vec::new();
    for _ in 0..options.rounds.max(1) {
        rounds.push(run.round(&options.work).map_err(failed)?);
        if stop.wanted() {
            run.note("ended by a signal: the figures are incomplete");
            break;
        }
    }
    let setting = Setting {
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        local: Some(options.work.display().to_string()),
        ..Setting::default()
    };
    Ok(FloorReport::of(setting, sizes, &rounds, stop.wanted(), run.notes))
}

impl Rounds<'_> {
    /// All phases, on files of their own.
    fn round(&mut self, work: &Path) -> Result<Vec<Row>, FloorError> {
        let directory = Directory::make(work)?;
        let make = |number| Store::make(&directory, number, self.sizes.files_of(number), self.sizes.file_bytes);
        let mut stores: Vec<Store> = (0..self.sizes.connections).map(make).collect::<Result<_, _>>()?;
        let mut written: Vec<Option<u64>> = vec![None; stores.len()];
        let mut rows = Vec::with_capacity(STEPS.len());
        for step in STEPS {
            if self.options.cold
                && step.wants_cold_caches()
                && let Err(why) = caches::drop_caches()
            {
                self.note(&why);
            }
            if self.stop.wanted() {
                break;
            }
            let until = self.options.limit.map(|limit| Instant::now() + limit);
            let terms = Terms { fill: &self.fill, until, stop: self.stop, verify: self.options.verify };
            let share = |number: usize| self.sizes.share(number, step, written[number]);
            let done = phase::run(&self.sizes, &mut stores, share, &terms)?;
            rows.push(report::row(&self.sizes, step, &done));
            self.options.ended.one();
            if step == Step::Write {
                written = done.ops.into_iter().map(Some).collect();
            }
        }
        let way = if stores.iter().all(Store::is_direct) { "past" } else { "through" };
        self.note(&format!("transfers from 64 KiB on went {way} the page cache, as far as the file system has one"));
        Ok(rows)
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.notes.push(text.to_owned());
        }
    }
}

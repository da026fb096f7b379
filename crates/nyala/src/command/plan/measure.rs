// SPDX-License-Identifier: Apache-2.0

//! What this machine does at best: `nyala bench floor`, in each directory in turn, no longer than is asked for.
//!
//! **Failure model.** That of the measurement ([`nyala_bench::floors`]): its files are its own and are removed, whatever happens but for a
//! process that is killed. A signal ends it, and the command, with an error. As another user than root the page cache cannot be emptied before
//! files are read; the command says so, because a rate of reading may then be that of memory.

use crate::bench::{Phases, host};
use crate::exit::Failure;
use crate::role::block_on;
use nyala_bench::floors::{FloorReport, Options, Sizes, run as measure};
use nyala_bench::plan::Step;
use nyala_bench::{BenchError, Ended, Stop};
use nyala_plan::measured::{Directory, Measured, Phase};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// As of `nyala bench floor`: requests under way at once, and connections.
const DEPTH: usize = 16;
const CONNECTIONS: usize = 2;
/// Files in each directory, and bytes of each: 1 GiB at most.
const FILES: usize = 16;
const FILE_BYTES: u64 = 64 << 20;
/// Bytes of a transfer: a chunk.
const BLOCK: usize = 512 << 10;

/// Measures these directories, one after the other; `seconds`: the longest time to write, and to read, in each.
pub fn run(directories: &[PathBuf], seconds: u32) -> Result<Measured, Failure> {
    let (stop, ended) = (Stop::default(), Ended::default());
    let (asked, wishes) = (stop.clone(), directories.iter().map(|path| options(path, seconds, &ended)));
    let wishes: Vec<Options> = wishes.collect();
    let phases = Phases::new("measuring", &ended, wishes.iter().map(Options::phases).sum());
    let reports = block_on(async {
        host::watch(&stop)?;
        let work = tokio::task::spawn_blocking(move || {
            let one = |wish: &Options| {
                let report = measure(wish, &asked)?;
                if report.interrupted { Err(BenchError::stopped()) } else { Ok(report) }
            };
            wishes.iter().map(one).collect::<Result<Vec<FloorReport>, BenchError>>()
        });
        let failed = |error| Err(BenchError::failed(format!("the measurement ended by itself: {error}")));
        phases.during(async { work.await.unwrap_or_else(failed) }).await
    })?;
    let mut notes: Vec<&String> = reports.iter().flat_map(|report| &report.notes).collect();
    notes.sort();
    notes.dedup();
    notes.iter().for_each(|note| eprintln!("note: {note}"));
    let found: Option<Vec<Directory>> =
        directories.iter().zip(&reports).map(|(path, report)| found(path, report)).collect();
    let nothing = || {
        Failure::failed("nothing was written or read while it was measured: write a larger number, as in --seconds 10")
    };
    let processors = std::thread::available_parallelism().map_or(1, |number| u32::try_from(number.get()).unwrap_or(1));
    Ok(Measured { processors, directories: found.ok_or_else(nothing)? })
}

fn options(path: &Path, seconds: u32, ended: &Ended) -> Options {
    Options {
        work: path.to_owned(),
        sizes: Sizes {
            connections: CONNECTIONS,
            depth: DEPTH,
            files: FILES,
            file_bytes: FILE_BYTES,
            block: BLOCK,
            random: 0,
            seed: 1,
        },
        limit: Some(Duration::from_secs(seconds.into())),
        rounds: 1,
        cold: true,
        verify: false,
        ended: ended.clone(),
    }
}

/// The two streams of a report.
fn found(path: &Path, report: &FloorReport) -> Option<Directory> {
    let phase = |step: Step| {
        let row = report.rows.iter().find(|row| row.step == step)?;
        Some(Phase { bytes: row.bytes, seconds: row.seconds, cpu_s: row.cpu.storage_us? as f64 / 1e6 })
    };
    Some(Directory { path: path.display().to_string(), read: phase(Step::Read)?, write: phase(Step::Write)? })
}

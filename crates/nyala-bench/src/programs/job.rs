// SPDX-License-Identifier: Apache-2.0

//! What is to be done, with the programs that are here.

use super::kind::Program;
use super::options::Options;
use super::plan;
use super::report::{Missing, Report, Used};
use super::workload::{Sizes, Start, Workload};
use crate::ended::Ended;
use crate::error::BenchError;
use crate::peers::installed;
use crate::report::Setting;
use std::path::{Path, PathBuf};

/// A program that is here.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which.
    pub program: Program,
    /// Its file.
    file: PathBuf,
    /// What starts its tasks, if it has several.
    mpirun: Option<PathBuf>,
    /// Its tasks.
    tasks: u16,
    /// What it does.
    pub workloads: Vec<Workload>,
}

impl Found {
    /// The file to be run for a start, and its arguments.
    pub fn command(&self, start: &Start) -> (&Path, Vec<String>) {
        match &self.mpirun {
            None => (&self.file, start.args.clone()),
            Some(mpirun) => {
                let job = ["-np".to_owned(), self.tasks.to_string(), self.file.display().to_string()];
                (mpirun, job.into_iter().chain(start.args.iter().cloned()).collect())
            }
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct ProgramsJob {
    /// As it was wanted.
    pub options: Options,
    /// Programs that are here.
    pub found: Vec<Found>,
    /// Programs that are not.
    missing: Vec<Missing>,
    /// What the reader must know.
    notes: Vec<String>,
    /// Counts the starts that have ended.
    pub ended: Ended,
}

impl ProgramsJob {
    /// Looks for programs on `PATH`. That none is here is an error, which says where they come from.
    pub fn find(options: Options) -> Result<ProgramsJob, BenchError> {
        ProgramsJob::of(options, installed)
    }

    /// The same, with those that `installed` finds.
    pub(super) fn of(options: Options, installed: impl Fn(&str) -> Option<PathBuf>) -> Result<ProgramsJob, BenchError> {
        let absent = |program: &Program| installed(program.name()).is_none();
        let missing = options.programs.iter().copied().filter(absent);
        let missing: Vec<Missing> = missing.map(|program| Missing { program, install: program.install() }).collect();
        let mpirun = installed("mpirun").or_else(|| installed("mpiexec"));
        let found = |program: &Program| {
            let file = installed(program.name())?;
            let mpirun = mpirun.clone().filter(|_| program.uses_mpi());
            let alone = program.uses_mpi() && mpirun.is_none();
            let tasks = if alone { 1 } else { options.sizes.tasks };
            let workloads = plan::workloads(*program, &Sizes { tasks, ..options.sizes });
            Some(Found { program: *program, file, mpirun, tasks, workloads })
        };
        let found: Vec<Found> = options.programs.iter().filter_map(found).collect();
        if found.is_empty() {
            let each = missing.iter().map(|one| format!("{} is not installed: {}", one.program, one.install));
            return Err(BenchError::failed(format!(
                "there is no program to run; {}",
                each.collect::<Vec<_>>().join("; ")
            )));
        }
        let mut notes = Vec::new();
        if mpirun.is_none() && found.iter().any(|one| one.program.uses_mpi()) {
            notes.push(
                "ior and mdtest run with one task: there is no mpirun; the package openmpi-bin has it".to_owned(),
            );
        }
        Ok(ProgramsJob { options, found, missing, notes, ended: Ended::default() })
    }

    /// Starts of all runs.
    pub fn phases(&self) -> u64 {
        let starts = self.found.iter().flat_map(|one| &one.workloads).map(|workload| workload.starts.len());
        starts.sum::<usize>() as u64 * u64::from(self.options.runs)
    }

    /// Room that the largest workload needs.
    pub fn bytes(&self) -> u64 {
        self.found.iter().flat_map(|one| &one.workloads).map(|workload| workload.bytes).max().unwrap_or(0)
    }

    /// A report without figures.
    pub fn report(&self) -> Report {
        let used = self.found.iter().map(|one| {
            let Found { program, file, tasks, .. } = one;
            Used { program: *program, file: file.clone(), version: None, tasks: *tasks }
        });
        let setting = Setting {
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            mount: Some(self.options.on.display().to_string()),
            ..Setting::default()
        };
        Report {
            bench: "programs",
            setting,
            runs: self.options.runs,
            verify: self.options.sizes.verify,
            programs: used.collect(),
            missing: self.missing.clone(),
            figures: Vec::new(),
            commands: Vec::new(),
            failures: Vec::new(),
            outputs: None,
            interrupted: false,
            notes: self.notes.clone(),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

//! All runs, in turn: within a run each program does each of its workloads once, so that a machine that becomes slower or faster does so for all.
//!
//! **Failure model.** A start that fails, takes too long, or whose output is not understood is told with where its output is, and its
//! workload is left out from then on; the others go on. After Ctrl-C the program that runs is ended, what it made is removed, and what was
//! measured until then is the report. A directory that cannot be made or removed ends the benchmark: the file system does not work.

use super::job::{Found, ProgramsJob};
use super::launch::{Launch, LaunchError};
use super::output::{OutputError, figures};
use super::plan;
use super::report::{FailedStart, Report, Started};
use super::rows::{Sample, rows};
use super::site::Site;
use super::workload::{OUTPUT, Start, Workload};
use crate::caches::drop_caches;
use crate::error::BenchError;
use crate::stop::Stop;
use std::path::Path;
use thiserror::Error;

/// Why a start has no figures.
#[derive(Debug, Error)]
enum StartError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// All runs under way.
struct Runs<'a> {
    job: &'a ProgramsJob,
    stop: &'a Stop,
    site: Site,
    samples: Vec<Sample>,
    report: Report,
}

/// Does all of it. Blocks.
pub fn run(job: &ProgramsJob, stop: &Stop) -> Result<Report, BenchError> {
    let site = Site::make(&job.options.on, &job.options.outputs, job.bytes())?;
    let mut runs = Runs { job, stop, site, samples: Vec::new(), report: job.report() };
    for run in 1..=job.options.runs {
        for found in &job.found {
            for workload in &found.workloads {
                runs.workload(run, found, workload)?;
            }
        }
    }
    let Runs { samples, mut report, site, .. } = runs;
    if !report.failures.is_empty() {
        report.outputs = Some(site.keep().to_owned());
    }
    report.figures = rows(&samples);
    report.interrupted = stop.wanted();
    if report.interrupted {
        report.notes.push("a signal ended it: the figures are those of the runs until then".to_owned());
    }
    Ok(report)
}

impl Runs<'_> {
    /// A workload of a run, in a directory of its own.
    fn workload(&mut self, run: u16, found: &Found, workload: &Workload) -> Result<(), BenchError> {
        let same = |one: &FailedStart| (one.program, one.workload) == (workload.program, workload.name);
        let mut goes_on = !self.stop.wanted() && !self.report.failures.iter().any(same);
        let name = format!("{run}-{}-{}", workload.program, workload.name);
        let dir = if goes_on { Some(self.site.directory(&name)?) } else { None };
        for start in &workload.starts {
            if let Some(dir) = dir.as_ref().filter(|_| goes_on) {
                let output = format!("{name}-{}", start.step);
                let outcome = self.start(found, workload, start, dir, &output);
                goes_on = outcome.is_ok();
                match outcome {
                    Ok(()) => self.site.forget(&output),
                    Err(StartError::Launch(LaunchError::Stopped)) => {}
                    Err(error) => {
                        let Workload { program, name, .. } = *workload;
                        let why = error.to_string();
                        let failed = FailedStart { program, workload: name, step: start.step, run, why };
                        self.report.failures.push(failed);
                    }
                }
            }
            self.job.ended.one();
        }
        dir.map_or(Ok(()), |dir| self.site.remove(&dir))
    }

    /// A start of a program, to its figures.
    fn start(
        &mut self,
        found: &Found,
        workload: &Workload,
        start: &Start,
        dir: &Path,
        output: &str,
    ) -> Result<(), StartError> {
        let output = self.site.output(output);
        let (program, args) = found.command(start);
        let args: Vec<String> = args.iter().map(|arg| arg.replace(OUTPUT, &output.display().to_string())).collect();
        self.note_command(workload, start, program, &args);
        if start.cold && !self.job.options.keep_caches {
            self.empty_caches();
        }
        let launch = Launch { program, args: &args, dir, output: &output, limit: self.job.options.limit };
        launch.run(self.stop)?;
        let Some(wanted) = &start.wanted else { return Ok(()) };
        let file = if plan::has_file(workload.program) { output.clone() } else { launch.said("out") };
        let parsed = figures(workload.program, &file, wanted)?;
        let used = self.report.programs.iter_mut().find(|used| used.program == workload.program);
        if let Some(used) = used.filter(|used| used.version.is_none()) {
            used.version = parsed.version;
        }
        let sample = |figure| Sample { program: workload.program, workload: workload.name, figure };
        self.samples.extend(parsed.figures.into_iter().map(sample));
        Ok(())
    }

    fn empty_caches(&mut self) {
        if let Err(why) = drop_caches()
            && !self.report.notes.contains(&why)
        {
            self.report.notes.push(why);
        }
    }

    /// Lines differ between runs in nothing but names of outputs.
    fn note_command(&mut self, workload: &Workload, start: &Start, program: &Path, args: &[String]) {
        let Workload { program: of, name, .. } = *workload;
        if !self.report.commands.iter().any(|one| (one.program, one.workload, one.step) == (of, name, start.step)) {
            let command = format!("{} {}", program.display(), args.join(" "));
            let cold = start.cold && !self.job.options.keep_caches;
            self.report.commands.push(Started { program: of, workload: name, step: start.step, cold, command });
        }
    }
}

#[cfg(test)]
mod tests;

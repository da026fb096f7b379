// SPDX-License-Identifier: Apache-2.0

//! `nyala bench programs`: the field's own programs, several times.
//!
//! **Failure model.** The directory may not exist, or its name not be text: refused before anything runs. A page or a file that cannot be
//! written is an error after the figures were printed, so that they are not lost. That programs failed, or that a signal ended them, makes
//! the command fail behind its report.

mod args;

pub use args::ProgramsArgs;

use super::host;
use super::phases::Phases;
use crate::exit::{Exit, Failure, Outcome, io};
use crate::output::{Output, json, show_document};
use crate::role::block_on;
use nyala_bench::all::OwnCluster;
use nyala_bench::programs::{self, ProgramsJob, Report};
use nyala_bench::{BenchError, Stop};
use std::path::{Path, PathBuf};

/// Name of the page in a directory.
const PAGE: &str = "nyala-programs.html";

/// A directory that is there, as an absolute path.
fn directory(on: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(on).map_err(io(format!("cannot tell where --on {} is", on.display())))?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err(Failure::usage(format!("--on {}: there is no such directory", on.display())))
    }
}

/// Runs all, prints the report, and keeps it where that is wanted.
pub fn run(args: &ProgramsArgs, output: Output) -> Outcome {
    let sizes = args.sizes()?;
    let on = args.on.as_deref().map(directory).transpose()?;
    // That nothing is installed is said before a cluster starts.
    let mut job = ProgramsJob::find(args.options(on.clone().unwrap_or_default(), sizes))?;
    let cluster = match on {
        Some(_) => None,
        None => Some(OwnCluster::start(&host::this(), &args.work, args.base_port, &[])?),
    };
    if let Some(cluster) = &cluster {
        job.options.on = cluster.mount();
    }
    let stop = Stop::default();
    let shown = Phases::new("bench programs", &job.ended, job.phases());
    let mut report = block_on(async {
        host::watch(&stop)?;
        shown.during(programs::run(&job, &stop)).await
    })?;
    if cluster.is_some() {
        report.notes.push("on a cluster of its own on this machine, as `nyala up` makes one".to_owned());
    }
    drop(cluster);
    show_document(output, &report, programs::document(&report))?;
    store(args, &report)?;
    verdict(&report)
}

fn store(args: &ProgramsArgs, report: &Report) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        let file = if out.is_dir() { out.join(PAGE) } else { out.clone() };
        std::fs::write(&file, programs::page(report)).map_err(io(format!("cannot write {}", file.display())))?;
        eprintln!("nyala bench programs: {} written", file.display());
    }
    if let Some(file) = &args.save {
        std::fs::write(file, json(report)?).map_err(io(format!("cannot write {}", file.display())))?;
        eprintln!("nyala bench programs: {} written", file.display());
    }
    Ok(())
}

fn verdict(report: &Report) -> Outcome {
    if report.interrupted {
        return Err(BenchError::stopped().into());
    }
    match (report.failures.len(), &report.outputs) {
        (0, _) => Ok(Exit::Ok),
        (many, outputs) => {
            let kept =
                outputs.as_ref().map_or_else(String::new, |dir| format!("; their outputs are in {}", dir.display()));
            Err(Failure::failed(format!("workloads that failed: {many}, listed above{kept}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_to_be_there() {
        assert!(directory(Path::new("/no/such")).unwrap_err().message.contains("--on /no/such"));
        assert!(directory(Path::new(".")).unwrap().is_absolute());
    }
}

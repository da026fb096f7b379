// SPDX-License-Identifier: Apache-2.0

//! `nyala bench failure`.

use super::host;
use super::phases::Phases;
use crate::exit::{Exit, Failure, Outcome, io};
use crate::output::{Output, show_document};
use crate::role::block_on;
use crate::units::Size;
use nyala_bench::failure::{Options, names, run as study, states, worker};
use nyala_bench::{Ended, Stop};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `nyala bench failure`.
#[derive(Clone, Debug, clap::Args)]
pub struct FailureArgs {
    /// Seconds in each state
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(2..=600))]
    pub seconds: u64,
    /// Threads that write, and as many that read
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub tasks: u16,
    /// Storage services, with a target each: an even number
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=16))]
    pub storage: u16,
    /// Directory for the cluster and its data; it is removed afterwards [default: a new one in /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Length of each file that a thread works on
    #[arg(long, default_value = "256m", value_name = "SIZE")]
    pub file_size: Size,
    /// First port of the cluster
    #[arg(long, default_value_t = 10750, value_name = "PORT")]
    pub base_port: u16,
    /// Be the load of such a study, in this directory, until the input ends
    #[arg(long, value_name = "DIR", hide = true)]
    pub load: Option<PathBuf>,
    /// Be one that works on names
    #[arg(long, hide = true, requires = "load")]
    pub names: bool,
    /// Draw throughput and latency over time into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl FailureArgs {
    /// What is to be done.
    pub fn options(&self) -> Options {
        let own = || PathBuf::from(format!("/var/tmp/nyala-failure-{}", std::process::id()));
        Options {
            host: host::this(),
            span: Duration::from_secs(self.seconds),
            tasks: self.tasks,
            storage: self.storage,
            work: self.work.clone().unwrap_or_else(own),
            file_bytes: self.file_size.0,
            base_port: self.base_port,
            ended: Ended::default(),
        }
    }
}

/// Runs the study.
pub fn run(args: &FailureArgs, output: Output) -> Outcome {
    if let Some(directory) = &args.load {
        match args.names {
            true => names::run(directory, args.tasks)?,
            false => worker::run(directory, args.tasks, args.file_size.0)?,
        }
        return Ok(Exit::Ok);
    }
    let stop = Stop::default();
    let study = block_on(async {
        host::watch(&stop)?;
        let options = args.options();
        Phases::new("bench failure", &options.ended, states()).during(study(&options, &stop)).await
    })?;
    if let Some(file) = &args.svg {
        std::fs::write(file, &study.svg).map_err(io(format!("cannot write {}", file.display())))?;
    }
    let report = study.report;
    show_document(output, &report, report.document())?;
    if report.errors > 0 {
        return Err(Failure::failed(format!("applications saw {} errors; they are listed above", report.errors)));
    }
    Ok(Exit::Ok)
}

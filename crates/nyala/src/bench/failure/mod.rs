// SPDX-License-Identifier: Apache-2.0

//! `nyala bench failure`: what applications see when a storage server goes away and comes back, on a mirrored and on an
//! unmirrored directory: throughput and latency over time, the worst pause, every error; printed, drawn and as JSON.
//!
//! - [`figures`] (pure): what the samples mean, state by state. [`draw`] (pure): the same as a picture.
//! - [`worker`]: threads that write and read, in a process of their own; [`load`]: what the study sees of it. [`own`]: the cluster, which is the benchmark's own.
//!
//! **Failure model.** The unmirrored directory stands still while the server is away: operations are late, which is what is
//! measured, and counted into the state in which they end. The cluster may not start, or not become whole again: the command
//! says so with what the cluster says. A signal or an error takes the cluster away.

mod draw;
pub mod figures;
mod load;
mod own;
mod worker;

use crate::exit::{Exit, Failure, Outcome, io};
use crate::output::{Output, show};
use crate::role::{block_on, stop_signal};
use crate::units::Size;
use figures::{Mark, Report, Run};
use own::Own;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Draw throughput and latency over time into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Runs the study.
pub fn run(args: FailureArgs, output: Output) -> Outcome {
    if let Some(directory) = &args.load {
        return worker::run(directory, args.tasks, args.file_size.0);
    }
    let [mirrored, plain] = both(&args)?;
    if let Some(file) = &args.svg {
        std::fs::write(file, draw::svg(&[&mirrored, &plain]))
            .map_err(io(format!("cannot write {}", file.display())))?;
    }
    let report = Report::of(&[mirrored, plain]);
    show(output, &report, Report::table)?;
    if report.errors > 0 {
        return Err(Failure::failed(format!("applications saw {} errors; they are listed above", report.errors)));
    }
    Ok(Exit::Ok)
}

/// The study as part of another benchmark.
pub fn measure(args: &FailureArgs) -> Result<Report, Failure> {
    Ok(Report::of(&both(args)?))
}

/// On the mirrored and on the unmirrored directory.
fn both(args: &FailureArgs) -> Result<[Run; 2], Failure> {
    let own = Arc::new(Own::start(args)?);
    // On a thread of its own, so that a signal is heard while an operation hangs in the mount.
    let (done, result) = tokio::sync::oneshot::channel();
    let (studied, wishes) = (own.clone(), args.clone());
    std::thread::spawn(move || {
        let runs = study(&studied, &wishes, "mirrored").and_then(|m| Ok([m, study(&studied, &wishes, "unmirrored")?]));
        // Nobody waits for it any more after a signal.
        let _ = done.send(runs);
    });
    let runs = block_on(async {
        let stop = stop_signal()?;
        tokio::select! {
            runs = result => runs.unwrap_or_else(|_| Err(Failure::failed("the study ended in a panic"))),
            _ = stop => Err(Failure::failed("the benchmark was ended by a signal")),
        }
    });
    own.remove();
    runs
}

/// One directory: normal, a server away, it comes back.
fn study(own: &Own, args: &FailureArgs, directory: &str) -> Result<Run, Failure> {
    let span = Duration::from_secs(args.seconds);
    let load = load::Load::start(&own.directory(directory), args.tasks, args.file_size.0)?;
    let mut marks = vec![Mark { at_s: load.elapsed(), state: figures::State::Normal }];
    std::thread::sleep(span);
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Away });
    own.take_away()?;
    std::thread::sleep(span);
    own.bring_back()?;
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Returned });
    let back = Instant::now();
    let whole = own.await_whole();
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Whole });
    // Not the whole span: that it works was seen before.
    std::thread::sleep((span / 2).saturating_sub(back.elapsed()).max(Duration::from_secs(1)));
    let end_s = load.elapsed();
    let (samples, errors) = load.stop()?;
    Ok(Run { directory: directory.to_owned(), marks, end_s, whole_after_s: whole?, samples, errors })
}

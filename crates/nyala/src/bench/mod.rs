// SPDX-License-Identifier: Apache-2.0

//! `nyala bench`: the command line of the benchmarks, which are the crate `nyala-bench`. What a cluster, a mount and a signal are
//! is known here.

mod all;
mod args;
mod failure;
mod floors;
pub mod host;
mod many;
mod mirrored;
mod parity;
mod peers;
mod phases;
mod programs;
mod report;
mod sessions;
mod sites;
mod split;

use all::AllArgs;
use args::{DataArgs, MetaArgs};
use failure::FailureArgs;
use floors::FloorArgs;
use many::ManyArgs;
use mirrored::MirroredArgs;
use parity::ParityArgs;
use peers::PeersArgs;
pub use phases::Phases;
use programs::ProgramsArgs;
use report::ReportArgs;
use sessions::SessionsArgs;
use split::SplitArgs;

use crate::exit::{Exit, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use clap::Subcommand;
use nyala_bench::session::Job;
use nyala_bench::{BenchError, Stop};

/// Measures the cluster, next to the local file system and loopback TCP.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchArgs {
    /// Names and attributes: files made, looked at, listed, removed
    Meta(MetaArgs),
    /// File content: streams, one shared file, random places
    Data(DataArgs),
    /// What minimal programs pay for the same transfers as `data`, without a cluster: what its figures are held against
    Floor(FloorArgs),
    /// A storage server goes away and comes back, then a mirrored metadata server's primary, on a cluster of the benchmark's
    /// own: throughput, latency, pauses, errors
    Failure(FailureArgs),
    /// What mirrored metadata costs, on clusters of the benchmark's own: CPU of all metadata services, mirrored by unmirrored
    MirroredMetadata(MirroredArgs),
    /// What one large directory costs that several metadata servers have, on clusters of the benchmark's own: CPU by operation, and how
    /// evenly servers share it
    SplitDirectory(SplitArgs),
    /// What very many names cost, in one directory and in ten thousand, on clusters of the benchmark's own: CPU, memory, bytes on disk
    ManyNames(ManyArgs),
    /// What parity costs, on a cluster of the benchmark's own: CPU and space of erasure coded files by that of striped ones, and of RAID 6 under a
    /// target by that of level 0
    Parity(ParityArgs),
    /// The same through the mounts of this file system and of others that are installed here, GlusterFS and MooseFS: rates, and the CPU of
    /// all their processes
    Peers(PeersArgs),
    /// The field's own programs where they are installed, fio, IOR, mdtest and elbencho, with the papers' arguments on a mount: fifteen runs,
    /// and each figure's quartiles and box plot over them
    Programs(ProgramsArgs),
    /// Many clients: memory and CPU of idle and of busy ones
    Sessions(SessionsArgs),
    /// Every aim of the design in one run, on a cluster of its own; about ten minutes
    All(AllArgs),
    /// One HTML page of stored runs: tables, box plots, CPU per operation, machines, the newest compared with those before it
    Report(ReportArgs),
}

/// Runs a benchmark and prints its report.
pub fn run(args: BenchArgs, output: Output) -> Outcome {
    match args {
        BenchArgs::Failure(args) => failure::run(&args, output),
        BenchArgs::Floor(args) => floors::run(&args, output),
        BenchArgs::Meta(args) => run_job(sites::meta(&args)?, if args.common.json { Output::Json } else { output }),
        BenchArgs::Data(args) => run_job(sites::data(&args)?, if args.common.json { Output::Json } else { output }),
        BenchArgs::MirroredMetadata(args) => mirrored::run(&args, output),
        BenchArgs::SplitDirectory(args) => split::run(&args, output),
        BenchArgs::ManyNames(args) => many::run(&args, output),
        BenchArgs::Parity(args) => parity::run(&args, output),
        BenchArgs::Peers(args) => peers::run(&args, output),
        BenchArgs::Programs(args) => programs::run(&args, output),
        BenchArgs::Sessions(args) => sessions::run(&args, output),
        BenchArgs::All(args) => all::run(&args, output),
        BenchArgs::Report(args) => report::run(&args, output),
    }
}

fn run_job(job: Job, output: Output) -> Outcome {
    let stop = Stop::default();
    let report = block_on(async {
        host::watch(&stop)?;
        let phases = Phases::new(&format!("bench {}", job.bench), &job.ended, job.phases());
        phases.during(nyala_bench::session::run(job, &stop)).await
    })?;
    show_document(output, &report, nyala_bench::report::table::render(&report))?;
    if report.interrupted {
        return Err(BenchError::stopped().into());
    }
    Ok(Exit::Ok)
}

// SPDX-License-Identifier: Apache-2.0

//! `nyala bench mirrored-metadata`: what mirrored metadata costs. Two clusters of its own at once, one with a spare for its metadata
//! server, do the same in turn.

use super::args::{MetaArgs, line};
use super::phases::Phases;
use super::{host, sites};
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use clap::Args;
use nyala_bench::all::OwnCluster;
use nyala_bench::report::Report;
use nyala_bench::{BenchError, Ended, Stop, mirrored, session};
use std::path::PathBuf;

/// Ports of each cluster.
const PORTS: u16 = 50;

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct MirroredArgs {
    /// How often both do the same, after a first time that does not count
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Tasks that work at once
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// Files of each task
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub files: u64,
    /// A directory on the file system that is used: the clusters are made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The clusters' first port; the ninety after it are used as well
    #[arg(long, default_value_t = 10_550, value_name = "PORT")]
    pub base_port: u16,
}

fn meta(cluster: &OwnCluster, args: &MirroredArgs, seed: u16) -> Result<session::Job, Failure> {
    let (tasks, files, seed) = (args.tasks.to_string(), args.files.to_string(), seed.to_string());
    let words = ["--seconds", "0", "--only", "native", "--workload", "easy,small"];
    let sizes = ["--tasks", &tasks, "--files", &files, "--seed", &seed];
    let mut meta: MetaArgs = line(&[&words[..], &sizes[..]].concat())?;
    meta.common.cluster = ClusterArgs { dir: Some(cluster.cluster_dir()), ..ClusterArgs::default() };
    let mut job = sites::meta(&meta)?;
    // What clients keep, no server is asked for.
    job.sites.config.keep_metadata(0);
    Ok(job)
}

/// Measures both, compares and prints.
pub fn run(args: &MirroredArgs, output: Output) -> Outcome {
    let start = |port: u16, more: &[&str]| {
        let few = ["--no-mount", "--meta", "1", "--storage", "1"];
        OwnCluster::start(&host::this(), &args.work, port, &[&few[..], more].concat())
    };
    let plain = start(args.base_port, &[])?;
    let spared = start(args.base_port.saturating_add(PORTS), &["--meta-spares", "1"])?;
    let (stop, ended) = (Stop::default(), Ended::default());
    let mut rounds: Vec<(Report, Report)> = Vec::new();
    let all = meta(&plain, args, 0)?.phases() * 2 * (u64::from(args.rounds) + 1);
    let phases = Phases::new("bench mirrored-metadata", &ended, all);
    // The first round fills what is kept of the newest records for members that return, with memory that nobody has touched before.
    for round in 0..=args.rounds {
        let (mut one, mut other) = (meta(&plain, args, round)?, meta(&spared, args, round)?);
        (one.ended, other.ended) = (ended.clone(), ended.clone());
        let both = block_on(async {
            host::watch(&stop)?;
            let one = phases.during(session::run(one, &stop)).await?;
            let other = phases.during(session::run(other, &stop)).await?;
            if one.interrupted || other.interrupted { Err(BenchError::stopped().into()) } else { Ok((one, other)) }
        })?;
        rounds.extend(Some(both).filter(|_| round > 0));
    }
    let comparison = mirrored::compare(&rounds);
    show_document(output, &comparison, comparison.document())
}

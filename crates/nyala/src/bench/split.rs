// SPDX-License-Identifier: Apache-2.0

//! `nyala bench split-directory`: what one large directory costs that several metadata servers have. Clusters of its own with one, two
//! and more metadata servers do the same in turn.

use super::args::{MetaArgs, line};
use super::phases::Phases;
use super::{host, sites};
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use clap::Args;
use nyala_bench::all::OwnCluster;
use nyala_bench::plan::meta::{Sizes, shared};
use nyala_bench::split::document::document;
use nyala_bench::split::{Round, compare};
use nyala_bench::{BenchError, Ended, Stop, session};
use std::path::PathBuf;

/// Ports of each cluster.
const PORTS: u16 = 50;

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct SplitArgs {
    /// How many metadata servers the clusters have, besides one that has one
    #[arg(long, default_values_t = [2, 4], value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u16).range(2..=16))]
    pub servers: Vec<u16>,
    /// How often all do the same, after a first time that does not count
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Tasks that work at once for each metadata server, so that each has as many requests at a time as one alone
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// As many tasks on each cluster, whatever it has: a server of several then has fewer requests at a time
    #[arg(long)]
    pub same_tasks: bool,
    /// Files of each task
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub files: u64,
    /// Files for each task of the smallest cluster that are in the directory before, on each cluster as many in all; it is split when it
    /// has more than 8192
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub before: u64,
    /// A directory on the file system that is used: the clusters are made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The clusters' first port; each uses the forty after it as well
    #[arg(long, default_value_t = 10_650, value_name = "PORT")]
    pub base_port: u16,
}

fn job(cluster: &OwnCluster, servers: u16, args: &SplitArgs, seed: u16) -> Result<session::Job, Failure> {
    let times = if args.same_tasks { 1 } else { servers };
    let (tasks, mount) = (args.tasks.saturating_mul(times), cluster.mount());
    let words = ["--seconds", "0", "--only", "native,mount", "--tasks", &tasks.to_string()];
    let mut meta: MetaArgs = line(&words)?;
    meta.common.cluster = ClusterArgs { dir: Some(cluster.cluster_dir()), ..ClusterArgs::default() };
    meta.common.mount = Some(mount);
    let mut job = sites::meta(&meta)?;
    let sizes = Sizes { tasks: tasks.into(), files: args.files, seed: seed.into() };
    job.workloads = vec![shared(sizes, args.before.div_ceil(times.into()))];
    Ok(job)
}

/// Measures, compares and prints.
pub fn run(args: &SplitArgs, output: Output) -> Outcome {
    let start = |number: u16, servers: u16| {
        let port = args.base_port.saturating_add(number * PORTS);
        let more = ["--meta", &servers.to_string(), "--storage", "1"];
        OwnCluster::start(&host::this(), &args.work, port, &more).map(|cluster| (servers, cluster))
    };
    let sizes = std::iter::once(1).chain(args.servers.iter().copied());
    let clusters = (0..).zip(sizes).map(|(number, servers)| start(number, servers)).collect::<Result<Vec<_>, _>>()?;
    let (stop, ended) = (Stop::default(), Ended::default());
    let mut rounds: Vec<Round> = Vec::new();
    let each = clusters.iter().map(|(servers, cluster)| job(cluster, *servers, args, 0).map(|job| job.phases()));
    let all = each.sum::<Result<u64, Failure>>()? * (u64::from(args.rounds) + 1);
    let phases = Phases::new("bench split-directory", &ended, all);
    // The first round meets memory that nobody has touched before.
    for number in 0..=args.rounds {
        let mut round = Round::new();
        for (servers, cluster) in &clusters {
            let mut job = job(cluster, *servers, args, number)?;
            job.ended = ended.clone();
            let report = block_on(async {
                host::watch(&stop)?;
                let report = phases.during(session::run(job, &stop)).await?;
                if report.interrupted { Err(BenchError::stopped().into()) } else { Ok(report) }
            })?;
            round.push((*servers, report));
        }
        rounds.extend(Some(round).filter(|_| number > 0));
    }
    let comparison = compare(&rounds);
    show_document(output, &comparison, document(&comparison))
}

// SPDX-License-Identifier: Apache-2.0

//! `nyala bench many-names`: what very many names cost, in one directory and in many, each on a cluster of the benchmark's own.

use super::args::{MetaArgs, line};
use super::phases::Phases;
use super::{host, sites};
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use clap::Args;
use nyala_bench::all::OwnCluster;
use nyala_bench::many::document::document;
use nyala_bench::many::{Run, sum_up};
use nyala_bench::measure::services::Services;
use nyala_bench::plan::meta::{Sizes, many};
use nyala_bench::{BenchError, Ended, Stop, session};
use nyala_client::Client;
use std::path::PathBuf;

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct ManyArgs {
    /// Names, all together
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub names: u64,
    /// How many directories they are in, one form after the other
    #[arg(long, default_values_t = [1, 10_000], value_delimiter = ',', value_name = "N,…", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub directories: Vec<u64>,
    /// Metadata servers
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    pub servers: u16,
    /// Tasks that work at once
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// A directory on the file system that is used: the clusters are made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The clusters' first port; the forty after it are used as well
    #[arg(long, default_value_t = 10_850, value_name = "PORT")]
    pub base_port: u16,
}

fn job(cluster: &OwnCluster, args: &ManyArgs, directories: u64) -> Result<session::Job, Failure> {
    let words = ["--seconds", "0", "--only", "native", "--tasks", &args.tasks.to_string()];
    let mut meta: MetaArgs = line(&words)?;
    meta.common.cluster = ClusterArgs { dir: Some(cluster.cluster_dir()), ..ClusterArgs::default() };
    let mut job = sites::meta(&meta)?;
    let sizes = Sizes { tasks: args.tasks.into(), files: args.names.div_ceil(args.tasks.into()), seed: 1 };
    job.workloads = vec![many(sizes, directories)];
    Ok(job)
}

async fn form(job: session::Job, directories: u64, stop: &Stop) -> Result<Run, BenchError> {
    let client = Client::connect(job.sites.config.clone()).await?;
    let services = Services::new(&job.sites.config, &client.map());
    let before = services.taken().await.map_err(BenchError::failed)?.meta_held;
    // A client that says no goodbye is forgotten a while later.
    let _ = client.shutdown().await;
    let report = session::run(job, stop).await?;
    if report.interrupted { Err(BenchError::stopped()) } else { Ok((directories, before, report)) }
}

/// Measures and prints.
pub fn run(args: &ManyArgs, output: Output) -> Outcome {
    let (stop, ended) = (Stop::default(), Ended::default());
    // As many in each form as in the others.
    let all = many(Sizes { tasks: 1, files: 1, seed: 1 }, 1).phases.len() * args.directories.len();
    let phases = Phases::new("bench many-names", &ended, all as u64);
    let mut runs = Vec::new();
    for &directories in &args.directories {
        let more = ["--meta", &args.servers.to_string(), "--storage", "1"];
        let cluster = OwnCluster::start(&host::this(), &args.work, args.base_port, &more)?;
        let mut job = job(&cluster, args, directories)?;
        job.ended = ended.clone();
        runs.push(block_on(async {
            host::watch(&stop)?;
            phases.during(form(job, directories, &stop)).await
        })?);
    }
    let names = sum_up(&runs);
    show_document(output, &names, document(&names))
}

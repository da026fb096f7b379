// SPDX-License-Identifier: Apache-2.0

//! `nyala bench all`: every row of the design's section 14 in one run, on a cluster of its own. What each part does stands as
//! its command line, so that defaults stand in one place.

use super::args::{DataArgs, MetaArgs, line};
use super::failure::FailureArgs;
use super::floors::FloorArgs;
use super::phases::Phases;
use super::sessions::SessionsArgs;
use super::{host, sites};
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, lines, print, text};
use crate::role::block_on;
use clap::Args;
use nyala_bench::Stop;
use nyala_bench::all::{Keeping, OwnCluster, Plan, conclude, measure, measure_mirrored};
use nyala_bench::session::Job;
use std::path::PathBuf;

/// Ports of the cluster that is measured.
const PORTS: u16 = 50;

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct AllArgs {
    /// Longest time of a phase; with 3, a run takes about ten minutes
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// A directory on the file system that is measured: the cluster is made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The cluster's first port; the ninety after it are used as well
    #[arg(long, default_value_t = 10_700, value_name = "PORT")]
    pub base_port: u16,
    /// Idle client sessions; 0: none
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub idle: usize,
    /// A few seconds in all, to see that everything runs: the figures mean little
    #[arg(long)]
    pub short: bool,
    /// Where results of commits are kept; the last one is compared with
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Write the result (JSON) and a chart (SVG) there, under the commit's name
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What is measured, as results are named: a date and a commit, so that names sort by age
    #[arg(long, default_value = "unnamed", value_name = "NAME")]
    pub name: String,
    /// As `--output json`
    #[arg(long)]
    pub json: bool,
}

fn plan(cluster: &OwnCluster, args: &AllArgs) -> Result<Plan, Failure> {
    let seconds = if args.short { "1".to_owned() } else { args.seconds.to_string() };
    let this = ClusterArgs { dir: Some(cluster.cluster_dir()), ..ClusterArgs::default() };

    let files = if args.short { "100" } else { "2000" };
    let words = ["--seconds", &seconds, "--files", files, "--only", "native,mount", "--workload", "easy,hard,small"];
    let mut meta: MetaArgs = line(&words)?;
    meta.common.cluster = this.clone();
    meta.common.mount = Some(cluster.mount());

    let mut data = data(args, &[])?;
    data.common.cluster = this.clone();
    data.common.mount = Some(cluster.mount());
    data.common.local = Some(cluster.local_dir());

    let (size, random) = (data.size.to_string(), data.random.to_string());
    let words = ["--seconds", &seconds, "--size", &size, "--random", &random];
    let mut floor: FloorArgs = line(&words)?;
    floor.work.clone_from(&args.work);
    floor.rounds = if args.short { 1 } else { floor.rounds };
    floor.keep_caches = data.keep_caches;

    let (idle, busy) = if args.short { (args.idle.min(200), "20") } else { (args.idle, "200") };
    let mut sessions: SessionsArgs = line(&["--seconds", &seconds, "--idle", &idle.to_string(), "--busy", busy])?;
    sessions.cluster = this;

    // The study of failures makes a cluster of its own, behind the ports of ours.
    let (seconds, size) = if args.short { ("3", "48m") } else { ("8", "256m") };
    let mut failure: FailureArgs = line(&["--seconds", seconds, "--file-size", size])?;
    failure.base_port = args.base_port.saturating_add(PORTS);
    failure.work = Some(args.work.join(format!("nyala-failure.{}", std::process::id())));

    Ok(Plan {
        meta: sites::meta(&meta)?,
        data: sites::data(&data)?,
        sessions: sessions.job()?,
        failure: failure.options(),
        floor: floor.options(),
    })
}

/// `bench data`, with more flags.
fn data(args: &AllArgs, more: &[&str]) -> Result<DataArgs, Failure> {
    let seconds = if args.short { "1".to_owned() } else { args.seconds.to_string() };
    let (size, stream, random) = if args.short { ("4m", "32m", "100") } else { ("64m", "1g", "4000") };
    let words = ["--seconds", &seconds, "--size", size, "--stream-size", stream, "--random", random];
    let mut data: DataArgs = line(&[&words[..], more].concat())?;
    data.keep_caches = args.short;
    Ok(data)
}

/// The same on mirrored files.
fn mirrored(cluster: &OwnCluster, args: &AllArgs) -> Result<Job, Failure> {
    let mut data = data(args, &["--only", "native", "--workload", "easy,random"])?;
    data.common.cluster = ClusterArgs { dir: Some(cluster.cluster_dir()), ..ClusterArgs::default() };
    sites::data(&data)
}

/// Measures, compares, stores and prints.
pub fn run(args: &AllArgs, output: Output) -> Outcome {
    let cluster = OwnCluster::start(&host::this(), &args.work, args.base_port, &[])?;
    let (mut plan, stop) = (plan(&cluster, args)?, Stop::default());
    let (ended, all) = plan.count();
    let mut parts = block_on(async {
        host::watch(&stop)?;
        Phases::new("bench all", &ended, all).during(measure(plan, &stop)).await
    })?;
    drop(cluster);
    let few = ["--no-mount", "--mirror", "--meta", "1", "--meta-spares", "0"];
    let cluster = OwnCluster::start(&host::this(), &args.work, args.base_port, &few);
    let job = cluster.as_ref().map_err(ToString::to_string);
    let job = job.and_then(|cluster| mirrored(cluster, args).map_err(|failure| failure.to_string()));
    parts.mirrored_data = block_on(async {
        host::watch(&stop)?;
        let (ended, all) = job.as_ref().map_or_else(|_| Default::default(), |job| (job.ended.clone(), job.phases()));
        Phases::new("bench all, mirrored data", &ended, all).during(measure_mirrored(job, &stop)).await
    })?;
    drop(cluster);
    let keeping = Keeping { name: args.name.clone(), results: args.results.clone(), out: args.out.clone() };
    let whole = conclude(parts, &keeping)?;
    let unread = |error| Failure::failed(format!("the report is no JSON: {error}"));
    print(&match output {
        Output::Ndjson => lines(&serde_json::from_str::<serde_json::Value>(&whole.json).map_err(unread)?)?,
        Output::Table if !args.json => text(&whole.document),
        Output::Table | Output::Json => whole.json,
    })?;
    whole.broken.map_or(Ok(Exit::Ok), |why| Err(Failure::failed(why)))
}

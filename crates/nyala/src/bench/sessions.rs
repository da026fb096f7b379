// SPDX-License-Identifier: Apache-2.0

//! `nyala bench sessions`.

use super::host;
use super::phases::Phases;
use super::sites::config;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use nyala_bench::sessions::{self, SessionsJob};
use nyala_bench::{BenchError, Ended};
use std::ffi::OsString;
use std::time::Duration;

/// Flags.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionsArgs {
    /// Client sessions that are connected to every server and do nothing
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub idle: usize,
    /// Clients that work
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub busy: u16,
    /// Time that idle sessions are watched, and longest time of a phase of work
    #[arg(long, default_value_t = 5, value_name = "S")]
    pub seconds: u64,
    /// Only hold so many idle sessions, until the input ends
    #[arg(long, hide = true, value_name = "N")]
    pub hold: Option<usize>,
    /// As `--output json`
    #[arg(long)]
    pub json: bool,
    /// The cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// The flags by which another command finds the same cluster.
fn flags(cluster: &ClusterArgs) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    for (flag, path) in [("--dir", &cluster.dir), ("--secret", &cluster.secret), ("--config", &cluster.config)] {
        all.extend(path.iter().flat_map(|path| [OsString::from(flag), path.clone().into_os_string()]));
    }
    all.extend(cluster.mgmt.iter().flat_map(|hosts| [OsString::from("--mgmt"), hosts.to_string().into()]));
    all.extend(cluster.encrypt.iter().map(|encrypt| OsString::from(format!("--encrypt={encrypt}"))));
    all
}

impl SessionsArgs {
    /// What is to be done. An unreachable cluster is said at once.
    pub fn job(&self) -> Result<SessionsJob, Failure> {
        let cluster = self.cluster.find()?;
        block_on(cluster.map())?;
        Ok(SessionsJob {
            config: config(&cluster, "nyala bench sessions"),
            host: host::this(),
            cluster_flags: flags(&self.cluster),
            idle: self.idle,
            busy: self.busy,
            span: Duration::from_secs(self.seconds),
            ended: Ended::default(),
        })
    }
}

/// Runs it, or only holds sessions.
pub fn run(args: &SessionsArgs, output: Output) -> Outcome {
    if let Some(count) = args.hold {
        let cluster = args.cluster.find()?;
        let held = block_on(async {
            let map = cluster.map().await?;
            sessions::hold(&config(&cluster, "nyala bench sessions"), &map, count).await.map_err(BenchError::into)
        });
        return held.map(|()| Exit::Ok);
    }
    let job = args.job()?;
    let phases = Phases::new("bench sessions", &job.ended, SessionsJob::PHASES);
    let report = block_on(phases.during(sessions::run(&job)))?;
    show_document(if args.json { Output::Json } else { output }, &report, sessions::render(&report))
}

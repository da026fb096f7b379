// SPDX-License-Identifier: Apache-2.0

//! `nyala start NAME`: starts one service of the cluster of `nyala up`.

use crate::exit::{Exit, Outcome};
use crate::progress::{self, Counted};
use crate::role::block_on;
use crate::up::{ClusterDir, DEFAULT_DIR, ServiceState, await_service, start, state};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long it may take to work.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Flags of `nyala start`.
#[derive(Clone, Debug, clap::Args)]
pub struct StartArgs {
    /// The service, as `nyala status` names it: mgmt, meta1, storage2, mount, …
    pub name: String,
    /// Directory of the cluster
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
}

/// Starts a service and waits until it answers.
pub fn run(args: StartArgs) -> Outcome {
    start_service(&ClusterDir::new(&args.dir), &args.name)
}

/// Starts a service, unless it runs, and waits until it answers.
pub fn start_service(cluster_dir: &ClusterDir, name: &str) -> Outcome {
    let plan = cluster_dir.load()?;
    let service = plan.service(name)?;
    let _lock = cluster_dir.lock()?;
    let cluster = plan.cluster(cluster_dir)?;
    let mut started = match state(cluster_dir, service) {
        ServiceState::Running(_) => None,
        ServiceState::Stopped => Some(start(cluster_dir, &plan, service)?),
    };
    let deadline = Instant::now() + START_TIMEOUT;
    let wait = await_service(cluster_dir, &plan, &cluster, service, started.as_mut(), deadline);
    let what = format!("start of {name}");
    block_on(progress::during(&what, Counted::Things("services"), || (0, Some(1)), wait))?;
    Ok(Exit::Ok)
}

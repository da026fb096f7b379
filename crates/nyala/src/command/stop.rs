// SPDX-License-Identifier: Apache-2.0

//! `nyala stop NAME`: stops one service of the cluster of `nyala up`.

use crate::exit::{Exit, Outcome};
use crate::up::{ClusterDir, DEFAULT_DIR, Kind, stop, stop_mount};
use std::path::PathBuf;

/// Flags of `nyala stop`.
#[derive(Clone, Debug, clap::Args)]
pub struct StopArgs {
    /// The service, as `nyala status` names it: mgmt, meta1, storage2, mount, …
    pub name: String,
    /// Directory of the cluster
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
    /// SIGKILL, as if it crashed
    #[arg(long)]
    pub kill: bool,
}

/// Stops a service and waits until its process has ended.
pub fn run(args: StopArgs) -> Outcome {
    let cluster_dir = ClusterDir::new(&args.dir);
    let plan = cluster_dir.load()?;
    let service = plan.service(&args.name)?;
    let _lock = cluster_dir.lock()?;
    if service.kind == Kind::Mount && !args.kill {
        stop_mount(&cluster_dir, &plan, false)?;
    }
    stop(&cluster_dir, service, args.kill)?;
    Ok(Exit::Ok)
}
